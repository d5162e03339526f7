"""Who and what a memory mentions: linked, merged, split, renamed, and taken back."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.ingest import entity_linking
from holdfast.ingest.commit import Draft, build
from holdfast.models.entities import EntityMatch
from holdfast.models.entities.select import standard
from holdfast.storage.store_types import Author
from holdfast.types import Scope

ANN = Scope("user", "ann")
_runs = count(1)


@pytest.fixture
def registry(hf):
    """Ann's entities, changed in runs of their own."""
    return Registry(hf)


class Registry:
    """Short ways to change entities and to look at them."""

    def __init__(self, hf):
        self.hf, self.store, self.run = hf, hf.store, ""

    def __call__(self, work):
        self.run = f"run_{next(_runs)}"
        return self.store.write(Author("tester", self.run, self.hf.clock(), "entities"), work)

    def keep(self, text):
        """Stores a text without looking for what it mentions."""
        return self(
            lambda tx: tx.add(build(Draft(content=text), ANN, at=self.hf.clock(), max_bytes=9999))
        )

    def remember(self, text, strategy="local"):
        """Stores a text and links what it mentions."""
        memory = self.keep(text)
        found = standard().recognise(text, strategy)
        return memory, self(lambda tx: entity_linking.link(tx, memory, found, at=self.hf.clock()))

    def mention(self, text, *names, type_="person"):
        """Stores a text and links these names."""
        memory = self.keep(text)
        found = [EntityMatch(name, type_, -1, -1, 1.0, name) for name in names]
        return memory, self(lambda tx: entity_linking.link(tx, memory, found, at=self.hf.clock()))

    def named(self, name):
        """The one entity that goes by a folded name."""
        (entity,) = self.store.entities.list([ANN], names=[name])
        return entity

    def told(self, entity):
        """What the memories that mention an entity say, newest first."""
        return [memory.content for memory in self.store.entities.mentioning(ANN, entity.id)]

    def all(self):
        """Every entity, as what it is called, what it is, and how often it is mentioned."""
        return [(one.name, one.type, one.mentions) for one in self.store.entities.list([ANN])]


class TestLink:
    def test_bob_shipped_apollo(self, registry):
        memory, linked = registry.remember("@bob shipped #apollo", "fast")
        assert [(one.name, one.type, one.aliases) for one in linked] == [
            ("bob", "person", ("@bob",)),
            ("apollo", "project", ("#apollo",)),
        ]
        for name in ("bob", "@bob"):
            assert registry.told(registry.named(name)) == [memory.content]

    def test_a_known_entity_is_met_again_whatever_its_case(self, registry):
        (first,) = registry.mention("Иван пришёл", "Иван")[1]
        (again,) = registry.mention("иван ушёл", "иван")[1]
        assert again.id == first.id
        assert registry.all() == [("Иван", "person", 2)]

    def test_ann_and_joanna_are_two(self, registry):
        registry.mention("Joanna came", "Joanna")
        registry.mention("Ann came", "Ann")
        assert registry.all() == [("Ann", "person", 1), ("Joanna", "person", 1)]

    def test_the_same_name_of_two_types_is_two(self, registry):
        registry.mention("the Apollo project", "Apollo", type_="project")
        registry.mention("Apollo, the god", "Apollo")
        assert sorted(registry.all()) == [("Apollo", "person", 1), ("Apollo", "project", 1)]

    def test_an_alias_leads_to_its_entity_and_new_spellings_become_aliases(self, registry):
        registry.remember("@bob is here", "fast")
        memory = registry.keep("Иваном")
        found = [
            EntityMatch("BOB", "person", 0, 3, 1.0, "Bobby"),
            EntityMatch("Bobby", "person", -1, -1, 1.0, "Bobby"),
        ]
        linked = registry(lambda tx: entity_linking.link(tx, memory, found, at=registry.hf.clock()))
        assert [(one.name, set(one.aliases)) for one in linked] == [("bob", {"@bob", "Bobby"})]
        assert registry.all() == [("bob", "person", 2)]

    def test_a_batch_that_shares_what_it_met_links_as_one_by_one(self, registry):
        texts = ["#Apollo", "#apollo again", "#APOLLO and #apollo", "#gemini"]
        memories = [registry.keep(text) for text in texts]
        registry(lambda tx: entity_linking.note(tx, memories[:1], at=registry.hf.clock()))
        registry(lambda tx: entity_linking.note(tx, memories[1:], at=registry.hf.clock()))
        assert [told[::2] for told in registry.all()] == [("Apollo", 3), ("gemini", 1)]
        before = registry.store.events([ANN])
        registry(lambda tx: entity_linking.note(tx, memories, at=registry.hf.clock()))
        assert registry.store.events([ANN]) == before

    def test_dates_and_what_cannot_be_a_name_are_not_registered(self, registry):
        memory = registry.keep("on 2026-03-18")
        odd = [
            ("2026-03-18", "date"),
            ("", "person"),
            (" \n", "person"),
            ("x" * 300, "url"),
            ("ﷺ" * 20, "person"),
        ]
        found = [EntityMatch(name, type_, -1, -1, 1.0, name) for name, type_ in odd]
        found.append(EntityMatch("a\0b\ud800", "person", -1, -1, 1.0, "y" * 5000))
        linked = registry(lambda tx: entity_linking.link(tx, memory, found, at=registry.hf.clock()))
        assert [(one.name, one.aliases) for one in linked] == [("a\ufffdb\ufffd", ())]

    def test_linking_again_changes_nothing(self, registry):
        memory, linked = registry.remember("@bob shipped #apollo", "fast")
        found = standard().recognise(memory.content)
        again = registry(lambda tx: entity_linking.link(tx, memory, found, at=registry.hf.clock()))
        assert again == linked
        assert registry.store.events([ANN], run=registry.run) == []

    def test_a_memory_that_is_not_there_cannot_mention(self, registry):
        memory = registry.keep("@bob").with_(id="fact_nobody")
        with pytest.raises(NotFound):
            registry(lambda tx: entity_linking.link(tx, memory, standard().recognise("@bob"), at=1))
        assert registry.all() == []

    def test_undo_takes_links_and_new_entities_back(self, registry):
        registry.remember("@bob shipped #apollo", "fast")
        registry.hf.undo(registry.run)
        assert registry.all() == []


class TestMerge:
    def two(self, registry):
        registry.mention("Bob came", "Bob")
        registry.mention("Robert Smith left", "Robert Smith")
        registry.mention("Bob, that is Robert Smith", "Bob", "Robert Smith")
        return registry.named("robert smith"), registry.named("bob")

    def test_names_and_mentions_move_to_the_one_that_is_kept(self, registry):
        keep, other = self.two(registry)
        merged = registry(lambda tx: entity_linking.merge(tx, keep, [other, other, keep]))
        assert (merged.id, merged.name, merged.aliases) == (keep.id, "Robert Smith", ("Bob",))
        assert registry.all() == [("Robert Smith", "person", 3)]
        registry.mention("Bob again", "Bob")
        assert registry.all() == [("Robert Smith", "person", 4)]

    def test_merging_is_undone_exactly(self, registry):
        keep, other = self.two(registry)
        before = registry.store.entities.list([ANN])
        registry(lambda tx: entity_linking.merge(tx, keep, [other]))
        merge = registry.run
        registry.mention("Bob after the merge", "Bob")
        registry.hf.undo(merge)
        after = registry.store.entities.list([ANN])
        assert [(one.name, one.aliases) for one in after] == [("Robert Smith", ()), ("Bob", ())]
        # What was said since stays where it was noted.
        assert [one.mentions for one in after] == [
            3,
            2,
        ]
        assert sorted(one.id for one in after) == sorted(one.id for one in before)

    def test_a_summary_is_not_lost(self, registry):
        keep, other = self.two(registry)
        registry(lambda tx: tx.entities.put(replace(other, summary="a friend")))
        assert registry(lambda tx: entity_linking.merge(tx, keep, [other])).summary == "a friend"

    def test_entities_of_two_scopes_stay_apart(self, registry):
        keep, other = self.two(registry)
        with pytest.raises(InvalidInput):
            registry(
                lambda tx: entity_linking.merge(
                    tx, keep, [replace(other, scope=Scope("user", "bob"))]
                )
            )

    def test_who_is_gone_cannot_be_merged(self, registry):
        keep, other = self.two(registry)
        registry(lambda tx: entity_linking.merge(tx, keep, [other]))
        with pytest.raises(NotFound):
            registry(lambda tx: entity_linking.merge(tx, keep, [other]))


class TestSplit:
    def one(self, registry):
        for text in (
            "Ann came",
            "Ann Lee left",
            "Ann and Ann Lee",
            "ＡＮＮ  ＬＥＥ again",
            "Joannann",
            "@annie wrote",
        ):
            registry.mention(text, "Ann")
        entity = registry.named("ann")
        registry(lambda tx: tx.entities.put(replace(entity, aliases=("Ann Lee", "@annie"))))
        return entity

    def test_names_become_an_entity_with_the_memories_that_contain_them(self, registry):
        old = self.one(registry)
        new = registry(
            lambda tx: entity_linking.split(tx, old, ["ann lee", "@ANNIE"], at=registry.hf.clock())
        )
        assert (new.name, new.type, new.aliases) == ("Ann Lee", "person", ("@annie",))
        assert registry.told(new) == [
            "@annie wrote",
            "ＡＮＮ  ＬＥＥ again",
            "Ann and Ann Lee",
            "Ann Lee left",
        ]
        assert registry.told(old) == ["Joannann", "Ann and Ann Lee", "Ann came"]
        assert registry.store.entities.get(ANN, old.id).aliases == ()

    def test_splitting_is_undone(self, registry):
        old = self.one(registry)
        before = registry.store.entities.list([ANN])
        registry(lambda tx: entity_linking.split(tx, old, ["Ann Lee"], at=registry.hf.clock()))
        registry.hf.undo(registry.run)
        assert registry.store.entities.list([ANN]) == before

    def test_names_in_scripts_without_spaces_are_found_inside_words(self, registry):
        memory, _ = registry.mention("昨日田中さんに会いました", "佐藤")
        registry(lambda tx: tx.entities.put(replace(registry.named("佐藤"), aliases=("田中",))))
        old = registry.named("佐藤")
        new = registry(lambda tx: entity_linking.split(tx, old, ["田中"], at=registry.hf.clock()))
        assert registry.told(new) == [memory.content]
        assert registry.told(old) == []

    @pytest.mark.parametrize(
        ("names", "error"), [([], InvalidInput), (["ann"], InvalidInput), (["Lee"], NotFound)]
    )
    def test_only_aliases_can_be_split_off(self, registry, names, error):
        old = self.one(registry)
        before = registry.all()
        with pytest.raises(error):
            registry(lambda tx: entity_linking.split(tx, old, names, at=registry.hf.clock()))
        assert registry.all() == before

    def test_a_name_that_another_entity_has_cannot_be_split_off(self, registry):
        old = self.one(registry)
        (lee,) = registry.mention("the other", "Lee Ann")[1]
        registry(lambda tx: entity_linking.rename(tx, lee, "ann lee"))
        with pytest.raises(Conflict, match="Merge"):
            registry(lambda tx: entity_linking.split(tx, old, ["Ann Lee"], at=registry.hf.clock()))


class TestRename:
    def test_the_old_name_stays_as_an_alias(self, registry):
        (bob,) = registry.remember("@bob is here", "fast")[1]
        renamed = registry(lambda tx: entity_linking.rename(tx, bob, "  Bob  Smith "))
        assert (renamed.id, renamed.name, renamed.aliases) == (bob.id, "Bob Smith", ("@bob", "bob"))
        registry.remember("@bob left", "fast")
        assert registry.all() == [("Bob Smith", "person", 2)]

    def test_another_case_is_no_other_name(self, registry):
        (ivan,) = registry.mention("x", "иван")[1]
        renamed = registry(lambda tx: entity_linking.rename(tx, ivan, "Иван"))
        assert (renamed.name, renamed.aliases) == ("Иван", ())

    def test_a_type_may_change_with_it(self, registry):
        (apollo,) = registry.mention("x", "Apollo")[1]
        assert (
            registry(lambda tx: entity_linking.rename(tx, apollo, "Apollo", "project")).type
            == "project"
        )
        registry.hf.undo(registry.run)
        assert registry.all() == [("Apollo", "person", 1)]

    def test_aliases_that_came_meanwhile_are_kept(self, registry):
        (bob,) = registry.mention("x", "bob")[1]
        registry.remember("@bob", "fast")
        assert registry(lambda tx: entity_linking.rename(tx, bob, "Rob")).aliases == (
            "@bob",
            "bob",
        )

    @pytest.mark.parametrize("name", ["", " ", "x" * 201])
    def test_a_name_must_be_one(self, registry, name):
        (bob,) = registry.mention("x", "bob")[1]
        with pytest.raises(Exception, match=r"name|limit"):
            registry(lambda tx: entity_linking.rename(tx, bob, name))
        assert registry.all() == [("bob", "person", 1)]

    def test_unknown_types_and_names_of_others_are_refused(self, registry):
        (bob,) = registry.mention("x", "bob")[1]
        registry.mention("y", "Rob")
        with pytest.raises(InvalidInput):
            registry(lambda tx: entity_linking.rename(tx, bob, "Bob", "date"))
        with pytest.raises(Conflict, match="Merge"):
            registry(lambda tx: entity_linking.rename(tx, bob, "ROB"))
        assert (
            registry(lambda tx: entity_linking.rename(tx, bob, "ROB", "project")).type == "project"
        )
