"""A region of somebody's file that we keep: found, filled and taken out, and not a byte outside of
it touched.

The region is what stands between two comments, each on a line of its own. The first one holds a
hash of what was put there, by which an edit is noticed, and how many line ends were added before
it, so that taking it out gives back the file as it was. Files are bytes here: whatever encoding and
line ends they have stay.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass

from ..errors import InvalidInput
from ..text.fences import REGION_BEGIN, REGION_END

NOTE = "kept by `holdfast record publish`: change the records, not this"
_REPAIR = "Put the pair right, or delete what is left of it, and try again."
# Instead of a number of line ends: there was no file.
_NEW = "new"

_MARK = re.compile(
    (
        rb"^(?:\xef\xbb\xbf)?(?P<mark>[ \t]*<!--[ "
        rb"\t]*(?P<which>%b|%b)\b(?P<said>[^\r\n]*))(?P<eol>\r\n|\r|\n)?"
    )
    % (REGION_BEGIN.encode(), REGION_END.encode()),
    re.MULTILINE,
)
_WHOLE = re.compile(rb"(?P<words>(?:[^-]|-(?!->))*)-->[ \t]*")
_SHA = re.compile(rb"\bsha=([0-9a-f]{12})\b")
_AFTER = re.compile(rb"\bafter=(\d|new)\b")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True, slots=True)
class Region:
    """Where a region is in a file, and what is in it."""

    start: int
    """Where the first marker's line begins."""
    end: int
    """Behind the last marker's line and its line end."""
    line: int
    """The number of the first marker's line."""
    body: bytes
    sha: str
    """Of what was put there; empty for markers that a person wrote to choose the place."""
    after: str
    """How many line ends before it are ours, or that the file is."""
    eol: bytes
    closed: bool
    """Whether the last marker's line has a line end."""

    @property
    def edited(self) -> bool:
        """Whether somebody else wrote in it."""
        return _sha(self.body) != self.sha if self.sha else bool(self.body.strip())


def find(data: bytes) -> Region | None:
    """The region of a file; None where there is none. InvalidInput, with the line, when its markers
    are damaged.
    """
    if data.startswith(_WIDE):
        raise InvalidInput(
            "it is UTF-16 or UTF-32 text, and only UTF-8 can be kept. Save it as UTF-8 and try "
            "again."
        )
    marks = list(_MARK.finditer(data))
    if not marks:
        return None
    _check(data, marks)
    begin, end = marks
    said = begin["said"]
    sha = _SHA.search(said)
    after = _AFTER.search(said)
    return Region(
        start=begin.start("mark"),
        end=end.end(),
        line=_line(data, begin),
        body=data[begin.end() : end.start("mark")],
        sha=sha[1].decode() if sha else "",
        after=after[1].decode() if after else "0",
        eol=b"\r\n" if begin["eol"] == b"\r\n" else b"\n",
        closed=end["eol"] is not None,
    )


def put(data: bytes | None, text: str) -> bytes:
    """A file with a region that says `text`: in the place of the one it has, else at its end. None:
    no file yet.
    """
    region = find(data) if data else None
    if data and region:
        new = _written(text, region.after, region.eol)
        new = new if region.closed else new.removesuffix(region.eol)
        return data[: region.start] + new + data[region.end :]
    if not data:
        return _written(text, _NEW if data is None else "0", b"\n")
    eol = _line_end(data)
    added = 1 if data.endswith((b"\n", b"\r")) else 2
    return data + eol * added + _written(text, str(added), eol)


def take_out(data: bytes) -> bytes | None:
    """A file without its region, as it was before there was one; None for a file that we made and
    nobody wrote to.
    """
    region = find(data)
    if region is None:
        return data
    head = data[: region.start]
    tail = data[region.end :]
    if region.after == _NEW:
        return head + tail or None
    for _ in range(int(region.after)):
        head = head.removesuffix(region.eol)
    joined = not tail or not head or head.endswith((b"\n", b"\r"))
    return head + tail if joined else head + region.eol + tail


def _check(data: bytes, marks: list[re.Match[bytes]]) -> None:
    """InvalidInput unless the markers are one whole pair in the right order."""
    for mark in marks:
        if not _WHOLE.fullmatch(mark["said"]):
            raise InvalidInput(
                f"the marker in line {_line(data, mark)} is damaged: its comment has no end. "
                f"{_REPAIR}"
            )
    begins, ends = (
        [mark for mark in marks if mark["which"] == name.encode()]
        for name in (REGION_BEGIN, REGION_END)
    )
    for name, found in ((REGION_BEGIN, begins), (REGION_END, ends)):
        if len(found) > 1:
            places = " and ".join(str(_line(data, mark)) for mark in found[:2])
            raise InvalidInput(f"there is more than one `{name}`, in lines {places}. {_REPAIR}")
    if not begins or not ends or ends[0].start() < begins[0].start():
        missing = REGION_END if begins else REGION_BEGIN
        raise InvalidInput(
            f"the `{marks[0]['which'].decode()}` in line {_line(data, marks[0])} has no "
            f"`{missing}` "
            f"{'after' if begins else 'before'} it. {_REPAIR}"
        )


def _written(
    text: str,
    after: str,
    eol: bytes,
) -> bytes:
    body = "".join(f"{line}\n" for line in text.split("\n") if line.strip()).encode()
    begin = f"<!-- {REGION_BEGIN} sha={_sha(body)} after={after} ({NOTE}) -->\n".encode()
    return (begin + body + f"<!-- {REGION_END} -->\n".encode()).replace(b"\n", eol)


def _sha(body: bytes) -> str:
    """The same for every kind of line end: git changes those on its way from one system to
    another.
    """
    return hashlib.sha256(body.replace(b"\r\n", b"\n")).hexdigest()[:12]


def _line_end(data: bytes) -> bytes:
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"


def _line(data: bytes, mark: re.Match[bytes]) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data[: mark.start()])) + 1
