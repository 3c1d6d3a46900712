"""Fills a new Mailman with a list and its members, or gives it the database that it began with.

usage: mailman.py seed URL PASSWORD
       mailman.py restore SEED DATABASE
"""

import base64
import sqlite3
import sys
import urllib.parse
import urllib.request

import contacts


class Rest:
    def __init__(self, url, password):
        self.url = url
        self.authorization = "Basic " + base64.b64encode(f"rest:{password}".encode()).decode()

    def send(self, method, path, **form):
        data = urllib.parse.urlencode(form).encode()
        headers = {"Authorization": self.authorization}
        request = urllib.request.Request(f"{self.url}/3.1{path}", data=data, headers=headers, method=method)
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}") from error


def seed(url, password):
    rest = Rest(url, password)
    name, _, host = contacts.MAILMAN_LIST.partition(".")
    rest.send("POST", "/domains", mail_host=host)
    rest.send("POST", "/lists", fqdn_listname=f"{name}@{host}")
    # Nobody takes the mail that a change of the list makes.
    silent = {"send_welcome_message": False, "send_goodbye_message": False, "admin_notify_mchanges": False}
    rest.send("PATCH", f"/lists/{contacts.MAILMAN_LIST}/config", **silent)
    approved = {"pre_verified": True, "pre_confirmed": True, "pre_approved": True}
    for email in contacts.of_mailman():
        rest.send("POST", "/members", list_id=contacts.MAILMAN_LIST, subscriber=email, **approved)


def restore(seed_path, path):
    # The backup takes the place of the content under SQLite's locks, while Mailman has the database open.
    source, target = sqlite3.connect(seed_path), sqlite3.connect(path, timeout=30)
    source.backup(target)
    target.close()
    source.close()


COMMANDS = {"seed": seed, "restore": restore}
COMMANDS[sys.argv[1]](*sys.argv[2:])
