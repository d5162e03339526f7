"""Records the tour that README shows: real commands on a real terminal, and the Memory page.

python docs/tour.py            record it and write docs/images/tour.svg (needs Chromium)
python docs/tour.py --check    run the commands again and fail if the tour shows something else
"""

from __future__ import annotations

import base64
import difflib
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory

from record import CTRL_D, perform, settled

ROOT = Path(__file__).parents[1]
TOUR = ROOT / "docs" / "images" / "tour.svg"
STORE = "home/data/holdfast/memory.db"  # where record.py lets a command keep its memory
COLUMNS = 90
CHARACTER, ROW = 8.4, 18  # pixels
LEFT, TOP = 20, 62  # where the first line begins
WIDTH, HEIGHT = 800, 460
PICTURE = (LEFT, TOP + ROW, WIDTH - 2 * LEFT, 370)  # where the page is shown

# Seconds: a key, a line of output, and time to read when a scene is complete.
KEY, LINE, READ = 0.035, 0.12, 2.8

Step = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Scene:
    """One thing to show: its title, and the commands with what is typed into them."""

    title: str
    steps: tuple[Step, ...]


STILL = "Recall, with reasons"  # the scene for people who want nothing to move
INSTALL = "pip install --quiet ."
SERVE = "holdfast serve --open"
SCENES = (
    Scene("Install", ((INSTALL, ()), ("holdfast --version", ()))),
    Scene(
        "Remember",
        (
            ('holdfast remember "My sister Ines drives the van to Lisbon in April"', ()),
            ('holdfast remember "I am allergic to peanuts" --category health', ()),
        ),
    ),
    Scene(
        "Recall, with reasons",
        (
            ('holdfast recall "who drives to Lisbon?" --why --limit 1', ()),
            ('holdfast recall "is anybody going to Portugal?" --why --limit 1', ()),
        ),
    ),
    Scene("Look at it", ((SERVE, ()),)),
    Scene(
        "An agent that remembers",
        (
            ("holdfast agent init --name assistant --template memory", ()),
            ("holdfast agent run role.yaml -i", ("My boat Heron needs new sails.", CTRL_D)),
            ("holdfast agent run role.yaml -i", ("What does the boat need?", CTRL_D)),
        ),
    ),
)


def played(place: Path) -> list[list[str]]:
    """The lines of every scene, as a terminal shows them."""
    os.environ["LOGNAME"] = "ann"
    return [[line for step in scene.steps for line in _lines(step, place)] for scene in SCENES]


def _lines(step: Step, place: Path) -> list[str]:
    command, prompts = step
    # Installing takes long, so only a recording does it; a server is looked at with a browser.
    if command in (INSTALL, SERVE):
        return [f"$ {command}"]
    shown = perform(command, prompts, place, COLUMNS).shown()
    # The prompt at which a conversation was ended.
    return [f"$ {command}", *settled(shown, str(place)).removesuffix("\n>").splitlines()]


def install(place: Path) -> None:
    """Does what the first scene says, in an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    pip = [place / "venv" / "bin" / "pip", "install", "--quiet", ROOT]
    done = subprocess.run(pip, capture_output=True, text=True, check=True)
    if done.stdout:
        raise RuntimeError(f"{INSTALL} says something now:\n{done.stdout}")


def picture(store: Path) -> bytes:
    """The Memory page over the memories of the tour."""
    sys.path.insert(0, str(ROOT / "tests" / "web"))
    sys.path.insert(0, str(ROOT / "tests"))
    from serving import browsing, serving

    size = {"width": 1480, "height": 720}
    with serving(store) as url, browsing() as browser:
        page = browser.new_page(viewport=size, color_scheme="light")
        page.goto(f"{url}?user_id=ann#/?q=Lisbon")
        page.get_by_role("link", name="My sister Ines").first.click()
        page.wait_for_load_state("networkidle")
        page.evaluate("document.fonts.ready")
        return page.screenshot(animations="disabled")


class Film:
    """The pieces of the picture, each with the time at which it comes and goes."""

    def __init__(self) -> None:
        self.parts, self.rules = list[str](), list[tuple[str, float, float, int]]()
        self.still = False  # whether a piece is part of the picture where nothing may move
        self._numbers = itertools.count()

    def show(self, markup: str, begin: float, end: float) -> None:
        """A piece that is there for a while."""
        name = f"p{next(self._numbers)}"
        self.rules.append((name, begin, end, 0))
        self.parts.append(f'<g class="{name}" opacity="{int(self.still)}">{markup}</g>')

    def type(self, markup: str, row: int, length: int, begin: float, end: float) -> None:
        """A line that appears key by key: a cover of the colour of the terminal moves off it."""
        name, wide = f"p{next(self._numbers)}", COLUMNS * CHARACTER
        self.rules.append((name, begin, begin + length * KEY, length))
        y = TOP + row * ROW - 14
        cover = f'<rect class="{name} cover" x="{LEFT}" y="{y}" width="{wide}" height="{ROW}"/>'
        self.show(markup + cover, begin, end)

    def css(self, total: float) -> Iterator[str]:
        """One animation for each piece; all of them are as long as the film."""
        for name, begin, end, length in self.rules:
            first, last = f"{begin / total:.3%}", f"{end / total:.3%}"
            if not length:
                frames = f"0%{{opacity:0}}{first}{{opacity:1}}{last},100%{{opacity:0}}"
                timing = "step-end"
            else:
                frames = (
                    f"0%,{first}{{transform:none;animation-timing-function:steps({length})}}"
                    f"{last},100%{{transform:translateX({length * CHARACTER:.0f}px)}}"
                )
                timing = "linear"
            played = f".{name}{{animation:{name} {total:.2f}s {timing} infinite}}"
            yield f"@keyframes {name}{{{frames}}}{played}"


def drawn(scenes: list[list[str]], page: bytes) -> str:
    """The film of all scenes as one SVG."""
    film, now = Film(), 0.3
    for number, (scene, lines) in enumerate(zip(SCENES, scenes, strict=True)):
        begin, end = now, now + _length(lines)
        film.still = scene.title == STILL
        film.show(_titles(number), begin - 0.3, end)
        for row, line in enumerate(lines):
            typed = line.startswith(("$ ", "> "))
            (film.type if typed else film.show)(*_arguments(line, row, typed, now, end))
            now += len(line) * KEY + 0.3 if typed else LINE
        if scene.steps[-1][0] == SERVE:
            film.show(_image(page), now, end)
        now = end + 0.3
    return _svg(film, now)


def _arguments(line: str, row: int, typed: bool, begin: float, end: float) -> tuple[object, ...]:
    markup = _text(line, row)
    return (markup, row, len(line), begin, end) if typed else (markup, begin, end)


def _length(lines: list[str]) -> float:
    keys = sum(len(line) * KEY + 0.3 for line in lines if line.startswith(("$ ", "> ")))
    return keys + len(lines) * LINE + READ


def _text(line: str, row: int) -> str:
    kind = {"$": "command", ">": "command", "·": "tool"}.get(line[:1], "")
    wide = len(line) * CHARACTER
    return (
        f'<text class="{kind}" x="{LEFT}" y="{TOP + row * ROW}" textLength="{wide:.1f}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(line)}</text>'
    )


def _titles(current: int) -> str:
    """The names of the scenes; the current one stands out."""
    names = [
        f'<tspan class="{"now" if number == current else "other"}">{escape(scene.title)}</tspan>'
        for number, scene in enumerate(SCENES)
    ]
    return f'<text class="titles" x="{WIDTH / 2}" y="25">{"  ·  ".join(names)}</text>'


def _image(page: bytes) -> str:
    x, y, width, height = PICTURE
    data = base64.b64encode(page).decode()
    return (
        f'<image x="{x}" y="{y}" width="{width}" height="{height}" '
        f'href="data:image/png;base64,{data}"/>'
    )


def _svg(film: Film, total: float) -> str:
    said = "; ".join(scene.title.lower() for scene in SCENES)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>A tour of Holdfast: {said}</title>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
fill: #c9d1d9; white-space: pre }}
.command {{ fill: #ffffff; font-weight: 600 }}
.tool, .other {{ fill: #7d8590 }}
.titles {{ font: 13px system-ui, sans-serif; text-anchor: middle; fill: #7d8590 }}
.now {{ fill: #ffffff; font-weight: 600 }}
.cover {{ fill: #0d1117 }}
{chr(10).join(film.css(total))}
@media (prefers-reduced-motion: reduce) {{
* {{ animation: none !important }}
.cover {{ display: none }}
}}
</style>
<clipPath id="inside"><rect width="{WIDTH}" height="{HEIGHT}" rx="10"/></clipPath>
<g clip-path="url(#inside)">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#0d1117"/>
<rect width="{WIDTH}" height="38" fill="#161b22"/>
{chr(10).join(film.parts)}
</g>
</svg>
"""


def told(svg: str) -> list[str]:
    """The lines that a recorded tour shows."""
    return [unescape(line) for line in re.findall(r"<text[^>]*textLength[^>]*>([^<]*)<", svg)]


def check(place: Path) -> int:
    """Whether the commands still say what the tour shows; scores and the version may differ."""
    now = [_plain(line) for lines in played(place) for line in lines]
    then = [_plain(line) for line in told(TOUR.read_text("utf-8"))]
    if now != then:
        print("The tour does not show what happens. Run: python docs/tour.py", file=sys.stderr)
        print(*difflib.unified_diff(then, now, lineterm="", n=0), sep="\n", file=sys.stderr)
    return int(now != then)


def _plain(line: str) -> str:
    return re.sub(r"\d+(\.\w+)+", "N", line)


def main() -> int:
    """Records the tour, or checks it."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        if "--check" in sys.argv:
            return check(place)
        scenes = played(place)
        install(place)
        copy = shutil.copy(place / STORE, place / "memory.db")
        TOUR.write_text(drawn(scenes, picture(Path(copy))), "utf-8")
    print(f"{TOUR.relative_to(ROOT)}: {TOUR.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
