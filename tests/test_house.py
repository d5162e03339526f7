"""The house is in order: the architecture page is the tree, folders say what belongs there, and
things stay small.
"""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path
from statistics import median

import pytest

import holdfast
from holdfast.config import Settings

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
TREE = PAGE.split("```text\n")[1].split("```")[0]
NOT_MODULES = ("__init__.py", "__main__.py")
FILES = [path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
MODULES = [path for path in FILES if path.suffix == ".py"]
FOLDERS = sorted({SOURCE / above for path in FILES for above in path.relative_to(SOURCE).parents})
PACKAGES = [folder for folder in FOLDERS if (folder / "__init__.py").exists()]

ENTRY = re.compile(r"^((?:  )+)(?=[\w-])(\S+)")
FILE = re.compile(r"(?<![\w/.])[\w-]+\.(?:py|js|css|html|json|md|toml|yaml|sql)\b")
FOLDER = re.compile(r"(?<![\w/.:])[\w-]+/(?![\w/])")
DEEPEST = (
    10  # of an entry of the tree; what begins further to the right goes on with the line above
)


def drawn():
    """What the tree draws: folders, and files with the folder that they are drawn in."""
    folders, files, stack = [SOURCE], [], {0: SOURCE}
    here = SOURCE
    for line in TREE.splitlines()[1:]:
        entry = ENTRY.match(line)
        if entry and len(entry[1]) <= DEEPEST:
            depth = len(entry[1])
            above = stack[max(known for known in stack if known < depth)]
            here = above / entry[2].rstrip("/") if entry[2].endswith("/") else above
            if entry[2].endswith("/"):
                stack = {known: folder for known, folder in stack.items() if known < depth} | {
                    depth: here
                }
                folders.append(here)
        told = (
            line.removeprefix(f"{entry[1]}{entry[2]}") if entry and entry[2].endswith("/") else line
        )
        files += [here / name for name in FILE.findall(told)]
        folders += [here / name.rstrip("/") for name in FOLDER.findall(told)]
    return folders, files


def test_the_tree_of_the_architecture_page_names_every_module_where_it_is_and_nothing_else():
    folders, files = drawn()
    assert [str(path.relative_to(SOURCE)) for path in (*folders, *files) if not path.exists()] == []
    modules = {path for path in MODULES if path.name not in NOT_MODULES}
    assert {str(path.relative_to(SOURCE)) for path in modules - set(files)} == set()
    assert {str(path.relative_to(SOURCE)) for path in set(PACKAGES) - set(folders)} == set()


def rows():
    """The table of folders: by folder, what belongs there and what does not."""
    table = PAGE.split("## What belongs where")[1].split("\n## ")[0]
    return {
        name: (yes, no)
        for name, yes, no in re.findall(r"^\| `([^`]+)/` \| (.+) \| (.+) \|$", table, re.MULTILINE)
    }


def test_every_folder_has_a_sentence_that_says_what_belongs_there_and_what_does_not():
    names = [
        "holdfast" if folder == SOURCE else str(folder.relative_to(SOURCE)) for folder in FOLDERS
    ]
    assert sorted(rows()) == sorted(names)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_docstring_of_a_package_says_the_same_as_the_page(package):
    told = " ".join(
        (ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or "").split()
    )
    yes, no = rows()["holdfast" if package == SOURCE else str(package.relative_to(SOURCE))]
    assert f"Belongs here: {yes}. Does not: {no}." in told


def test_what_the_page_says_of_a_file_can_be_found_in_it():
    told = PAGE.split("```text\n")[0] + PAGE.split("```\n", 2)[-1]
    named = re.findall(r"`([\w/]+\.py)`(?: `(\w+)`)?", told)
    assert len(named) > 20
    for path, name in named:
        assert (SOURCE / path).exists(), path
        assert not name or re.search(
            rf"(?:def|class) {name}\b", (SOURCE / path).read_text("utf-8")
        ), (path, name)


@pytest.fixture(scope="module")
def nodes():
    """Every node of every module, by its path."""
    return {
        str(path.relative_to(SOURCE)): [*ast.walk(ast.parse(path.read_text("utf-8")))]
        for path in MODULES
    }


def test_functions_are_short(nodes):
    sizes = {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path, every in nodes.items()
        for node in every
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert median(sizes.values()) < 10
    assert sum(size < 35 for size in sizes.values()) >= 0.9 * len(sizes)
    assert {name: size for name, size in sizes.items() if size > 60} == {}


def test_modules_are_small_enough_to_be_one_thing():
    """Two are longer than a few screens: the promises of a store, and a forwarding line for each
    verb.
    """
    long = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        if len(path.read_text("utf-8").splitlines()) > 505
    }
    assert long <= {"storage/protocol.py", "aio.py"}


def test_there_are_few_public_names_and_few_settings():
    assert len(holdfast.__all__) <= 18
    assert len(fields(Settings)) < 30


def test_nobody_reaches_into_the_private_parts_of_another_object(nodes):
    """A name with one underscore is for the class, or the module, that has it."""
    named_tuples = {"_replace", "_asdict", "_make", "_fields"}
    found = []
    for path, every in nodes.items():
        own = {node.attr for node in every if isinstance(node, ast.Attribute) and _is_own(node)}
        own |= {
            node.name for node in every if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        own |= {node.target.id for node in every if _is_field(node)}
        for node in every:
            private = (
                isinstance(node, ast.Attribute)
                and re.match(r"_[a-z]", node.attr)
                and not _is_own(node)
            )
            if private and node.attr not in own | named_tuples | {"_exit"}:
                found.append(f"{path}:{node.lineno} {ast.unparse(node)}")
            if isinstance(node, ast.ImportFrom) and any(
                re.match(r"_[a-z]", one.name) for one in node.names
            ):
                found.append(f"{path}:{node.lineno} {ast.unparse(node)}")
    assert found == []


def _is_own(node):
    value = node.value
    return (isinstance(value, ast.Name) and value.id in ("self", "cls")) or ast.unparse(
        value
    ) == "super()"


def _is_field(node):
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
