"""Requests made up from the schema: whatever somebody sends, the server answers as the schema says
and never breaks.
"""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from live_server import serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 8  # for each of the routes


@pytest.fixture
def schema(hf, tmp_path):
    hf.remember("Prefers green tea to coffee with @bob")
    hf.remember("Be brief", kind="rule")
    hf.reviews.propose("Has a cat")
    with serving(hf, tmp_path / "keys.jsonl") as live:
        yield schemathesis.openapi.from_url(live.url + "openapi.json")


# Hypothesis looks whether `random` moved while it drew an example; here a thread of the server may
# have moved it.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
def test_no_request_breaks_the_server_and_every_answer_is_as_the_schema_says(schema):
    routes = [route.ok() for route in schema.get_all_operations()]
    assert len(routes) > 30
    for route in routes:

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=route.as_strategy())
        def answers(case):
            case.call_and_validate(checks=CHECKS)

        answers()
