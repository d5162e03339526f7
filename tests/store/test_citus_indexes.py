"""The tests of large scopes, on distributed tables."""

from __future__ import annotations

from test_citus import postgres_server, postgres_store_url, tables  # noqa: F401
from test_postgres import login  # noqa: F401
from test_postgres_indexes import *  # noqa: F403
