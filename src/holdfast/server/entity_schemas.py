"""Schemas of entities: profiles, who is mentioned with whom, and corrections of them."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from .. import types
from .schemas import Name, Record, Request, Run


class Who(BaseModel):
    """A person, project, place or other thing that memories mention."""

    id: str
    name: str = Field(examples=["Lisbon"])
    type: str = Field(examples=["location"])
    aliases: list[str]
    summary: str
    mentions: int

    @classmethod
    def of(cls, entity: types.Entity, **more: Any) -> Self:
        """Build the schema from an entity."""
        fields = {name: getattr(entity, name) for name in Who.model_fields}
        return cls(**{**fields, "aliases": list(entity.aliases)}, **more)


class ChangedEntity(Who):
    """An entity after a change."""

    run: Run


class Mentioned(Who):
    """An entity that was mentioned lately."""

    lately: int = Field(description="Number of the latest 1,000 memories that mention it.")


class Waiting(BaseModel):
    """Memories in which names are still to be looked for; counts of mentions may grow by them."""

    count: int
    complete: bool = Field(
        description="False if only the latest 10,000 memories were looked at, so it is at least."
    )


class Profile(Who):
    """An entity with its current facts and the memories that mention it."""

    facts: list[Record] = Field(description="A short profile: lasting facts first.")
    memories: list[Record]
    waiting: Waiting


class EntityLink(BaseModel):
    """Two entities that memories mention together."""

    one: str
    other: str
    memories: int


class Graph(BaseModel):
    """Who is mentioned with whom."""

    entities: list[Who]
    links: list[EntityLink] = Field(description="Most often first.")
    complete: bool = Field(
        description="False if there are more memories than were read, so counts are at least."
    )
    waiting: Waiting


class DuplicatePair(BaseModel):
    """Two entities that may be the same."""

    keep: Who
    other: Who
    reason: str


class NewName(Request):
    """Another name of an entity, and optionally another type."""

    name: Name
    type: Name | None = None


class Merge(Request):
    """Entities to merge, by id or name."""

    others: list[Name] = Field(min_length=1, max_length=50)


class Split(Request):
    """Names that belong to another entity."""

    names: list[Name] = Field(min_length=1, max_length=50)
