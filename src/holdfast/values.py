"""Dataclasses for the types that every command loads, without the start-up cost of the standard
ones.

The standard library generates code for each class; with it, `holdfast recall` took 8 % more
processor time (447 ms instead of 411 ms, median of 25 interleaved runs). No code is generated for
the classes made here. They are dataclasses to everyone else: `asdict`, `is_dataclass` and the like
work on them, and type checkers see the standard library's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

_MISSING: Any = object()


class Field(NamedTuple):
    """A declared field of a class."""

    name: str = ""
    default: Any = _MISSING
    default_factory: Callable[[], Any] = _MISSING
    metadata: Mapping[str, Any] = {}


def _field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] = _MISSING,
    metadata: Mapping[str, Any] | None = None,
) -> Any:
    return Field("", default, default_factory, metadata or {})


def _fields(value: Any) -> tuple[Field, ...]:
    return tuple(value.__values__.fields.values())


def _asdict(value: Any) -> Any:
    """Convert a value to dictionaries, recursively through our dataclasses and containers."""
    if hasattr(type(value), "__values__"):
        return {name: _asdict(getattr(value, name)) for name in value.__match_args__}
    if isinstance(value, dict):
        return {key: _asdict(one) for key, one in value.items()}
    return type(value)(map(_asdict, value)) if type(value) in (list, tuple) else value


def _replace(value: Any, /, **changes: Any) -> Any:
    return type(value)(**{name: getattr(value, name) for name in value.__match_args__} | changes)


def _dataclass(cls: type | None = None, *, frozen: bool = False) -> Any:
    if cls is None:
        return partial(_dataclass, frozen=frozen)
    fields = {name: _written(cls, name) for name in cls.__annotations__}
    for name, one in fields.items():
        if one.default is not _MISSING:
            setattr(cls, name, one.default)
        elif one.default_factory is not _MISSING:
            # Left in place, the `Field` object itself would be the value of a missing attribute.
            delattr(cls, name)
    made = {"__values__": _Made(cls, fields), "__match_args__": tuple(fields)}
    asked = {"__dataclass_fields__": _Fields(), "__signature__": _Signature()}
    for name, method in (
        made | asked | _METHODS | (_FROZEN if frozen else {"__hash__": None})
    ).items():
        if (
            cls.__dict__.get(name) is None
        ):  # what the class says itself stays; one that says `==` has no hash till now
            setattr(cls, name, method)
    return cls


def _written(cls: type, name: str) -> Field:
    default = cls.__dict__.get(name, _MISSING)
    return default._replace(name=name) if isinstance(default, Field) else Field(name, default)


class _Made:
    """Precomputed facts about a class that its methods need."""

    def __init__(self, cls: type, fields: Mapping[str, Field]) -> None:
        self.fields = fields
        self.known = frozenset(fields)
        self.checked = hasattr(cls, "__post_init__")
        # All names, so that they keep their order.
        self.defaults = {name: one.default for name, one in fields.items()}
        self.factories = {
            name: one.default_factory
            for name, one in fields.items()
            if one.default_factory is not _MISSING
        }
        self.needed = frozenset(
            name
            for name, one in fields.items()
            if one.default is _MISSING and name not in self.factories
        )


class _Fields:
    """Lazy `__dataclass_fields__`: built when `dataclasses` first asks for it."""

    def __get__(self, instance: Any, owner: type) -> Any:
        home: Any = next(base for base in owner.__mro__ if "__values__" in vars(base))
        twin = _twin(home)
        home.__dataclass_params__, home.__dataclass_fields__ = (
            twin.__dataclass_params__,
            twin.__dataclass_fields__,
        )
        return twin.__dataclass_fields__


class _Signature:
    """Lazy `__signature__`, for `inspect` and `help`."""

    def __get__(self, instance: Any, owner: type) -> Any:
        if "__values__" not in vars(owner):
            # One that is made of ours may take something else.
            raise AttributeError("__signature__")
        # As below.
        from inspect import signature  # noqa: PLC0415

        return signature(_twin(owner))


def _twin(cls: type) -> Any:
    """Return the same class as a standard dataclass, without its methods."""
    # That is the whole point.
    import dataclasses  # noqa: PLC0415

    said: dict[str, Any] = {"__annotations__": cls.__annotations__}
    for one in _fields(cls):
        given = {"default": one.default, "default_factory": one.default_factory}
        said[one.name] = dataclasses.field(
            **{key: value for key, value in given.items() if value is not _MISSING},
            metadata=one.metadata,
        )
    return dataclasses.dataclass(frozen="__setattr__" in vars(cls))(type(cls.__name__, (), said))


def _init(
    self: Any,
    /,
    *values: Any,
    **named: Any,
) -> None:
    made: _Made = self.__values__
    given = dict(zip(made.fields, values, strict=False))
    if not named and len(values) == len(made.fields):
        # The usual case, made short.
        object.__setattr__(self, "__dict__", given)
        if made.checked:
            self.__post_init__()
        return
    given |= named
    if len(given) != len(values) + len(named) or not made.needed <= given.keys() <= made.known:
        raise TypeError(
            f"{type(self).__name__} takes ({', '.join(made.fields)}), each once, and needs "
            f"({', '.join(name for name in made.fields if name in made.needed)}). It was given "
            f"{len(values)} without "
            f"a name, and ({', '.join(named)})."
        )
    whole = given
    if named or len(given) < len(made.fields):
        whole = made.defaults | given
        for name, factory in made.factories.items():
            if name not in given:
                whole[name] = factory()
    # One assignment instead of one per field; it also bypasses `__setattr__` of frozen classes.
    object.__setattr__(self, "__dict__", whole)
    if made.checked:
        self.__post_init__()


def _values(value: Any) -> tuple[Any, ...]:
    return tuple([getattr(value, name) for name in value.__match_args__])


def _repr(self: Any) -> str:
    told = (
        f"{name}={value!r}" for name, value in zip(self.__match_args__, _values(self), strict=True)
    )
    return f"{type(self).__qualname__}({', '.join(told)})"


def _equals(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


# One for setting and deleting.
def _refuse(self: Any, name: str, value: Any = None) -> None:  # noqa: ARG001
    # Who never errs does without.
    from dataclasses import FrozenInstanceError  # noqa: PLC0415

    raise FrozenInstanceError(
        f"{type(self).__name__}.{name} cannot be changed. `replace` makes a changed copy."
    )


_METHODS = {"__init__": _init, "__repr__": _repr, "__eq__": _equals, "__replace__": _replace}
_FROZEN = {"__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse}

if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    asdict = _asdict
    dataclass = _dataclass
    field = _field
    fields = _fields
    replace = _replace
