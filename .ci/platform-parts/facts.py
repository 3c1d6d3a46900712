"""What tests must know of the running platforms.

usage: facts.py write FILE ACCOUNT GHOST_URL MAILMAN_URL MAILMAN_PASSWORD
       facts.py check FILE       (fails unless both platforms answer there)
"""

import json
import os
import sys
import urllib.error
import urllib.request

import contacts


def write(file, account, ghost_url, mailman_url, mailman_password):
    with open(account) as made:
        made = json.load(made)
    facts = {
        "ghost": {
            "credentials": {"url": ghost_url, "admin_api_key": made["admin_api_key"]},
            "owner": made["owner"],
            "contacts": contacts.of_ghost(),
        },
        "mailman": {
            "credentials": {"url": mailman_url, "rest_user": "rest", "rest_password": mailman_password},
            "list": contacts.MAILMAN_LIST,
            "contacts": contacts.of_mailman(),
        },
    }
    part = f"{file}.part"
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(facts, out, indent=1)
    os.rename(part, file)


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=10).close()
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False
    return True


def check(file):
    with open(file) as facts:
        facts = json.load(facts)
    ghost = facts["ghost"]["credentials"]["url"] + "/ghost/api/admin/site/"
    mailman = facts["mailman"]["credentials"]["url"] + "/3.1/system/versions"
    if not (answers(ghost) and answers(mailman)):
        raise SystemExit(1)


COMMANDS = {"write": write, "check": check}
COMMANDS[sys.argv[1]](*sys.argv[2:])
