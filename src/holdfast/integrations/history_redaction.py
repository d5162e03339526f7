"""Redaction of secrets in the messages of other frameworks, which are nested JSON.

Only conversation text is changed: ids, signatures and pictures look like secrets but are not.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from ..errors import InvalidInput
from ..ingest.sanitize import guard_data, without_secrets

# Keys whose text is JSON more often than not.
_IN_JSON = ("arguments", "output", "result")


def redact(
    item: Mapping[str, Any], texts: Collection[str], actions: Collection[str] = ()
) -> dict[str, Any]:
    """Return a message with the secrets under the keys `texts` redacted, at any depth.

    Under the keys `actions`, such as an action on a machine, every value is text.
    """

    def value_of(key: str, value: Any) -> Any:
        if key in actions:
            return guard_data(value, name=key)
        return text_of(key, value) if key in texts else value

    def text_of(key: str, value: Any) -> Any:
        match value:
            case str():
                return _redact_json(value) if key in _IN_JSON else without_secrets(value)
            case Mapping() if key == "arguments":
                return guard_data(value, name=key)
            case list():
                return [text_of(key, one) for one in value]
            case Mapping():
                return {name: value_of(name, one) for name, one in value.items()}
        return value

    return {key: value_of(key, value) for key, value in item.items()}


def _redact_json(text: str) -> str:
    """Redact a text that may be JSON; in JSON each value is judged with its name."""
    try:
        value = json.loads(text)
        guarded = guard_data(value, name="arguments")
    except (ValueError, InvalidInput, RecursionError):
        return without_secrets(text)
    # Unchanged JSON keeps its original formatting.
    return without_secrets(text) if guarded == value else json.dumps(guarded, ensure_ascii=False)
