"""What a schema cannot say about valid requests.

Three values are right or wrong by the server's state, not by their form. A request that is generated as a valid one is given
right ones here, so that its refusal stays a failure; requests that are generated as invalid ones are sent as they are.
"""

import os
import uuid

import requests
import schemathesis
from schemathesis.generation import GenerationMode


def a_cursor() -> str:
    """Where the list of keys goes on: a cursor is sealed, so none can be made up (docs/api.md, "Lists")."""
    answer = requests.get(
        f"{os.environ['CONTRACT_URL']}/v1/api-keys?per_page=1",
        headers={"Authorization": f"Bearer {os.environ['CONTRACT_KEY']}"},
        timeout=30,
    )
    answer.raise_for_status()
    return answer.json()["pagination"]["next_cursor"]


CURSOR = a_cursor()
assert CURSOR, "the list of keys must have a second page"

@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    for name in ("next", "cursor"):
        if case.query and case.query.get(name):
            case.query[name] = CURSOR
    if case.headers and "Idempotency-Key" in case.headers:
        # One key with two bodies is a 422 (specification, section 8).
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if isinstance(case.body, dict) and isinstance(case.body.get("expires_at"), str):
        # A key cannot end before it begins (400). 2096 is a leap year, so every day has its like.
        case.body["expires_at"] = "2096" + case.body["expires_at"][4:]
