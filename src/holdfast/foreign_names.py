"""Names that people know from other memory libraries, and what they are called here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .errors import meant

_CALLED: Mapping[str, str] = {
    **dict.fromkeys(
        ("add", "store", "save", "put", "insert", "upsert", "create", "set", "aput"),
        "`remember` for a statement, `capture` for a turn of a conversation",
    ),
    **dict.fromkeys(("add_memory", "save_memory", "memorize", "memorise"), "`remember`"),
    **dict.fromkeys(("add_many", "add_texts", "add_documents", "batch"), "`remember_many`"),
    **dict.fromkeys(("add_message", "add_messages", "save_context"), "`capture`"),
    **dict.fromkeys(
        ("search", "query", "find", "retrieve", "similarity_search", "asearch"), "`recall`"
    ),
    **dict.fromkeys(("load_memory_variables", "get_context"), "`context`"),
    **dict.fromkeys(
        ("delete", "remove", "delete_memory", "adelete", "delete_all", "clear", "reset"),
        "`forget`, which `undo` reverses; `admin.purge` erases permanently",
    ),
    **dict.fromkeys(("update", "edit", "modify"), "`correct`"),
    **dict.fromkeys(("get_all", "all", "list_all", "fetch_all", "items"), "`list`"),
    **dict.fromkeys(("count", "size"), "`stats`"),
    **dict.fromkeys(("redo",), "`undo` with the run of the undo"),
}
# What others call the content of a memory.
_TEXT = ("text", "memory", "data", "page_content", "value", "body", "document")
_NAMESPACES = ("sessions", "records", "entities", "reviews", "projects", "admin")


def no_such_method(owner: object, name: str) -> AttributeError:
    """Return the error for an unknown attribute of a client, with the name that was meant."""
    said = f"{type(owner).__name__!r} object has no attribute {name!r}."
    return AttributeError(f"{said}{_advice(type(owner), name)}", name=name, obj=owner)


def no_such_field(
    owner: object,
    name: str,
    known: Collection[str],
    *,
    within: str = "",
) -> AttributeError:
    """Return the error for an unknown field of a result; `known` are those of what is `within`."""
    home = name if name in known else "content" if name in _TEXT else ""
    advice = f". It is `{within}{home}`." if home else ""
    said = f"{type(owner).__name__!r} object has no attribute {name!r}{advice}"
    return AttributeError(said, name=name, obj=owner)


def _advice(client: type, name: str) -> str:
    if name.startswith("_"):
        return ""
    if called := _CALLED.get(name):
        return f" In Holdfast it is {called}."
    homes = [space for space in _NAMESPACES if name in _methods_of(space)]
    if homes:
        return f" It is `{homes[0]}.{name}`."
    return meant(name, [known for known in dir(client) if not known.startswith("_")])


def _methods_of(namespace: str) -> list[str]:
    # Only somebody who has mistyped a name pays for the import.
    from . import namespaces  # noqa: PLC0415

    return dir(getattr(getattr(namespaces, namespace), namespace.title()))
