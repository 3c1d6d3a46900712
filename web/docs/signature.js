/**
 * Signature verification samples in common server languages: Standard Webhooks, HMAC-SHA256.
 *
 * Each sample is a complete server that responds 204 to a signed request and 401 to any other. The secret comes from the
 * environment: without it, the server does not start or rejects everything, because anyone can sign with an empty secret. The
 * curl sample is the sender of a signed request.
 */

/** @type {Record<string, (url: string) => string>} */
const WRITTEN = {
  JavaScript: () => `import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from((process.env.PROBITY_WEBHOOK_SECRET ?? "").replace("whsec_", ""), "base64");
if (key.length === 0) throw new Error("Put the webhook's secret into PROBITY_WEBHOOK_SECRET.");

// \`body\`: the bytes as they came, before they are parsed.
function isSigned(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = headers;
  if (!(Math.abs(Date.now() / 1000 - timestamp) < 300)) return false;
  const digest = createHmac("sha256", key).update(\`\${id}.\${timestamp}.\`).update(body).digest("base64");
  const expected = Buffer.from(\`v1,\${digest}\`);
  return signatures.split(" ").some((one) => {
    const given = Buffer.from(one);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, response) => {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return; // The sender hung up.
  }
  const body = Buffer.concat(chunks);
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  console.log(JSON.parse(body).type);
  response.writeHead(204).end();
}).listen(8080);`,

  Python: () => `import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ.get("PROBITY_WEBHOOK_SECRET", "").removeprefix("whsec_"))
if not KEY:
    raise SystemExit("Put the webhook's secret into PROBITY_WEBHOOK_SECRET.")

# body: the bytes as they came, before they are parsed.
def is_signed(headers, body):
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    digest = hmac.new(KEY, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    return any(hmac.compare_digest(expected, one.encode()) for one in headers.get("webhook-signature", "").split())

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        signed = is_signed(self.headers, body)
        if signed:
            print(json.loads(body)["type"])
        self.send_response(204 if signed else 401)
        self.end_headers()

HTTPServer(("", 8080), Receiver).serve_forever()`,

  PHP: () => `<?php
$key = base64_decode(str_replace("whsec_", "", getenv("PROBITY_WEBHOOK_SECRET") ?: ""));
$id = $_SERVER["HTTP_WEBHOOK_ID"] ?? "";
$timestamp = $_SERVER["HTTP_WEBHOOK_TIMESTAMP"] ?? "";
// The bytes as they came, before they are parsed.
$body = file_get_contents("php://input");

$expected = "v1," . base64_encode(hash_hmac("sha256", "$id.$timestamp.$body", $key, true));
$matches = fn ($one) => hash_equals($expected, $one);
$signed = array_filter(explode(" ", $_SERVER["HTTP_WEBHOOK_SIGNATURE"] ?? ""), $matches);
if (!$key || !$signed || abs(time() - (int) $timestamp) > 300) {
    http_response_code(401);
    exit;
}
error_log(json_decode($body, true)["type"]);
http_response_code(204);`,

  Go: () => `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var secret = strings.TrimPrefix(os.Getenv("PROBITY_WEBHOOK_SECRET"), "whsec_")

// body: the bytes as they came, before they are parsed.
func isSigned(header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(secret)
	if err != nil || len(key) == 0 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(expected), []byte(one)) {
			return true
		}
	}
	return false
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !isSigned(r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Println(string(body))
		w.WriteHeader(http.StatusNoContent)
	})
	panic(http.ListenAndServe(":8080", nil))
}`,

  Ruby: () => `# config.ru: start it with "rackup --port 8080"
require "json"
require "openssl"

key = ENV.fetch("PROBITY_WEBHOOK_SECRET", "").delete_prefix("whsec_").unpack1("m")
raise "Put the webhook's secret into PROBITY_WEBHOOK_SECRET." if key.empty?

run lambda { |env|
  id, timestamp = env.values_at("HTTP_WEBHOOK_ID", "HTTP_WEBHOOK_TIMESTAMP")
  # The bytes as they came, before they are parsed.
  body = env["rack.input"].read
  digest = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.#{body}")
  expected = "v1,#{[digest].pack("m0")}"
  signatures = env.fetch("HTTP_WEBHOOK_SIGNATURE", "").split
  signed = signatures.any? { |one| OpenSSL.secure_compare(expected, one) }
  next [401, {}, []] unless signed && (Time.now.to_i - timestamp.to_i).abs <= 300
  puts JSON.parse(body)["type"]
  [204, {}, []]
}`,

  curl: (url) => `# Sends a signed event to your server, as Probity does.
id="evt_$(openssl rand -hex 13)"
timestamp=$(date +%s)
body='{"type":"test","timestamp":"2026-01-31T12:00:00.000Z","data":{}}'
key=$(printf %s "\${PROBITY_WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf %s "$id.$timestamp.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
curl --include '${url}' \\
  --header 'content-type: application/json' \\
  --header "webhook-id: $id" \\
  --header "webhook-timestamp: $timestamp" \\
  --header "webhook-signature: v1,$signature" \\
  --data "$body"`,
};

export const LANGUAGES = Object.keys(WRITTEN);
/** Languages of the servers that check signatures; the others send a signed request. */
export const CHECKS = LANGUAGES.filter((language) => language !== "curl");

/** @param {string} language one of {@link LANGUAGES} @param {string} url webhook URL */
export const checking = (language, url) => WRITTEN[language](url.replaceAll("'", "%27"));
