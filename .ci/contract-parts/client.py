"""Calls the service with a client that openapi-python-client has made from the document, as a customer's program would.

usage: client.py URL LIVE_KEY      (the generated package `probity_client` on PYTHONPATH)
"""

import sys
from http import HTTPStatus

from probity_client import AuthenticatedClient
from probity_client.api.account import check_key, create_api_key, delete_api_key, get_organization, list_api_keys
from probity_client.api.verification import verify_email
from probity_client.models import CreateRestrictedKey, CreateRestrictedKeyKind, CreateRestrictedKeyScopesItem, Error, Reason, Status

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)


def expect(answer, status):
    assert answer.status_code == status, (answer.status_code, answer.content)
    return answer.parsed


verdict = expect(verify_email.sync_detailed(client=client, email="valid+delay-0s@sandbox.test", timeout=5), HTTPStatus.OK)
assert (verdict.email, verdict.status, verdict.reason) == ("valid+delay-0s@sandbox.test", Status.PASSED, Reason.VALID), verdict

verdict = verify_email.sync(client=client, email="nonexistent@sandbox.test", explain=True, timeout="5")
assert verdict.reason is Reason.NONEXISTENT and verdict.evidence.probe.code == 550, verdict

refusal = expect(verify_email.sync_detailed(client=client, email=""), HTTPStatus.BAD_REQUEST)
assert isinstance(refusal, Error) and refusal.error.code == "invalid_request" and refusal.error.request_id, refusal

checked = expect(check_key.sync_detailed(client=client), HTTPStatus.OK)
assert checked.organization == get_organization.sync(client=client).name, checked

wish = CreateRestrictedKey(name="Generated", kind=CreateRestrictedKeyKind.RK, scopes=[CreateRestrictedKeyScopesItem.VERIFY])
made = expect(create_api_key.sync_detailed(client=client, body=wish, idempotency_key="generated-1"), HTTPStatus.CREATED)
again = expect(create_api_key.sync_detailed(client=client, body=wish, idempotency_key="generated-1"), HTTPStatus.CREATED)
assert made.secret == again.secret, "a repeated request is answered from the first answer"

restricted = AuthenticatedClient(base_url=url, token=made.secret)
assert verify_email.sync(client=restricted, email="valid@sandbox.test").passed
assert expect(list_api_keys.sync_detailed(client=restricted), HTTPStatus.FORBIDDEN).error.code == "forbidden_scope"

seen, cursor = [], None
while cursor is not False:
    page = list_api_keys.sync(client=client, per_page=1, **({"next_": cursor} if cursor else {}))
    seen += [row.id for row in page.data]
    cursor = page.pagination.next_cursor if page.pagination.has_more else False
assert made.id in seen and len(seen) == len(set(seen)) >= 3, seen

assert expect(delete_api_key.sync_detailed(made.id, client=client), HTTPStatus.OK).deleted
refusal = expect(verify_email.sync_detailed(client=restricted, email="valid@sandbox.test"), HTTPStatus.UNAUTHORIZED)
assert refusal.error.code == "invalid_api_key", refusal
print(f"generated client: {len(seen)} keys listed, all calls as described")
