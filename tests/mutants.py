"""Mutation testing: is there a test that fails when the code is changed?

    python tests/mutants.py [MODULE …] [--jobs 2]

Each mutant is one module with one small change: a comparison moved by one, a condition dropped or
turned round, a number nudged, a string emptied, an argument, a rule of a table or a statement left
out. It runs in a forked process in place of the module, against the tests of that module only. What
no test notices either gets a test, or is found in `mutants.toml` with the reason why it does no
harm; the command fails on any other, and on a reason that is no longer needed. When all modules
were run it writes `mutants.md`.

A tool of our own, because half of what is to be tried here are tables and thresholds of modules:
mutmut 3 changes functions only, and cosmic-ray starts a new Python for each mutant, which takes
longer than the tests themselves.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import importlib
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from inspect import unwrap
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "holdfast"
REASONS, PAGE = TESTS / "mutants.toml", TESTS / "mutants.md"
# Each module, and the tests that its mutants have to get past.
TARGETS = {
    "retrieval/fusion": ("search/test_fuse.py",),
    "extraction/policy": ("write/test_policy.py",),
    "extraction/similarity/dedup": ("write/test_dedup.py",),
    "maintenance/decay": ("pipelines/test_decay.py",),
    "text/secrets": ("text/test_secrets.py",),
    "text/secret_formats": ("text/test_secrets.py",),
    "text/secret_context": ("text/test_secrets.py",),
    "text/secret_values": ("text/test_secret_values.py", "text/test_secrets.py"),
}
# No plugins but those that the tests cannot do without: their tests run thousands of times.
_OPTIONS = (
    "-qq",
    "-s",
    "-p",
    "pytest_timeout",
    "-p",
    "_hypothesis_pytestplugin",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:logging",
    "-p",
    "no:faulthandler",
    "-o",
    "tmp_path_retention_policy=none",
)
_FILES = "PYTEST_DEBUG_TEMPROOT"  # where tests have their files
# Ten times what the tests need: a mutant may go on for ever.
_LIMITS = ((resource.RLIMIT_CPU, 30), (resource.RLIMIT_AS, 8_000_000_000))
# Tests of how long a huge text takes: nothing here is about that.
_HUGE = re.compile("linear_time|no_burden")

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SHOWN = 24  # a change is shown with so much around it that one sees what it means,
_AROUND = 40  # and with no more than this
_WORDS = re.compile(r"\s*[^\s\\(\[]+(?:\s+[^\s\\(\[]+)+\s*")


class Mutant(NamedTuple):
    """A change, in words that stay the same when lines move, and the module with it."""

    name: str
    code: CodeType


class Site(NamedTuple):
    """A node where the tree can be changed, and the nodes above it, the nearest first."""

    node: ast.AST
    field: str
    above: tuple[ast.AST, ...]


class Change(NamedTuple):
    """What a node is replaced by; `without` is what that leaves out, where it leaves something
    out.
    """

    node: ast.AST
    without: str = ""


def mutants(source: str, filename: str = "<module>") -> list[Mutant]:
    """Every mutant of a module."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    for name, site, change in _named_changes(tree):
        with _changed(site, change.node):
            code = compile(ast.fix_missing_locations(copy.deepcopy(tree)), filename, "exec")
        found.append(Mutant(name, code))
    return found


def mutant_names(source: str) -> list[str]:
    """What every mutant of a module is called; to compile them takes ten times as long."""
    return [name for name, _, _ in _named_changes(ast.parse(source))]


def _named_changes(tree: ast.Module) -> Iterator[tuple[str, Site, Change]]:
    names: Counter[str] = Counter()
    for site in _sites(tree, ()):
        for change in _changes(site):
            name = _name(site, change)
            names[name] += 1
            yield f"{name} ({names[name]})" if names[name] > 1 else name, site, change


def _sites(node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator[Site]:
    """The nodes below this one that are code: no docstrings, annotations, decorators, types or
    imports.
    """
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_no_code(node, field, child):
                yield Site(child, field, (node, *above))
                yield from _sites(child, (node, *above))


def _is_no_code(parent: ast.AST, field: str, child: ast.AST) -> bool:
    if field in ("annotation", "returns", "decorator_list", "bases", "target", "targets", "ctx"):
        return True
    match child:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case (
            ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar")))
            | ast.Assign(targets=[ast.Name(id="__all__")])
        ):
            return True
        case ast.Assign(value=ast.Subscript(value=ast.Name(id="Literal" | "Callable"))):
            return True
    return False


def _changes(site: Site) -> Iterator[Change]:
    node = site.node
    if site.field in ("test", "ifs") and not _turns_round(node):
        yield Change(ast.UnaryOp(ast.Not(), node))
    if isinstance(node, ast.stmt):
        yield from _without_statement(node, site.above[0])
    match node:
        case ast.Compare(ops=[operator]) if not (
            isinstance(operator, _ORDERINGS) and _holds_a_number(node)
        ):
            yield Change(ast.Compare(node.left, [_COMPARISONS[type(operator)]()], node.comparators))
        case ast.BoolOp():
            yield from _with_fewer(node, "values")
        case ast.UnaryOp(op=ast.Not()):
            yield Change(node.operand)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield Change(ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right))
        case ast.Constant(value=str()):
            yield from _other_strings(node, site.above)
        case ast.Constant():
            yield from (Change(ast.Constant(value)) for value in _other_values(node.value))
        case ast.Call():
            yield from _other_calls(node)
        case ast.Tuple() | ast.List() | ast.Set() if _is_list(node, site.above[0]):
            yield from _with_fewer(node, "elts")
        case ast.Dict():
            keys = enumerate(node.keys)
            yield from (
                Change(_without(node, ("keys", "values"), at), ast.unparse(key))
                for at, key in keys
                if key
            )
        case ast.comprehension(ifs=[_, *_]):
            yield from _with_fewer(node, "ifs")


def _without_statement(node: ast.stmt, parent: ast.AST) -> Iterator[Change]:
    early = isinstance(node, ast.Return) and isinstance(parent, ast.If)
    if early or isinstance(node, ast.Expr | ast.AugAssign | ast.Break | ast.Continue):
        yield Change(ast.Pass(), ast.unparse(node))


def _turns_round(node: ast.AST) -> bool:
    """Whether the other changes of this condition make its opposite needless."""
    match node:
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() | ast.Compare():
            return True
    return False


def _holds_a_number(node: ast.Compare) -> bool:
    """Whether a limit is written out: one more and one less of it are tried, so "or equal" need not
    be.
    """
    return any(
        isinstance(part, ast.Constant) and type(part.value) is int
        for part in (node.left, *node.comparators)
    )


def _other_values(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1]
        case float():
            return [value * 1.1, value * 0.9] if value else [1.0]
    return []


def _is_list(node: ast.Tuple | ast.List | ast.Set, parent: ast.AST) -> bool:
    """Whether any number of parts would do: a table, or what something is looked for in; not a row,
    not two results.
    """
    alike = len({type(part) for part in node.elts if not isinstance(part, ast.Starred)}) == 1
    return alike and not isinstance(parent, ast.Tuple | ast.Dict | ast.Subscript | ast.Return)


def _other_strings(node: ast.Constant, above: tuple[ast.AST, ...]) -> Iterator[Change]:
    match above:
        case [ast.Call(func=ast.Name(id="words")), *_] | [ast.Tuple(), ast.Tuple(), *_]:
            yield from _with_fewer_words(node)  # a list, or the cues of a rule
        case [ast.Tuple() | ast.List() | ast.Set() as parts, parent, *_] if _is_list(parts, parent):
            return  # to be without it is tried already
        case [ast.Compare(), *_]:
            return
        case [ast.Dict(keys=keys), *_] if node in keys:
            return
        case _:
            yield Change(ast.Constant("" if node.value else "XX"))


def _with_fewer(node: ast.AST, field: str) -> Iterator[Change]:
    """The node without one of its parts; of two operands the other one is left."""
    parts = getattr(node, field)
    for place, part in enumerate(parts):
        fewer = _without(node, (field,), place)
        if isinstance(node, ast.BoolOp) and len(parts) == 2:
            fewer = parts[1 - place]
        yield Change(fewer, ast.unparse(part))


def _with_fewer_words(node: ast.Constant) -> Iterator[Change]:
    """A list of words that is written as one string, without one of them."""
    listed = node.value.split() if _WORDS.fullmatch(node.value) else []
    for place, word in enumerate(listed):
        yield Change(ast.Constant(" ".join([*listed[:place], *listed[place + 1 :]])), repr(word))


def _other_calls(node: ast.Call) -> Iterator[Change]:
    match node.func:
        case ast.Name(id=name) if name in _CALLS:
            yield Change(ast.Call(ast.Name(_CALLS[name], ast.Load()), node.args, node.keywords))
        case ast.Attribute(
            value=receiver, attr="lower" | "upper" | "strip" | "lstrip" | "rstrip" as method
        ):
            yield Change(receiver, f".{method}()")
    yield from _with_fewer(node, "keywords")


def _without(node: ast.AST, fields: tuple[str, ...], place: int) -> ast.AST:
    fewer = copy.copy(node)
    for field in fields:
        parts = getattr(node, field)
        setattr(fewer, field, [*parts[:place], *parts[place + 1 :]])
    return fewer


@contextlib.contextmanager
def _changed(site: Site, node: ast.AST) -> Iterator[None]:
    """The tree with this node in the place of the site's."""
    parent = site.above[0]
    whole = getattr(parent, site.field)
    other = (
        [node if part is site.node else part for part in whole] if isinstance(whole, list) else node
    )
    setattr(parent, site.field, other)
    try:
        yield
    finally:
        setattr(parent, site.field, whole)


def _name(site: Site, change: Change) -> str:
    place = ".".join(reversed([name for node in site.above if (name := _defined_by(node))]))
    if change.without:
        return f"{place}: without {_cut(change.without)}"
    shown = _shown(site)
    before = ast.unparse(shown)
    with _changed(site, change.node):
        after = ast.unparse(change.node if shown is site.node else shown)
    same = _in_common(before, after)
    tail = _in_common(before[same:][::-1], after[same:][::-1])
    return f"{place}: {_cut(before, same, tail)} → {_cut(after, same, tail)}"


def _in_common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _cut(text: str, same: int = 0, tail: int = 0) -> str:
    """The text without most of what is the same before and after what differs."""
    start, end = max(0, same - _AROUND), len(text) - max(0, tail - _AROUND)
    if not same and not tail:
        end = min(end, 2 * _AROUND)
    return f"{'…' * (start > 0)}{' '.join(text[start:end].split())}{'…' * (end < len(text))}"


def _defined_by(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
            name.isupper()
        ):
            return name
    return ""


def _shown(site: Site) -> ast.AST:
    """The node itself, or one above it in the same statement, large enough to be understood."""
    for node in (site.node, *site.above):
        if isinstance(node, ast.stmt | ast.arguments):
            break
        largest = node
        if len(ast.unparse(node)) >= _SHOWN and not isinstance(
            node, ast.JoinedStr | ast.FormattedValue
        ):
            break
    return largest


# Trying them


def _graft(code: CodeType, module: ModuleType) -> None:
    """Makes this the code of a module that is loaded already, for all who have imported something
    from it.
    """
    before = dict(vars(module))
    exec(code, vars(module))
    for name, old in before.items():
        new = vars(module)[name]
        if isinstance(unwrap(old), FunctionType) and new is not old:
            _take_over(unwrap(old), unwrap(new))
            setattr(module, name, old)
        elif isinstance(old, type) and new is not old:
            for method in [
                method for method, value in vars(new).items() if isinstance(value, FunctionType)
            ]:
                setattr(old, method, vars(new)[method])
            setattr(module, name, old)
        elif new is not old:
            modules = [one for one in sys.modules.values() if isinstance(one, ModuleType)]
            for other in [one for one in modules if vars(one).get(name) is old]:
                setattr(other, name, new)


def _take_over(old: FunctionType, new: FunctionType) -> None:
    old.__code__, old.__defaults__, old.__kwdefaults__ = (
        new.__code__,
        new.__defaults__,
        new.__kwdefaults__,
    )


class Trial(NamedTuple):
    """How the mutants of one module fared."""

    module: str
    mutants: int
    survived: list[str]


class _Running(NamedTuple):
    mutant: Mutant
    process: BaseProcess
    items: list[pytest.Item]
    place: Synchronized[int]  # which of them it has come to


class Trials:
    """A plugin of pytest: when the tests are collected, it runs them for each mutant, each time in
    a forked process.
    """

    def __init__(self, modules: list[str], jobs: int) -> None:
        self.modules, self.jobs, self.done = modules, jobs, list[Trial]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.freeze()  # what is there now stays, so that forks need not copy it to look at it
        for module in self.modules:
            self.done.append(_tried(module, _tests_of(module, session.items), self.jobs))
            print(_row(self.done[-1]), flush=True)
            PAGE.write_text(page(self.done, explained()), "utf-8")
        return True


def _tests_of(module: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that say what they expect: whether a property notices a change depends on the
    examples drawn.
    """
    ours = [item for item in items if str(item.path.relative_to(TESTS)) in TARGETS[module]]
    return [
        item
        for item in ours
        if not item.get_closest_marker("hypothesis") and not _HUGE.search(item.name)
    ]


def _tried(module: str, items: list[pytest.Item], jobs: int) -> Trial:
    """Tries every mutant of a module, after making sure that the tests pass without any change."""
    path = SOURCES / f"{module}.py"
    source = path.read_text("utf-8")
    loaded = importlib.import_module(f"holdfast.{module.replace('/', '.')}")
    unchanged = _start(Mutant("", compile(source, str(path), "exec")), loaded, items)
    unchanged.process.join()
    if unchanged.process.exitcode:
        pytest.exit(f"{module} fails {items[unchanged.place.value].nodeid} as it is", 2)
    waiting, running, survived = mutants(source, str(path)), list[_Running](), list[str]()
    count = len(waiting)
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(_start(waiting.pop(0), loaded, items))
        for one in _ended(running):
            if one.process.exitcode:
                killer = one.items[one.place.value]
                # The next mutant may well fail the same test.
                items.insert(0, items.pop(items.index(killer)))
            else:
                survived.append(one.mutant.name)
                print(f"  survived: {one.mutant.name}", flush=True)
    return Trial(module, count, survived)


def _start(mutant: Mutant, module: ModuleType, items: list[pytest.Item]) -> _Running:
    context = multiprocessing.get_context("fork")
    place = context.Value("i", 0)
    process = context.Process(target=_run, args=(mutant, module, items, place))
    process.start()
    return _Running(mutant, process, list(items), place)


def _run(
    mutant: Mutant, module: ModuleType, items: list[pytest.Item], place: Synchronized[int]
) -> None:
    """Runs the tests with this code in place of the module's until one fails, and ends this
    process.
    """
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    os.environ[_FILES] = tempfile.mkdtemp(dir=os.environ[_FILES])
    for limit, most in _LIMITS:
        resource.setrlimit(limit, (most, most))
    _graft(mutant.code, module)
    for place.value, item in enumerate(items):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        if item.session.testsfailed:
            os._exit(1)
    os._exit(0)


def _ended(running: list[_Running]) -> list[_Running]:
    """Waits for one to end; takes out and returns those that have."""
    wait([one.process.sentinel for one in running])
    ended = [one for one in running if one.process.exitcode is not None]
    running[:] = [one for one in running if one not in ended]
    return ended


# What came out


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tries the tests on code with one small change after the other."
    )
    parser.add_argument(
        "modules",
        nargs="*",
        default=list(TARGETS),
        help="such as text/secrets; all if none is named",
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants are tried at a time")
    options = parser.parse_args()
    trials = Trials(options.modules, options.jobs)
    with tempfile.TemporaryDirectory() as scratch:
        files = sorted(
            {str(TESTS / file) for module in options.modules for file in TARGETS[module]}
        )
        os.environ |= {_FILES: scratch, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        pytest.main([*files, *_OPTIONS], plugins=[trials])
    reasons = explained()
    faults = [
        fault for trial in trials.done for fault in _faults(trial, reasons.get(trial.module, {}))
    ]
    print(*faults, sep="\n")
    sys.exit(bool(faults) or len(trials.done) < len(options.modules))


def explained() -> dict[str, dict[str, str]]:
    """Of each module the mutants that may survive, and why."""
    return tomllib.loads(REASONS.read_text("utf-8"))


def _faults(trial: Trial, reasons: dict[str, str]) -> list[str]:
    """Survivors without a reason, and reasons without a survivor."""
    unexplained = [
        f"{trial.module}: survived: {name}" for name in trial.survived if name not in reasons
    ]
    return unexplained + [
        f"{trial.module}: no survivor: {name}" for name in reasons if name not in trial.survived
    ]


def _row(trial: Trial) -> str:
    killed = trial.mutants - len(trial.survived)
    return (
        f"| `{trial.module}` | {trial.mutants} | {killed} | {killed / trial.mutants:.1%} | "
        f"{len(trial.survived)} |"
    )


def page(trials: list[Trial], reasons: dict[str, dict[str, str]]) -> str:
    """The figures, those of modules that were not run as they were; and every survivor with why it
    may live.
    """
    known = PAGE.read_text("utf-8").splitlines() if PAGE.exists() else []
    rows = {row.split("`")[1]: row for row in [*known, *map(_row, trials)] if row.startswith("| `")}
    lists = [
        f"## {module}\n\n{_list(reasons[module])}" for module in TARGETS if reasons.get(module)
    ]
    return "\n\n".join(
        [
            _INTRODUCTION,
            "\n".join([_HEAD, *(rows[one] for one in TARGETS if one in rows)]),
            *lists,
            "",
        ]
    )


def _list(reasons: dict[str, str]) -> str:
    return "\n".join(f"- ``{name}``: {reason}" for name, reason in reasons.items())


_INTRODUCTION = """# Mutation testing

`make mutants` tries the tests of these modules on code that is wrong: it makes one small change
at a time (a number nudged, a comparison or a condition turned round or left out, a string
emptied, a rule, a word of a table, an argument or a statement left out) and runs the tests that
say what they expect of the module. A change that none of them notices has survived. Each that did
is listed below with the reason why it does no harm; the command fails on any other. It takes some
minutes and is no part of `make test`.

What is not tried: property tests, which may or may not draw an example that notices; what a
regular expression says, short of emptying or dropping it."""
_HEAD = """| module | mutants | killed | | survived, explained |
|---|---|---|---|---|"""


if __name__ == "__main__":
    main()
