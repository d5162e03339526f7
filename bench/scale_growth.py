"""How figures grow from step to step, what grows faster than n log n, and what is still to wait."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

Figures = dict[str, Any]
# A step's measurement may be off by as much, by chance and by what else the machine does. At ten
# times the size, a quadratic cost is 8 times what n log n allows.
TOLERANCE = 1.35
# Below this, a measurement says more about the machine than about the work.
TOO_SHORT = 0.02  # seconds
# Phases that handle every memory of the store or of one owner; all others handle one thing.
WHOLE = ("ingest", "embed", "doctor")
OF_AN_OWNER = ("export", "import", "purge")


class Step(Protocol):
    """A store of one size."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def memories(self) -> int:
        """How many memories it has."""


def same_machine(one: Figures, other: Figures) -> bool:
    """Whether figures of two machines may be compared."""
    return all(one[key] == other[key] for key in ("processor", "cores", "memory_gb"))


def row(owners: int, each: int, figures: dict[str, Figures]) -> Figures:
    """The figures of one step, with its size."""
    return {"owners": owners, "each": each, "memories": owners * each, "phases": figures}


def costs(phases: dict[str, Figures]) -> dict[str, float]:
    """Processor seconds by what was done; a page's parts one by one. Filling a
    store cannot be compared where the server copied most of it.
    """
    copied = phases.get("copies", {}).get("owners", 0)
    found = {
        name: figures["processor_seconds"]
        for name, figures in phases.items()
        if "processor_seconds" in figures and not (copied and name in ("ingest", "embed", "copies"))
    }
    for name, figures in phases.get("pages", {}).get("each", {}).items():
        found[f"page {name}"] = figures["processor_seconds"]
    return found


def growth(rows: Sequence[Figures]) -> list[Figures]:
    """The exponent of every cost between neighbouring steps: 1 is linear, 2 quadratic."""
    found = []
    for small, large in pairwise(rows):
        before, after = costs(small["phases"]), costs(large["phases"])
        for what in before.keys() & after.keys():
            lower, upper = _sizes(what, small, large)
            if lower == upper:
                continue
            low, high = max(before[what], 1e-6), max(after[what], 1e-6)
            allowed = upper * math.log(upper) / (lower * math.log(lower))
            found.append(
                {
                    "what": what,
                    "from": small["memories"],
                    "to": large["memories"],
                    "times": round(high / low, 2),
                    "exponent": round(math.log(high / low) / math.log(upper / lower), 2),
                    "faster_than_n_log_n": high > TOO_SHORT and high / low > allowed * TOLERANCE,
                }
            )
    return sorted(found, key=lambda one: (one["from"], -one["exponent"], one["what"]))


def _sizes(what: str, small: Figures, large: Figures) -> tuple[int, int]:
    """The sizes that a cost is to be compared with: of the store, or of one owner."""
    if what in OF_AN_OWNER and small["each"] < large["each"]:
        return small["each"], large["each"]
    return small["memories"], large["memories"]


def estimate(
    todo: Sequence[tuple[Step, str]],
    figures: Callable[[Any], dict[str, Figures]],
    steps: Sequence[Step],
) -> float | None:
    """Seconds that the phases to do will take, from what they took in a smaller step; None where
    nothing is known of one.
    """
    total = 0.0
    for step, phase in todo:
        known = [
            (other.memories, figures(other)[phase]["phase_seconds"])
            for other in steps
            if "phase_seconds" in figures(other).get(phase, {})
        ]
        if not known:
            return None
        memories, seconds = max(known)
        total += seconds * step.memories / memories
    return total


COLUMNS: dict[str, Callable[[dict[str, Figures]], Any]] = {
    "ingest /s": lambda phases: phases["ingest"]["per_second"],
    "ingest /cpu s": lambda phases: phases["ingest"]["per_processor_second"],
    "embed /cpu s": lambda phases: phases["embed"]["per_processor_second"],
    "bytes/memory": lambda phases: phases["size"]["bytes_per_memory"],
    "journal": lambda phases: phases["size"]["journal_bytes_per_memory"],
    "cold ms": lambda phases: phases["recall"]["cold_ms"],
    "p50 ms": lambda phases: phases["recall"]["p50_ms"],
    "× floor": lambda phases: phases["recall"]["times_floor_processor"],
    "RSS MB": lambda phases: phases["recall"]["rss_mb"],
    "capture × bare": lambda phases: phases["capture"]["times_bare_processor"],
    "doctor cpu s": lambda phases: phases["doctor"]["processor_seconds"],
    "export cpu s": lambda phases: phases["export"]["processor_seconds"],
    "import cpu s": lambda phases: phases["import"]["processor_seconds"],
    "purge cpu s": lambda phases: phases["purge"]["processor_seconds"],
    "guest cpu s": lambda phases: phases["guest"]["processor_seconds"],
    "plans cpu s": lambda phases: phases["plans"]["processor_seconds"],
}


def table(rows: Sequence[Figures], growth: Sequence[Figures]) -> str:
    """Both tables as text: a line per figure, a column per step."""
    heads = [f"{one['owners']}x{one['each']}" for one in rows]
    lines = [f"{'':<24}" + "".join(f"{head:>14}" for head in heads)]
    for name, of in COLUMNS.items():
        cells = [_cell(of, one["phases"]) for one in rows]
        lines.append(f"{name:<24}" + "".join(f"{cell:>14}" for cell in cells))
    for name in sorted({what for one in rows for what in costs(one["phases"]) if " " in what}):
        cells = [
            _cell(lambda phases, name=name: costs(phases)[name] * 1e3, one["phases"])
            for one in rows
        ]
        lines.append(f"{name + ' cpu ms':<24}" + "".join(f"{cell:>14}" for cell in cells))
    lines.append("")
    for one in growth:
        mark = "  faster than n log n" if one["faster_than_n_log_n"] else ""
        told = f"{one['what']:<24}{one['from']:>10,} → {one['to']:<10,}"
        lines.append(f"{told} × {one['times']:<8} exponent {one['exponent']:<5}{mark}")
    return "\n".join(lines)


def _cell(of: Callable[[dict[str, Figures]], Any], phases: dict[str, Figures]) -> str:
    try:
        value = of(phases)
    except KeyError:
        return "–"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
