"""memory:// URLs: what they name, and what they may not."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.records.memory_urls import read_url


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "memory"
    (root / "skills" / "deploy").mkdir(parents=True)
    (root / "memory_summary.md").write_text("Use pnpm.\n")
    (root / "MEMORY.md").write_text("# Memory\n\nÜber alles\n")
    (root / "skills" / "deploy" / "SKILL.md").write_text("Run make deploy.\n")
    (root / "skills" / "deploy" / "run it.sh").write_text("make deploy\n")
    (tmp_path / "outside.md").write_text("not yours\n")
    return root


@pytest.mark.parametrize("url", ["memory://root", "memory://root/", "MEMORY://root"])
def test_the_root_is_the_summary(folder, url):
    found = read_url(url, folder)
    assert (found.text, found.type) == ("Use pnpm.\n", "text/markdown")
    assert (found.url, found.size, found.path) == (
        url,
        10,
        (folder / "memory_summary.md").resolve(),
    )


def test_files_are_read_by_name(folder):
    assert read_url("memory://root/MEMORY.md", folder).text == "# Memory\n\nÜber alles\n"
    assert read_url("memory://root/skills/deploy/SKILL.md", folder).type == "text/markdown"
    script = read_url("memory://root/skills/deploy/run%20it.sh", folder)
    assert (script.text, script.type) == ("make deploy\n", "text/plain")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("memory://", "memory:// URL requires a namespace: memory://root"),
        ("memory:///MEMORY.md", "memory:// URL requires a namespace: memory://root"),
        ("memory://other/MEMORY.md", "Unknown memory namespace: other. Supported: root"),
        ("memory://root/%ZZ", "Invalid URL encoding in memory:// path: %ZZ"),
        ("memory://root/%ff", "Invalid URL encoding in memory:// path: %ff"),
        ("memory://root//etc/passwd", "Absolute paths are not allowed in memory:// URLs"),
        ("memory://root/%2Fetc/passwd", "Absolute paths are not allowed in memory:// URLs"),
        ("memory://root/C:/secret.txt", "Absolute paths are not allowed in memory:// URLs"),
        ("memory://root/../outside.md", "Path traversal (..) is not allowed in memory:// URLs"),
        ("memory://root/%2E%2E/outside.md", "Path traversal (..) is not allowed in memory:// URLs"),
        (
            "memory://root/skills%2f..%2f..%2foutside.md",
            "Path traversal (..) is not allowed in memory:// URLs",
        ),
        ("memory://root/..\\outside.md", "Path traversal (..) is not allowed in memory:// URLs"),
        ("memory://root/skills", "memory:// URL must resolve to a file: memory://root/skills"),
        (
            "file:///etc/passwd",
            "'file:///etc/passwd' is not a memory:// URL. Write it like memory://root/MEMORY.md.",
        ),
    ],
)
def test_what_cannot_name_a_file_is_refused(folder, url, told):
    with pytest.raises(InvalidInput) as error:
        read_url(url, folder)
    assert str(error.value) == told


def test_what_is_not_there_is_said_to_be_missing(folder, tmp_path):
    with pytest.raises(NotFound, match=r"^Memory file not found: memory://root/learned.md$"):
        read_url("memory://root/learned.md", folder)
    with pytest.raises(NotFound, match=r"^Memory file not found: memory://root/MEMORY.md/x$"):
        read_url("memory://root/MEMORY.md/x", folder)
    with pytest.raises(
        NotFound, match=r"not available for this project yet\. Run a session with memories enabled"
    ):
        read_url("memory://root", tmp_path / "nowhere")


def test_links_do_not_lead_out(folder, tmp_path):
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "up").symlink_to(tmp_path)
    for url in (
        "memory://root/link.md",
        "memory://root/up/outside.md",
        "memory://root/up/missing.md",
    ):
        with pytest.raises(InvalidInput, match=r"^memory:// URL escapes memory root$"):
            read_url(url, folder)


def test_a_link_within_is_followed(folder):
    (folder / "alias.md").symlink_to(folder / "MEMORY.md")
    assert read_url("memory://root/alias.md", folder).text.startswith("# Memory")


@given(tail=st.text(max_size=60))
def test_no_url_reads_beyond_the_folder(tmp_path_factory, tail):
    root = tmp_path_factory.mktemp("m") / "memory"
    root.mkdir()
    (root / "memory_summary.md").write_text("inside")
    (root.parent / "outside.md").write_text("outside")
    with suppress(HoldfastError):
        assert read_url(f"memory://root/{tail}", root).text == "inside"
