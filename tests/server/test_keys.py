"""The file of keys: what is in it, who may write it, and what a damaged one does."""

from __future__ import annotations

import stat
import sys

import pytest

from holdfast.errors import InvalidInput, NotFound, ScopeError
from holdfast.server.api_keys import KeyFile


@pytest.fixture
def file(tmp_path):
    return KeyFile(tmp_path / "config" / "keys.jsonl")


def test_a_key_is_found_by_its_words_and_by_no_others(file):
    key = file.add("ann", at=7)
    found = file.find(key)
    assert (found.owner, str(found.scope), found.created_at) == ("ann", "user:ann", 7)
    assert (
        file.find(key + "x") is None and file.find(key.swapcase()) is None and file.find("") is None
    )


def test_the_file_holds_no_key_and_is_for_its_owner_only(file):
    key = file.add("ann", at=0)
    assert key.split("_", 2)[2] not in file.path.read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_two_keys_of_one_owner_have_nothing_in_common(file):
    one, other = file.add("ann", at=0), file.add("ann", at=0)
    assert one != other and len({(key.salt, key.hash) for key in file}) == 2


def test_a_revoked_key_is_gone_and_the_others_stay(file):
    one, other = file.add("ann", at=0), file.add("bob", at=0)
    file.revoke(file.find(one).id, at=1)
    assert file.find(one) is None and file.find(other) is not None
    with pytest.raises(NotFound, match="no key"):
        file.revoke("nobody", at=1)


def test_keys_are_needed_from_the_first_one_on_whatever_happens_to_it(file):
    assert file.needed is False
    key = file.add("ann", at=0)
    assert file.needed is True
    file.revoke(file.find(key).id, at=1)
    assert file.needed is True
    file.path.unlink()
    assert file.needed is True and list(file) == []


def test_what_another_program_adds_is_seen(file):
    assert list(file) == []
    key = KeyFile(file.path).add("ann", at=0)
    assert file.find(key) is not None


def test_a_name_that_cannot_be_an_owner_makes_no_key(file):
    with pytest.raises(ScopeError):
        file.add("", at=0)
    assert not file.path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_file_that_others_may_write_is_not_trusted(file):
    file.add("ann", at=0)
    file.path.chmod(0o666)
    with pytest.raises(InvalidInput, match="chmod 600"):
        KeyFile(file.path).find("hf_00000000_" + "x" * 43)


def test_a_damaged_file_is_named_with_its_line(file):
    file.add("ann", at=0)
    with file.path.open("a") as out:
        out.write("{oops\n")
    with pytest.raises(InvalidInput, match="Line 2"):
        list(KeyFile(file.path))


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="Cannot write"):
        KeyFile(tmp_path / "file" / "keys.jsonl").add("ann", at=0)
