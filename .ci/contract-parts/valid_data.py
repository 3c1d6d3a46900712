"""What a schema cannot say about valid requests.

Some values are right or wrong by the server's state, not by their form. A request that is generated as a valid one is given
right ones here, so that its refusal stays a failure; requests that are generated as invalid ones are sent as they are.
"""

import os
import uuid
from urllib.parse import quote

import requests
import schemathesis
from schemathesis.generation import GenerationMode

KEY = os.environ["CONTRACT_KEY"]


def keys(query=""):
    """A page of the list of keys, newest first."""
    url = f"{os.environ['CONTRACT_URL']}/v1/api-keys{query}"
    answer = requests.get(url, headers={"Authorization": f"Bearer {KEY}"}, timeout=30)
    answer.raise_for_status()
    return answer.json()


# A cursor is sealed: none can be made up (docs/api.md, "Lists").
CURSOR = keys("?per_page=1")["pagination"]["next_cursor"]
assert CURSOR, "the list of keys must have a second page"


def kept_ids():
    """The ids of the keys that the tests are made with: the script names the keys."""
    kept, cursor = {}, ""
    while cursor is not None:
        page = keys(f"?per_page=100&next={cursor}")
        for row in page["data"]:
            for key in os.environ["CONTRACT_KEPT"].split():
                if row["last4"] == key[-4:] and key.startswith(row["prefix"]):
                    kept[key] = row["id"]
        cursor = page["pagination"]["next_cursor"]
    assert len(kept) == len(os.environ["CONTRACT_KEPT"].split()), "a key is missing in the list of keys"
    return set(kept.values())


KEPT_IDS = kept_ids()


@schemathesis.hook
def filter_query(context, query):
    """The head of a request has at most 16 KiB (crates/server/src/listen.rs). A longer one is answered 431 before there is a
    request that an operation could answer; crates/server/tests/it/limits.rs tests that."""
    return query is None or sum(len(quote(str(value), errors="replace")) for value in query.values()) < 12_000


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path_parameters and case.path_parameters.get("id") in KEPT_IDS:
        # Ids are taken from answers too. The tests would revoke their own keys, and all that follows would be 401.
        case.path_parameters["id"] = "key_00000000000000000000000000"
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
    for place in (case.query, case.body):
        if isinstance(place, dict) and place.get("webhook_url"):
            # Must be a web address that is not of this machine or a private network (400); a pattern cannot say so.
            place["webhook_url"] = "https://www.example.com/finished"
