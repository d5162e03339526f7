"""Where records are kept: which project a folder belongs to, and what that project is called."""

from __future__ import annotations

import shutil

import pytest

from holdfast.errors import InvalidInput
from holdfast.records.roots import (
    assistant_place,
    folder_to_make,
    init_project,
    place_around,
    places_around,
    project_folder,
    project_id,
    project_name,
    project_place,
    slug,
)


def test_a_project_is_found_from_any_folder_in_it(tmp_path):
    made = init_project(tmp_path / "shop")
    deep = tmp_path / "shop" / "src" / "app"
    deep.mkdir(parents=True)
    assert project_place(deep) == project_place(tmp_path / "shop") == made
    assert (made.root, made.records, made.folder) == (
        tmp_path / "shop" / ".holdfast",
        tmp_path / "shop" / ".holdfast" / "records",
        tmp_path / "shop",
    )
    assert project_place(tmp_path) is None


def test_the_top_of_a_project_is_where_it_keeps_records_else_its_repository_else_the_folder_itself(
    tmp_path,
):
    inner = tmp_path / "shop" / "vendored" / "api"
    inner.mkdir(parents=True)
    assert project_folder(inner) == folder_to_make(inner) == inner
    (tmp_path / "shop" / ".git").mkdir()
    assert project_folder(inner) == folder_to_make(inner) == tmp_path / "shop"
    assert place_around(inner).scope.key == project_id(tmp_path / "shop")
    assert init_project(tmp_path / "shop").scope == place_around(inner).scope
    (
        inner / ".git"
        # another repository inside: its records still count, unless it becomes a project itself
    ).mkdir()
    assert (project_folder(inner), folder_to_make(inner)) == (tmp_path / "shop", inner)


def test_a_folder_that_is_gone_is_still_the_project_it_was(tmp_path):
    assert place_around(tmp_path / "gone").folder == tmp_path / "gone"


def test_the_nearest_project_counts(tmp_path):
    init_project(tmp_path)
    inner = init_project(tmp_path / "packages" / "api")
    assert project_place(tmp_path / "packages" / "api") == inner
    assert project_place(tmp_path / "packages").folder == tmp_path


def test_a_folder_keeps_the_id_that_it_went_by_before_it_was_a_project(tmp_path):
    folder = tmp_path / "My Shop"
    folder.mkdir()
    before = project_id(folder)
    assert before.startswith("my-shop-")
    assert init_project(folder).scope.key == project_id(folder) == before
    assert project_id(tmp_path / "other" / "My Shop") != before


def test_a_clone_is_the_same_project(tmp_path):
    made = init_project(tmp_path / "shop")
    shutil.copytree(tmp_path / "shop", tmp_path / "clone")
    assert project_place(tmp_path / "clone").scope == made.scope


def test_making_it_a_project_twice_changes_nothing(tmp_path):
    made = init_project(tmp_path / "shop", "The Shop")
    written = (made.root / "project.yaml").read_text()
    assert init_project(tmp_path / "shop", "Another name") == made
    assert (made.root / "project.yaml").read_text() == written
    assert project_name(made) == "The Shop"


@pytest.mark.parametrize(
    "name", ['A "quoted" \\ name', "Läden: 1 # x", "日本語", " spaced  out ", "true"]
)
def test_any_name_will_do(tmp_path, name):
    assert project_name(init_project(tmp_path, name)) == " ".join(name.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: Shop\n", "does not name its project"),
        ("id: ../../etc\n", "does not name its project"),
        ("id: a/b\n", "does not name its project"),
        ("<<<<<<< HEAD\nid: a\n=======\nid: b\n>>>>>>> x\n", "project.yaml"),
        ("id: [\n", "not valid YAML"),
        ("", "does not name its project"),
    ],
)
def test_a_project_file_that_names_no_project_is_told(tmp_path, text, says):
    place = init_project(tmp_path)
    (place.root / "project.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=says) as error:
        project_place(tmp_path)
    assert str(place.root / "project.yaml") in str(error.value)


def test_a_project_file_may_be_any_yaml(tmp_path):
    place = init_project(tmp_path)
    (place.root / "project.yaml").write_text(
        "\ufeff# ours\nid: 'acme'  # never change\nname: >-\n  The\n  shop\nmore: {a: 1}\n"
    )
    assert project_place(tmp_path).scope.key == "acme"
    assert project_name(place) == "The shop"


def test_the_places_around_are_the_project_and_the_persons_own(tmp_path):
    own = assistant_place("ann", tmp_path / "data")
    assert (own.root, str(own.scope), own.folder) == (
        tmp_path / "data/assistant",
        "assistant:ann",
        own.root,
    )
    assert places_around(tmp_path, "ann", tmp_path / "data") == (own,)
    assert places_around(tmp_path, "ann", tmp_path / "data") != (init_project(tmp_path), own)
    assert places_around(tmp_path, "ann", tmp_path / "data") == (project_place(tmp_path), own)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use pnpm, not npm!", "use-pnpm-not-npm"),
        ("über Straße", "über-strasse"),
        ("!!!", ""),
        ("日" * 60, "日" * 33),
    ],
)
def test_slugs_are_short_and_readable(text, expected):
    assert slug(text) == expected
    assert len(slug(text * 20).encode()) <= 100
