"""Measure the house: sizes, density, cycles and the width of the front doors.

    python tests/house_metrics.py             this checkout
    python tests/house_metrics.py PATH/src    another one, to compare before and after

Everything but the two traces is read from the source, so a version can be measured that is not
installed. `tests/test_house.py` holds the bars.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# File names that every Python project uses more than once.
COMMON_NAMES = {"__init__", "__main__", "base", "store"}


class House:
    """The modules of package `holdfast` below a source folder, parsed once."""

    def __init__(self, source: Path = SOURCE) -> None:
        self.package = source / "holdfast"
        self.texts = {
            path: path.read_text("utf-8")
            for path in sorted(self.package.rglob("*.py"))
            if "__pycache__" not in path.parts
        }
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}

    def lines(self) -> int:
        """Lines of source, blank ones included."""
        return sum(text.count("\n") for text in self.texts.values())

    @cached_property
    def _density(self) -> tuple[int, int, int]:
        """Tokens, lines that hold code, and lines that are only a comment."""
        tokens = code = comments = 0
        for path, text in self.texts.items():
            prose = _docstring_lines(self.trees[path])
            lines = set()
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
                    comments += 1
                if token.type in LAYOUT or token.start[0] in prose:
                    continue
                tokens += 1
                lines.add(token.start[0])
            code += len(lines)
        return tokens, code, comments

    def tokens_per_line(self) -> float:
        """Tokens per line of code; comments and docstrings count as neither."""
        tokens, code, _ = self._density
        return tokens / code

    def comment_share(self) -> float:
        """Lines that are a comment, as a share of all lines."""
        return self._density[2] / self.lines()

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Each function with where it is."""
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, FUNCTIONS):
                    yield f"{path.relative_to(self.package)}:{node.lineno} {node.name}", node

    def long_functions(self, limit: int = 60) -> list[str]:
        """Functions of more than `limit` lines."""
        return [
            where
            for where, node in self.functions()
            if (node.end_lineno or node.lineno) - node.lineno + 1 > limit
        ]

    def deep_closures(self, levels: int = 2) -> list[str]:
        """Functions below more than `levels` other functions."""
        found = []
        for path, tree in self.trees.items():
            for node, depth in _closures(tree, 0):
                if depth > levels:
                    found.append(f"{path.relative_to(self.package)}:{node.lineno} {node.name}")
        return found

    def shared_names(self) -> dict[str, list[str]]:
        """File names that two folders use, with the folders."""
        places: dict[str, list[str]] = {}
        for path in self.texts:
            if path.stem not in COMMON_NAMES:
                places.setdefault(path.stem, []).append(str(path.relative_to(self.package).parent))
        return {name: sorted(where) for name, where in places.items() if len(where) > 1}

    @cached_property
    def cycles(self) -> list[str]:
        """The shortest way back of each module that imports itself through others.

        Imports inside functions count; those under `if TYPE_CHECKING` are never executed.
        """
        imports = {name: sorted(self._imports(name)) for name in self.modules}
        return list(_cycles(imports))

    def commands(self) -> int:
        """Top-level commands that `holdfast --help` shows."""
        program = (
            "import click, typer\n"
            "from holdfast.cli.app import app, load_commands\n"
            "load_commands()\n"
            "root = typer.main.get_command(app)\n"
            "context = click.Context(root)\n"
            "commands = (root.get_command(context, one) for one in root.list_commands(context))\n"
            "print(sum(not one.hidden for one in commands))\n"
        )
        return int(self.run("-c", program)[-1])

    def files_entered(self, *command: str) -> int:
        """Our files in which at least one function runs while a command does its work."""
        program = (
            "import sys\n"
            "entered = set()\n"
            "def trace(frame, event, argument):\n"
            # Bodies of modules and classes run with an import; only functions are optimised.
            "    if frame.f_code.co_flags & 1:\n"
            "        entered.add(frame.f_code.co_filename)\n"
            "sys.setprofile(trace)\n"
            f"sys.argv = ['holdfast', *{list(command)!r}]\n"
            "from holdfast.cli import main\n"
            "try:\n"
            "    main()\n"
            "except SystemExit:\n"
            "    pass\n"
            "sys.setprofile(None)\n"
            "print(sum('/holdfast/' in name for name in entered))\n"
        )
        return int(self.run("-c", program)[-1])

    def run(self, *arguments: str) -> list[str]:
        """The words that a Python with this source prints."""
        environment = {**os.environ, "PYTHONPATH": str(self.package.parent)}
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return done.stdout.split()

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Our modules, by the names under which they are imported."""
        return {_module_name(path, self.package): path for path in self.texts}

    def _imports(self, name: str) -> set[str]:
        """The modules that one imports, and those it reaches through a lazy package, as in
        `records.write_back`.
        """
        path = self.modules[name]
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        found = set()
        bound = {}
        for node in _executed(self.trees[path]):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*above, *filter(None, [node.module])])
                for one in node.names:
                    full = f"{module}.{one.name}"
                    found.add(full if full in self.modules else module)
                    bound[one.asname or one.name] = full
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.add(f"{bound.get(node.value.id)}.{node.attr}")
        return (found & self.modules.keys()) - {name}


def _docstring_lines(tree: ast.AST) -> set[int]:
    """The lines that docstrings take, those below attributes included."""
    found: set[int] = set()
    for node in ast.walk(tree):
        constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if constant and isinstance(node.value.value, str):
            found |= set(range(node.lineno, node.end_lineno + 1))
    return found


def _closures(node: ast.AST, depth: int) -> Iterator[tuple[ast.FunctionDef, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield child, depth  # type: ignore[misc]
            yield from _closures(child, depth + 1)
        else:
            yield from _closures(child, 0 if isinstance(child, ast.ClassDef) else depth)


def _module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, top down, without what only a type checker reads."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            children = node.orelse
        else:
            yield node
            children = [*ast.iter_child_nodes(node)]
        waiting += reversed(children)


def _cycles(imports: dict[str, list[str]]) -> Iterator[str]:
    """Modules that can reach themselves, each with the shortest way back."""
    for start in sorted(imports):
        ways = {module: [start, module] for module in imports[start]}
        waiting = list(ways)
        while waiting and start not in ways:
            module = waiting.pop(0)
            for other in imports[module]:
                if other not in ways:
                    ways[other] = [*ways[module], other]
                    waiting.append(other)
        if start in ways:
            yield " -> ".join(ways[start])


def front_doors(house: House) -> dict[str, object]:
    """Public names of `Holdfast`, methods of the storage protocol, and depths of their classes."""
    program = (
        "import holdfast, inspect, json\n"
        "from holdfast.storage import protocol\n"
        "from holdfast.storage.sqlite.store import SQLiteStore\n"
        "from holdfast.storage.postgres.store import PostgresStore\n"
        "def public(kind): return [n for n in dir(kind) if not n.startswith('_')]\n"
        "def depth(kind):\n"
        "    above = [depth(c) for c in kind.__bases__ if c.__module__.startswith('holdfast')]\n"
        "    return 1 + max(above, default=0)\n"
        "def methods(kind): return [n for n in public(kind) if callable(getattr(kind, n))]\n"
        "names = public(holdfast.Holdfast)\n"
        "spaces = [n for n in names if not callable(getattr(holdfast.Holdfast, n))]\n"
        "tables = [c for _, c in inspect.getmembers(protocol, inspect.isclass)\n"
        "          if getattr(c, '_is_protocol', False) and c.__module__ == protocol.__name__]\n"
        "doors = [c for c in tables if c.__name__ in ('Store', 'Transaction', 'Writer')]\n"
        "print(json.dumps({\n"
        "    'public names of Holdfast': len(names) - len(spaces),\n"
        "    'namespaces of Holdfast': len(spaces),\n"
        "    'depth of Holdfast': depth(holdfast.Holdfast),\n"
        "    'methods of Store and Transaction': sum(len(methods(c)) for c in doors),\n"
        "    'methods of all storage protocols': sum(len(methods(c)) for c in tables),\n"
        "    'depth of a store': max(depth(SQLiteStore), depth(PostgresStore)),\n"
        "}))\n"
    )
    return json.loads(" ".join(house.run("-c", program)))


def report(house: House) -> dict[str, object]:
    """The figures of one source folder."""
    shared = Counter({name: len(where) for name, where in house.shared_names().items()})
    figures: dict[str, object] = {
        "modules": len(house.texts),
        "lines": house.lines(),
        "tokens per code line": round(house.tokens_per_line(), 2),
        "comment lines %": round(100 * house.comment_share(), 2),
        "functions over 60 lines": len(house.long_functions()),
        "closures below two others": len(house.deep_closures()),
        "import cycles": len(house.cycles),
        "file names used twice": len(shared),
        "visible commands": house.commands(),
    }
    figures |= front_doors(house)
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/memory.db", "--scope", "user:ann"]
        figures["files entered by remember"] = house.files_entered(
            "remember", "Drinks green tea", *store
        )
        figures["files entered by recall"] = house.files_entered("recall", "green tea", *store)
    return figures


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    print(re.sub(r'[{}",]', "", json.dumps(report(House(chosen)), indent=2)).strip())
