"""The platform of example.toml, on a free port of loopback, which it prints.

usage: platform.py
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "key-of-the-account"
ANSWERS = {
    "/api/account": {"name": "Example Ltd"},
    "/api/lists": {"lists": [{"id": "7", "name": "News"}, {"id": "8", "name": "Customers"}]},
    "/api/lists/7/contacts": {
        "contacts": [
            {"id": "1", "email": "valid@sandbox.test", "state": "active"},
            {"id": "2", "email": "nonexistent@sandbox.test", "state": "active"},
            {"id": "3", "email": "deactivated@sandbox.test", "state": "active"},
        ]
    },
    "/api/lists/8/contacts": {"contacts": []},
}


class Platform(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer_known(ANSWERS)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # Every action on a contact succeeds.
        self.answer_known({self.path: {"status": "done"}} if self.path.startswith("/api/contacts/") else {})

    def answer_known(self, answers):
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self.answer(401, {"error": "unknown key"})
        elif self.path in answers:
            self.answer(200, answers[self.path])
        else:
            self.answer(404, {"error": "no such path"})

    def answer(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Platform)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
