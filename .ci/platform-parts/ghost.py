"""Makes a new Ghost usable: an owner, an integration with an Admin API key, and members.

usage: ghost.py URL FILE     (what was made is written to FILE)
"""

import csv
import http.cookiejar
import io
import json
import os
import secrets
import sys
import urllib.request

import contacts

# More in one file are imported in the background, and nobody knows when that is done.
IMPORT_MAX = 500
COLUMNS = ["email", "name", "labels", "subscribed_to_emails", "created_at"]


class Admin:
    """A session of the owner."""

    def __init__(self, url):
        self.url = url
        jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

    def post(self, path, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Origin": self.url, "Content-Type": kind}
        request = urllib.request.Request(f"{self.url}/ghost/api/admin{path}", data=data, headers=headers)
        try:
            with self.opener.open(request, timeout=120) as response:
                answer = response.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"POST {path}: {error.code} {error.read().decode()}") from error
        return json.loads(answer) if answer.startswith(b"{") else None

    def set_up(self):
        owner = {"email": "owner@acme-widgets.com", "password": secrets.token_urlsafe(18)}
        setup = {"name": "Owner", "blogTitle": "News", **owner}
        self.post("/authentication/setup/", {"setup": [setup]})
        self.post("/session/", {"username": owner["email"], "password": owner["password"]})
        made = self.post("/integrations/?include=api_keys", {"integrations": [{"name": "Probity"}]})
        keys = made["integrations"][0]["api_keys"]
        return {"owner": owner, "admin_api_key": next(key["secret"] for key in keys if key["type"] == "admin")}

    def import_members(self, rows):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
        answer = self.post("/members/upload/", *form(text.getvalue()))
        stats = answer["meta"]["stats"]
        if stats["imported"] != len(rows):
            raise SystemExit(f"of {len(rows)} members {stats['imported']} were imported: {stats['invalid']}")


def form(text):
    """Returns a multipart form with the file and what its columns are."""
    boundary = secrets.token_hex(16)
    parts = [('name="membersfile"; filename="members.csv"\r\nContent-Type: text/csv', text)]
    parts += [(f'name="mapping[{column}]"', column) for column in COLUMNS]
    lines = [f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n" for head, body in parts]
    body = "".join(lines) + f"--{boundary}--\r\n"
    return body.encode(), f"multipart/form-data; boundary={boundary}"


def row(number, email):
    # Ten members each have the same date, as imports make it: no page may lose one of them.
    created = f"2020-01-{1 + number // 500:02}T{number // 60 % 24:02}:{number // 10 * 10 % 60:02}:00.000Z"
    return [email, f"Member {number}", "reader", "true", created]


def main():
    url, file = sys.argv[1:]
    admin = Admin(url)
    account = admin.set_up()
    rows = [row(number, email) for number, email in enumerate(contacts.of_ghost())]
    for start in range(0, len(rows), IMPORT_MAX):
        admin.import_members(rows[start : start + IMPORT_MAX])
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(account, out)


main()
