"""What a schema cannot say about valid requests.

Some values are right or wrong by the server's state, not by their form. A request that is generated as a valid one is given
right ones here, so that its refusal stays a failure; requests that are generated as invalid ones are sent as they are.
"""

import datetime
import functools
import json
import os
import time
import uuid
from urllib.parse import quote

import requests
import schemathesis
from schemathesis.generation import GenerationMode

KEY = os.environ["CONTRACT_KEY"]
LIVE_KEY = os.environ["CONTRACT_KEPT"].split()[0]


def bearer(key):
    return f"Bearer {key}"


def ask(path, query=None, method="GET", key=KEY, **how):
    """The answer of the service to a request of our own."""
    url, headers = f"{os.environ['CONTRACT_URL']}{path}", {"Authorization": bearer(key)}
    return requests.request(method, url, params=query, headers=headers, timeout=30, **how)


def a_job():
    """The id of a job that has run: the paths of jobs lead to one."""
    emails = ["valid@sandbox.test", "nonexistent@sandbox.test", "inbox_full@sandbox.test"]
    job = ask("/v1/batch-verify", method="POST", json={"emails": emails}).json()["id"]
    for _ in range(600):
        if ask(f"/v1/batch-verify/{job}/status").json().get("processed"):
            return job
        time.sleep(0.1)
    raise AssertionError("the job does not end")


def a_webhook():
    """A webhook and a message to it: the paths of webhooks lead to them. They are made again when a test has deleted them."""
    wish = {"name": "Contract", "url": "https://www.example.com/probity", "events": ["job.finished"]}
    made = ask("/v1/webhooks", method="POST", json=wish)
    if made.status_code == 409:
        for row in ask("/v1/webhooks", {"per_page": 100}).json()["data"]:
            ask(f"/v1/webhooks/{row['id']}", method="DELETE")
        made = ask("/v1/webhooks", method="POST", json=wish)
    webhook = made.json()["id"]
    return webhook, ask(f"/v1/webhooks/{webhook}/test", method="POST").json()["id"]


def of_webhooks(case, place):
    """Gives a call about a webhook one that exists and is active: what others delete or disable is answered 404 or 409."""
    if case.operation.path.startswith("/v1/webhooks/{id}"):
        place["id"], delivery = a_webhook()
        if "delivery_id" in place:
            place["delivery_id"] = delivery
    if case.operation.path.startswith("/v1/webhooks") and isinstance(case.body, dict) and "url" in case.body:
        # Must be a web address that is not of this machine or a private network (400); a pattern cannot say so.
        case.body["url"] = "https://www.example.com/probity"


# The platform of platform/example.toml, and credentials that it accepts.
CONNECTIONS = "/v1/integrations/example/connections"
CREDENTIALS = {"url": os.environ["PLATFORM_URL"], "api_key": "key-of-the-account"}
# An organization can have 100 connections.
ROOM = 90


def connections(key):
    return [row["id"] for row in ask("/v1/integrations/example", key=key).json()["connections"]]


def a_connection(key):
    """A connection of the key's sort, and a rule on each of its lists: the paths of connections lead to them."""
    own = connections(key)
    connection = own[0] if own else ask(CONNECTIONS, method="POST", key=key, json={"credentials": CREDENTIALS}).json()["id"]
    rule = {"rules": [{"keyword": "example.org"}]}
    kinds = ("blacklist", "whitelist")
    added = {kind: ask(f"{CONNECTIONS}/{connection}/{kind}", method="POST", key=key, json=rule) for kind in kinds}
    return connection, {kind: answer.json()["data"][0]["id"] for kind, answer in added.items()}


# Runs that are started for calls about them, at most; each takes a second.
runs_left = 12


def a_run(connection):
    """A run of the connection, with what it would do. It waits for confirmation, unless others confirmed the last one of all."""
    global runs_left
    path, said = f"{CONNECTIONS}/{connection}", None
    for _ in range(600):
        newest = ask(f"{path}/runs", {"per_page": 1}).json()["data"]
        state = newest[0]["state"] if newest else None
        if state == "needs_confirmation" or (newest and runs_left <= 0):
            return newest[0]
        if state in (None, "finished", "failed", "cancelled"):
            runs_left -= 1
            ask(path, method="PATCH", json={"action": "unsubscribe", "aggressiveness": "normal", "lists": []})
            said = ask(f"{path}/runs", method="POST", json={"dry_run": True}).text
        time.sleep(0.1)
    raise AssertionError(f"the run does not end: {newest}, {said}")


def of_runs(case, place, body):
    """Gives a call about a run one that waits, the number of its actions, and one of its rows."""
    if "run_id" in place or "decisions" in body:
        run = a_run(place["id"])
        if "run_id" in place:
            place["run_id"] = run["id"]
        if "actions" in body:
            body["actions"] = run["actions"]["planned"] or 1
        if "decisions" in body:
            # Each decision is about another action (400).
            body["decisions"] = [{**body["decisions"][0], "run_id": run["id"], "index": 1}]


def of_connections(case, place):
    """Gives a call about connections a platform that answers, and a connection that works."""
    if not case.operation.path.startswith("/v1/integrations/{type}"):
        return
    place["type"] = "example"
    if "id" in place:
        place["id"], rules = a_connection(KEY)
        if "rule_id" in place:
            place["rule_id"] = rules[place["kind"]]
    body = case.body if isinstance(case.body, dict) else {}
    of_runs(case, place, body)
    if "credentials" in body:
        # Whether credentials are right, the platform says (400, 503).
        body["credentials"] = CREDENTIALS
    if case.operation.path.endswith("/connections"):
        own = connections(KEY)
        for connection in own if len(own) >= ROOM else []:
            ask(f"{CONNECTIONS}/{connection}", method="DELETE")
    if body.get("action") not in (None, "unsubscribe", "update_tags", "do_nothing"):
        # Each platform has actions of its own (400).
        body["action"] = "unsubscribe"
    if body.get("fix_typos"):
        body["fix_typos"] = False
    if "tag" in body:
        # Braces belong to placeholders (400).
        body["tag"] = body["tag"].replace("{", "(").replace("}", ")")
    for rule in body.get("rules", []):
        if "applies_to" in rule and not any(rule["applies_to"].values()):
            # A rule looks at one part at least (400).
            rule["applies_to"]["domain"] = True


JOB = a_job()
ROW = ask(f"/v1/batch-verify/{JOB}/download", {"format": "ndjson"}).text.splitlines()[0]


@schemathesis.deserializer("application/x-ndjson")
def ndjson(context, response):
    """The schema is that of a line. All are read and the last is judged; where a filter leaves none, one of before."""
    rows = [json.loads(line) for line in response.content.decode("utf-8").splitlines()]
    return rows[-1] if rows else json.loads(ROW)


def a_member():
    """The id of a member who was made for a request: it may be their end. The owner cannot be removed."""
    invite = {"email": f"{uuid.uuid4()}@example.com", "role": "contributor"}
    return ask("/v1/users", method="POST", key=LIVE_KEY, json=invite).json()["id"]


def a_key():
    """The id of a key that was made for a request: it may be its end. A test key makes test keys, and revokes no others."""
    wish = {"name": "Contract", "kind": "live" if KEY == LIVE_KEY else "test"}
    return ask("/v1/api-keys", method="POST", json=wish).json()["id"]


def a_source():
    """The id of a sending service's URL that was made for a request: it may be its end. An organization can have 20, and several workers make them."""
    kept = ask("/v1/outcome-sources").json()["data"]
    for row in kept if len(kept) >= 8 else []:
        ask(f"/v1/outcome-sources/{row['id']}", method="DELETE")
    return ask("/v1/outcome-sources", method="POST", json={"name": "Contract", "service": "postmark"}).json()["id"]


def of_outcomes(case, place, body):
    """Gives a call about outcomes a source that exists, keys for the services that have them, and no more events than a body holds."""
    if "id" in place:
        place["id"] = a_source()
    elif case.operation.path == "/v1/outcome-sources" and "service" in body:
        a_source()
        # Which service signs, and with what key, a schema does not say (400).
        body["service"] = "postmark"
        body.pop("signing_key", None)
    elif isinstance(body.get("outcomes"), list):
        body["outcomes"] = body["outcomes"][:1_000]
        for outcome in body["outcomes"]:
            if isinstance(outcome.get("at"), str):
                # Nothing has happened in the future (400). 1996 is a leap year, so every day has its like.
                outcome["at"] = "1996" + outcome["at"][4:]


# An erasure of an address that no list has.
ERASURE = ask("/v1/erasures", method="POST", json={"emails": ["erased@example.com"]}).json()["id"]


@functools.cache
def cursor(path, query):
    """Where a list goes on. A cursor is sealed and belongs to its list, so none can be made up (docs/api.md, "Pagination")."""
    answer = ask(path, {**dict(query), "per_page": 1})
    body = answer.json() if answer.ok else {}
    return body.get("next") or body.get("pagination", {}).get("next_cursor")


def kept_ids():
    """The ids of the keys that the tests are made with: the script names the keys."""
    kept, cursor = {}, ""
    while cursor is not None:
        page = ask("/v1/api-keys", {"per_page": 100, "next": cursor}).json()
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
    """The head of a request has at most 64 KiB (crates/http/src/edge/listen.rs). A longer one is answered 431 before there is a
    request that an operation could answer; crates/http/tests/it/limits.rs tests that."""
    return query is None or sum(len(quote(str(value), errors="replace")) for value in query.values()) < 60_000


def go_on(case):
    """Gives a list's parameters a cursor of that list; a list that ends with its first page has none."""
    filters = {name: value for name, value in case.query.items() if name not in ("next", "cursor", "per_page")}
    place = cursor(case.formatted_path, tuple(sorted((name, str(value)) for name, value in filters.items())))
    for name in ("next", "cursor"):
        if case.query.get(name):
            case.query[name] = place or ""


@schemathesis.hook
def before_call(context, case, kwargs):
    place = case.path_parameters or {}
    if place.get("id") in KEPT_IDS:
        # Ids are taken from answers too. The tests would revoke their own keys, and all that follows would be 401.
        place["id"] = "key_00000000000000000000000000"
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    of_webhooks(case, place)
    of_connections(case, place)
    if case.operation.path.startswith("/v1/outcome"):
        of_outcomes(case, place, case.body if isinstance(case.body, dict) else {})
    if case.operation.path == "/v1/users/{id}":
        place["id"] = a_member()
    elif case.operation.path == "/v1/api-keys/{id}":
        place["id"] = a_key()
    elif case.operation.path == "/v1/erasures/{id}":
        place["id"] = ERASURE
    elif "id" in place and "key" not in case.operation.path and "webhooks" not in case.operation.path and "integrations" not in case.operation.path and "outcome" not in case.operation.path and not str(place["id"]).startswith("job_"):
        place["id"] = JOB
    if case.query and (case.query.get("next") or case.query.get("cursor")):
        go_on(case)
    if case.headers and "Idempotency-Key" in case.headers:
        # One key with two bodies is a 422 (specification, section 8).
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if isinstance(case.body, dict) and isinstance(case.body.get("expires_at"), str):
        # A key cannot end before it begins (400). 2096 is a leap year, so every day has its like.
        case.body["expires_at"] = "2096" + case.body["expires_at"][4:]
    if case.operation.path.startswith("/v1/users") and case.method != "GET":
        # A test key does not change the team (403); where it would, the live key stands in.
        if case.headers and case.headers.get("Authorization") == bearer(KEY):
            case.headers["Authorization"] = bearer(LIVE_KEY)
    if case.operation.path == "/v1/users" and isinstance(case.body, dict):
        # What an address of mail is, its format does not say (400); and a team has each only once.
        case.body["email"] = f"{uuid.uuid4()}@example.com"
    if case.operation.path == "/v1/organization/settings" and isinstance(case.body, dict):
        if isinstance(case.body.get("rate_limit_per_minute"), (int, float)):
            # No higher than what the operator allows (400), and no lower than what these tests need.
            case.body["rate_limit_per_minute"] = 50_000_000
        if isinstance(case.body.get("time_zone"), str):
            # Which names the IANA database has, a pattern cannot say (400).
            case.body["time_zone"] = "Europe/Berlin"
        if isinstance(case.body.get("delivery_retention_days"), (int, float)):
            # No longer than the installation keeps deliveries (400).
            case.body["delivery_retention_days"] = 30
    if case.operation.path.startswith("/v1/organization/suppressions") and case.method == "DELETE":
        # Either addresses or all of them (400 otherwise); a schema cannot say so across a query and a body.
        case.query = {} if isinstance(case.body, dict) else {"all": "true"}
    if case.operation.path == "/v1/reports/usage" and case.query and case.query.get("period") == "lifetime":
        # One connection's use is not kept for ever, so the two parameters exclude each other (400).
        case.query.pop("connection_id", None)
    if case.operation.path == "/v1/reports/usage/breakdown" and case.query and case.query.get("from"):
        # A period has its days in order, and at most 366 of them (400).
        case.query.pop("to", None)
        case.query["from"] = str(datetime.date.today() - datetime.timedelta(days=len(str(case.query["from"]))))
    if case.operation.path == "/v1/erasures" and isinstance(case.body, dict) and isinstance(case.body.get("emails"), list):
        # Lengths are counted in bytes (400), and other lists shall keep their addresses.
        case.body["emails"] = [f"{len(email)}@erased.example.com" for email in case.body["emails"]]
    if case.query and case.query.get("domain"):
        # Which text is a domain, IDNA says and a schema cannot (400).
        case.query["domain"] = "sandbox.test"
    for fields in (case.query, case.body):
        if isinstance(fields, dict) and fields.get("webhook_url"):
            # Must be a web address that is not of this machine or a private network (400); a pattern cannot say so.
            fields["webhook_url"] = "https://www.example.com/finished"
