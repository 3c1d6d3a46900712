"""Runs the examples of docs/api.md and compares what comes with what the page says.

An example is a block of the kind `console`: a command after `$ `, then the status line, headers and body that the page
promises. Every promised header must come; the body must be the same JSON. What differs from run to run (ids, times, secrets,
cursors, counts of the rate limit) is compared by its form. `$KEY_ID` and `$CURSOR` are taken from the answer before,
`$JOB_ID`, `$WEBHOOK_ID`, `$CONNECTION_ID` and `$USER_ID` from the last job, webhook and connection that were made and the last
person that was shown, `$OWNER_ID` from the first person. `$PLATFORM_URL` is the address of platform/platform.py. What is said of a job comes true in a moment: its examples are tried again for as long
as that.

usage: examples.py PAGE      (PROBITY_URL, PROBITY_KEY and PROBITY_LIVE_KEY in the environment)
"""

import json
import os
import re
import subprocess
import sys
import time

# What differs from run to run, by form.
FORMS = [
    (r"\b(req|key|org|usr|job|whk|dlv|evt|era|conn|rule)_[0-9a-z]{26}\b", r"\1_ID"),
    (r"\bwhsec_[\w+/]{43}=", "whsec_SECRET"),
    (r"\bProbity-Webhooks/[\w.]+", "Probity-Webhooks/VERSION"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r"\bprobity_(live|test|rk|pub)_\w{49}", r"probity_\1_SECRET"),
    (r'("last4": )"\w{4}"', r'\1"LAST"'),
    (r'("next(?:_cursor)?": )"[\w-]+"', r'\1"CURSOR"'),
    (r"/#/link/\w{43}", "/#/link/SECRET"),
    (r'("timings_ms": )\{[^}]*\}', r"\1TIMINGS"),
    (r'("at_ms": )\d+', r"\1NUMBER"),
    (r"(x-ratelimit-(?:remaining|reset): )\d+", r"\1NUMBER"),
]


# How long the examples of a job are tried.
PATIENCE_SECONDS = 10


def form(text):
    for pattern, name in FORMS:
        text = re.sub(pattern, name, text)
    return text


def parse(text):
    """Status line, headers and body, by form."""
    head, _, body = text.replace("\r", "").partition("{")
    status, *headers = [line.strip().lower() for line in head.strip().splitlines()]
    body = form(json.dumps(json.loads("{" + body), sort_keys=True))
    return status, {form(line) for line in headers}, body


def run(command, answer, kept):
    variables = dict(kept)
    if answer.get("id"):
        variables["KEY_ID"] = answer["id"]
    if answer.get("pagination"):
        variables["CURSOR"] = answer["pagination"]["next_cursor"] or ""
    script = f'curl() {{ command curl --silent --show-error --include "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-euc", script], env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def differs(promised, came):
    """None where all that was promised came, else what did not."""
    (status, headers, body), (real_status, real_headers, real_body) = parse(promised), parse(came)
    if status == real_status and headers <= real_headers and body == real_body:
        return None
    return f"promised {status} {headers - real_headers}\n{body}\ncame {real_status}\n{real_body}\n"


def main(page):
    blocks = re.findall(r"^```console\n\$ (.*?)\n(HTTP/.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == page.count("```console\n"), "an example cannot be read"
    answer, kept, failed = {}, {}, 0
    for command, promised in blocks:
        until = time.monotonic() + (PATIENCE_SECONDS if "$JOB_ID" in command else 0)
        while True:
            came = run(command, answer, kept)
            wrong = differs(promised, came)
            if wrong is None or time.monotonic() >= until:
                break
            time.sleep(0.1)
        answer = json.loads(came[came.index("{") :])
        for prefix, name in (("job_", "JOB_ID"), ("whk_", "WEBHOOK_ID"), ("usr_", "USER_ID"), ("conn_", "CONNECTION_ID")):
            if str(answer.get("id")).startswith(prefix):
                kept[name] = answer["id"]
        if "USER_ID" in kept:
            kept.setdefault("OWNER_ID", kept["USER_ID"])
        if wrong is not None:
            failed += 1
            print(f"--- {command}\n{wrong}")
    print(f"examples of the page: {len(blocks)}, of which {failed} are not true")
    return failed > 0 or not blocks


if __name__ == "__main__":
    sys.exit(main(open(sys.argv[1], encoding="utf-8").read()))
