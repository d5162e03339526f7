"""Names that people know from other memory libraries, and what they are called here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .errors import meant

_REMEMBER_OR_CAPTURE = "`remember` for a statement, `capture` for a turn of a conversation"
_REMEMBER = "`remember`"
_REMEMBER_MANY = "`remember_many`"
_CAPTURE = "`capture`"
_RECALL = "`recall`"
_CONTEXT = "`context`"
_FORGET = "`forget`, which `undo` reverses; `admin.purge` erases permanently"
_CORRECT = "`correct`"
_LIST = "`list`"
_STATS = "`stats`"
_UNDO = "`undo` with the run of the undo"
_CALLED: Mapping[str, str] = {
    "add": _REMEMBER_OR_CAPTURE,
    "store": _REMEMBER_OR_CAPTURE,
    "save": _REMEMBER_OR_CAPTURE,
    "put": _REMEMBER_OR_CAPTURE,
    "insert": _REMEMBER_OR_CAPTURE,
    "upsert": _REMEMBER_OR_CAPTURE,
    "create": _REMEMBER_OR_CAPTURE,
    "set": _REMEMBER_OR_CAPTURE,
    "aput": _REMEMBER_OR_CAPTURE,
    "add_memory": _REMEMBER,
    "save_memory": _REMEMBER,
    "memorize": _REMEMBER,
    "memorise": _REMEMBER,
    "add_many": _REMEMBER_MANY,
    "add_texts": _REMEMBER_MANY,
    "add_documents": _REMEMBER_MANY,
    "batch": _REMEMBER_MANY,
    "add_message": _CAPTURE,
    "add_messages": _CAPTURE,
    "save_context": _CAPTURE,
    "search": _RECALL,
    "query": _RECALL,
    "find": _RECALL,
    "retrieve": _RECALL,
    "similarity_search": _RECALL,
    "asearch": _RECALL,
    "load_memory_variables": _CONTEXT,
    "get_context": _CONTEXT,
    "delete": _FORGET,
    "remove": _FORGET,
    "delete_memory": _FORGET,
    "adelete": _FORGET,
    "delete_all": _FORGET,
    "clear": _FORGET,
    "reset": _FORGET,
    "update": _CORRECT,
    "edit": _CORRECT,
    "modify": _CORRECT,
    "get_all": _LIST,
    "all": _LIST,
    "list_all": _LIST,
    "fetch_all": _LIST,
    "items": _LIST,
    "count": _STATS,
    "size": _STATS,
    "redo": _UNDO,
}
# What others call the content of a memory.
_TEXT = (
    "text",
    "memory",
    "data",
    "page_content",
    "value",
    "body",
    "document",
)
_NAMESPACES = (
    "sessions",
    "records",
    "entities",
    "reviews",
    "projects",
    "admin",
)


def no_such_method(owner: object, name: str) -> AttributeError:
    """Return the error for an unknown attribute of a client, with the name that was meant."""
    said = f"{type(owner).__name__!r} object has no attribute {name!r}."
    return AttributeError(f"{said}{_advice(owner, name)}", name=name, obj=owner)


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


def _advice(client: object, name: str) -> str:
    # A client that is not complete yet may lack a namespace.
    if name.startswith("_") or name in _NAMESPACES:
        return ""
    if called := _CALLED.get(name):
        return f" In Holdfast it is {called}."
    for space in _NAMESPACES:
        if hasattr(getattr(client, space, None), name):
            return f" It is `{space}.{name}`."
    public = [known for known in dir(type(client)) if not known.startswith("_")]
    return meant(name, public)
