"""Mutation testing itself: what it changes, and whether its list of survivors is about the code as
it is.
"""

from __future__ import annotations

import types

from mutants import SOURCES, TARGETS, Trial, _graft, explained, mutant_names, mutants, page

SOURCE = '''
"""A docstring is no code."""
LIMIT = 5
WORDS = ("tea", "milk")

def enough(count: int = 0) -> bool:
    """Nor is this."""
    if count in WORDS:
        return False
    return count > LIMIT and not count == 9
'''


def test_a_mutant_differs_in_one_small_thing():
    assert [mutant.name for mutant in mutants(SOURCE)] == mutant_names(SOURCE)
    assert mutant_names(SOURCE) == [
        "LIMIT: 5 → 6",
        "LIMIT: 5 → 4",
        "WORDS: without 'tea'",
        "WORDS: without 'milk'",
        "enough: 0 → 1",
        "enough: 0 → -1",
        "enough: count in WORDS → count not in WORDS",
        "enough: without return False",
        "enough: False → True",
        "enough: without count > LIMIT",
        "enough: without not count == 9",
        "enough: count > LIMIT and (not count == 9) → count >= LIMIT and (not count == 9)",
        "enough: count > LIMIT and (not count == 9) → count > LIMIT and count == 9",
        "enough: count > LIMIT and (not count == 9) → count > LIMIT and (not count != 9)",
        "enough: count > LIMIT and (not count == 9) → count > LIMIT and (not count == 10)",
        "enough: count > LIMIT and (not count == 9) → count > LIMIT and (not count == 8)",
    ]


def test_who_imported_a_function_before_gets_the_code_of_the_mutant():
    module = types.ModuleType("tried")
    exec(SOURCE, vars(module))
    enough = module.enough
    assert not enough(5)
    _graft(next(one.code for one in mutants(SOURCE) if one.name == "LIMIT: 5 → 4"), module)
    assert enough(5)
    assert module.enough is enough


def test_every_explained_survivor_is_a_mutant_of_the_code_as_it_is():
    """After a change of these modules: `make mutants`."""
    for module, reasons in explained().items():
        known = mutant_names((SOURCES / f"{module}.py").read_text("utf-8"))
        assert set(reasons) <= set(known)


def test_the_page_has_the_figures_of_every_module_and_every_reason():
    told = page(
        [Trial("retrieval/fusion", 40, ["a → b"])],
        {"retrieval/fusion": {"a → b": "it is the same"}},
    )
    assert "| `retrieval/fusion` | 40 | 39 | 97.5% | 1 |" in told
    assert "- ``a → b``: it is the same" in told
    assert [module for module in TARGETS if f"| `{module}` |" not in told] == []
