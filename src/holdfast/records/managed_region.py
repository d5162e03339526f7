"""A region that Holdfast maintains in a person's file, without touching a byte outside it.

The region lies between two comments, each on its own line. The first holds a hash of the content,
which reveals edits, and the number of line ends added before it, so that removing the region
restores the file. Files are handled as bytes, so encoding and line ends stay.
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
# In place of a number of line ends: Holdfast created the file.
_NEW = "new"

# A whole line, possibly after a byte order mark. The end of the comment is checked later, so that
# a damaged marker is reported instead of overlooked.
_MARK = re.compile(
    (
        rb"^(?:\xef\xbb\xbf)?(?P<mark>[ \t]*<!--[ "
        rb"\t]*(?P<which>%b|%b)\b(?P<said>[^\r\n]*))(?P<eol>\r\n|\r|\n)?"
    )
    % (REGION_BEGIN.encode(), REGION_END.encode()),
    re.MULTILINE,
)
# A comment that closes on its own line, without a `-->` before its end.
_WHOLE = re.compile(rb"(?P<words>(?:[^-]|-(?!->))*)-->[ \t]*")
_SHA = re.compile(rb"\bsha=([0-9a-f]{12})\b")
_AFTER = re.compile(rb"\bafter=(\d|new)\b")
# In these encodings the ASCII markers would never be found, and a second region added.
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True, slots=True)
class Region:
    """Position and content of a region."""

    start: int
    """Offset of the first marker's line."""
    end: int
    """Offset after the last marker's line, including its line end."""
    line: int
    """Line number of the first marker."""
    body: bytes
    sha: str
    """Hash of the written content; empty for markers that a person wrote to choose the place."""
    after: str
    """Number of line ends that were added before it, or `new` for a file of ours."""
    eol: bytes
    closed: bool
    """Whether the last marker's line has a line end."""

    @property
    def edited(self) -> bool:
        """Whether somebody else has edited it."""
        return _sha(self.body) != self.sha if self.sha else bool(self.body.strip())


def find(data: bytes) -> Region | None:
    """Return the region of a file, or None. Raises InvalidInput, with the line, for damaged
    markers.
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
    """Return the file with a region containing `text`: in place of the old one, else at the end.

    `data` is None for a new file.
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
    """Return the file without its region; None if the file is ours and nobody added to it."""
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
    """Raise InvalidInput unless the markers are one complete pair in the right order."""
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
    """Hash that is the same for all line ends, because git converts them between systems."""
    return hashlib.sha256(body.replace(b"\r\n", b"\n")).hexdigest()[:12]


def _line_end(data: bytes) -> bytes:
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"


def _line(data: bytes, mark: re.Match[bytes]) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data[: mark.start()])) + 1
