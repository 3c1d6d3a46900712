/**
 * Guides: what the reference does not say at a single operation.
 *
 * Texts have `code` and [links](#place). A step has text, and beside it a call (`call`, an operation's sample) or a program in
 * several languages (`programs`), and the response that it gets.
 */
import { PAGES, RETRY } from "./recipes.js";
import { CHECKS, LANGUAGES as SIGNED, checking } from "./signature.js";

/** @typedef {string | string[] | { head: string[], rows: string[][] }} Text paragraph, list or table */
/** @typedef {{ method: string, path: string, body?: unknown, more?: Record<string, string> }} Call */
/** @typedef {{ languages: string[], write: (language: string, base: string, key: string) => string }} Programs */
/** @typedef {{ title: string, text: Text[], call?: Call, programs?: Programs, reply?: { status: string, body: unknown } }} Step */
/** @typedef {{ id: string, title: string, about: string, steps: Step[] }} Guide */

const VALID = "/v1/verify?email=valid%40sandbox.test";
const PASSED = {
  email: "valid@sandbox.test", domain: "sandbox.test", status: "passed", reason: "valid", passed: true, role: false, disposable: false,
  free: false, relay: false, gibberish: false, suggestion: "", meta: "",
};
const JOB = "job_01h455vb4pex5vsknk084sn02q";

/** @param {Record<string, import("./recipes.js").Recipe>} recipes @param {string} path @returns {Programs} */
const programs = (recipes, path) => ({ languages: Object.keys(recipes), write: (language, base, key) => recipes[language](base + path, key) });
const ENDPOINT = "https://www.example.com/probity";

/** The first call; the start of the documentation shows it, too. @type {Step} */
export const FIRST_CALL = {
  title: "Verify an address",
  text: [
    "Run this call as it is, with your test key. Addresses at `sandbox.test` have fixed verdicts, and `valid@sandbox.test` passes.",
    "No mail server is asked, and no credits are spent.",
  ],
  call: { method: "GET", path: VALID },
  reply: { status: "200", body: PASSED },
};

/** @type {Guide[]} */
export const GUIDES = [
  {
    id: "guide-first-call",
    title: "Your first call",
    about: "Get a test key, verify an address and read its verdict.",
    steps: [
      {
        title: "Get a test key",
        text: [
          "Every call needs a key. Create a test key [in the dashboard](/#/keys), or use the one that the first start of Probity printed.",
          "A key is shown only once, when it is created: the server stores its hash. Keep it out of your repository and out of web pages.",
        ],
      },
      FIRST_CALL,
      {
        title: "Read the verdict",
        text: [
          "Branch on `status`. `reason` says why; [the reference](#verify_email) lists all reasons.",
          {
            head: ["Status", "What to do"],
            rows: [
              ["`passed`", "Send."],
              ["`risky`", "Send only if you know the person. `reason` says what the risk is, such as `disposable`."],
              ["`unknown`", "Verify again later. The reasons `unverified` and `failed_exchange` are free."],
              ["`undeliverable`", "Do not send: it would bounce."],
            ],
          },
          "If `suggestion` is not empty, the address has a typo: ask the person whether they meant it.",
        ],
      },
      {
        title: "Try other verdicts",
        text: [
          "Change the part before the `@` to see every outcome: `nonexistent`, `inbox_full`, `deactivated`, `accept_all`, `disposable`, `spam`, `unverified`.",
          "`valid+delay-2s@sandbox.test` responds after 2 s, to test your timeouts.",
        ],
        call: { method: "GET", path: "/v1/verify?email=nonexistent%40sandbox.test" },
        reply: { status: "200", body: { ...PASSED, email: "nonexistent@sandbox.test", status: "undeliverable", reason: "nonexistent", passed: false, meta: "smtp_550_5.1.1" } },
      },
      {
        title: "Go live",
        text: [
          "Replace the test key with a live key. Probity then asks the real mail servers, and a verdict costs one credit.",
          "Give each program a key of its own, with only the scopes that it needs: `verify` is enough for this call.",
        ],
      },
    ],
  },
  {
    id: "guide-webhooks",
    title: "Receive webhooks",
    about: "Get events on your server, and check their signature.",
    steps: [
      {
        title: "Create a webhook",
        text: [
          "Choose a URL of your server and [the events](#create_webhook) that it receives. Store the `secret` of the response: it is shown only once.",
          "A webhook that a test key creates receives events of test lists only.",
        ],
        call: { method: "POST", path: "/v1/webhooks", body: { name: "Our CRM", url: ENDPOINT, events: ["job.finished"] } },
      },
      {
        title: "Check the signature",
        text: [
          "Anybody can send requests to your URL. Only Probity can sign them with your secret. Messages follow [Standard Webhooks](https://www.standardwebhooks.com/):",
          [
            "`webhook-id`: ID of the message. Retries keep it.",
            "`webhook-timestamp`: Unix time of the attempt, in seconds. Reject what is more than 5 minutes off.",
            "`webhook-signature`: signatures separated by spaces, each `v1,` and base64. One match is enough: for a day after a rotation, both secrets sign.",
          ],
          "The signature is the HMAC-SHA256 of `id.timestamp.body`. Its key is the secret without `whsec_`, decoded from base64.",
          "Use the bytes of the body as they came. Parsing and writing JSON again changes them.",
        ],
        programs: { languages: CHECKS, write: (language) => checking(language, ENDPOINT) },
      },
      {
        title: "Send yourself a signed event",
        text: ["This script signs an event as Probity does. Your server must respond with 204, and with 401 if you change the secret.", "[Send a test](#test_webhook) sends one from the service itself."],
        programs: { languages: SIGNED.filter((language) => !CHECKS.includes(language)), write: (language) => checking(language, "http://127.0.0.1:8080/") },
      },
      {
        title: "Respond fast, and only once per message",
        text: [
          [
            "Any 2xx accepts the message. Respond within 10 s, and do slow work afterwards. Redirects are not followed.",
            "After a failure, Probity tries again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h. It honors `Retry-After` up to an hour.",
            "A message can come twice, and messages in any order. Store each `webhook-id`, and ignore one that you know.",
            "410 disables the webhook. So do 5 days without a success and at least 3 failed messages.",
          ],
          "The [deliveries](#list_webhook_deliveries) of a webhook have every attempt with your server's response.",
        ],
      },
    ],
  },
  {
    id: "guide-retries",
    title: "Retries and limits",
    about: "Repeat what can succeed, wait as long as the server asks.",
    steps: [
      {
        title: "Retry these errors",
        text: [
          {
            head: ["Status", "What to do"],
            rows: [
              ["408", "Repeat the request; its body came too slowly."],
              ["409 `idempotency_in_progress`", "Wait for the first request, then repeat it with the same key."],
              ["429 `rate_limited`", "Wait as many seconds as `Retry-After` says: 1 to 60."],
              ["500 `server_error`", "Wait 1 s, then twice as long each time."],
              ["503 `service_unavailable`", "Wait as many seconds as `Retry-After` says."],
            ],
          },
          "Every other error needs a change first; [its code](#errors) says which. Give up after a few attempts, and add a random part to each wait, so that your programs do not all come back at once.",
          "Repeat a POST only with an [`Idempotency-Key`](#guide-idempotency).",
        ],
        programs: programs(RETRY, VALID),
      },
      {
        title: "Know your limits",
        text: [
          "Each request takes one token from its key and one from its organization. By default, a key has 10,000 requests per minute, which it can use at once.",
          {
            head: ["Header", "Value"],
            rows: [
              ["`X-RateLimit-Limit`", "requests per minute"],
              ["`X-RateLimit-Remaining`", "requests that are available now"],
              ["`X-RateLimit-Reset`", "Unix time at which all are available again"],
              ["`Retry-After`", "seconds to wait, with 429 and 503"],
            ],
          },
          "To verify many addresses, [submit a list](#submit_batch): 1 to 1,000,000 addresses in one request.",
        ],
        reply: {
          status: "429",
          body: { error: { code: "rate_limited", message: "too many requests; retry after the seconds in Retry-After", type: "rate_limit_error", request_id: "req_01h455vb4pex5vsknk084sn02q" } },
        },
      },
      {
        title: "Unknown is not an error",
        text: [
          "A mail server that is slow or defers its answer leads to a 200 with the status `unknown`. Do not repeat the call at once: many servers accept a sender only minutes later.",
          "In a list, Probity retries by itself. For a single address, verify again after some minutes.",
        ],
      },
    ],
  },
  {
    id: "guide-idempotency",
    title: "Idempotent requests",
    about: "Repeat a POST without doing its work twice.",
    steps: [
      {
        title: "Send a key of your own",
        text: [
          "If a connection breaks, you cannot tell whether a request took effect. Add `Idempotency-Key` to every POST, and repeat it with the same key and body.",
          "The key is any text of 1 to 255 printable ASCII characters: an ID of your database, or a random UUID. Use a new key for new work.",
        ],
        call: { method: "POST", path: "/v1/batch-verify", body: { emails: ["valid@sandbox.test", "nonexistent@sandbox.test"] }, more: { "Idempotency-Key": "list-17" } },
        reply: { status: "200", body: { id: JOB } },
      },
      {
        title: "Know what comes back",
        text: [
          [
            "Within 24 hours, a repetition returns the first response, byte for byte, with the header `Idempotent-Replayed: true`. Nothing runs twice.",
            "While the first request runs, the second gets 409 `idempotency_in_progress`.",
            "The same key with another body gets 422 `idempotency_key_reused`.",
            "Only successes are stored: after an error, the request runs again.",
            "Test keys and live keys have separate idempotency keys.",
          ],
        ],
      },
    ],
  },
  {
    id: "guide-paging",
    title: "Read long lists",
    about: "Follow the cursor until there is no next page.",
    steps: [
      {
        title: "Read all pages",
        text: [
          "Lists are returned in pages, newest first. `per_page` is 1 to 100, by default 25.",
          "Send `pagination.next_cursor` as `next` to get the next page, until `has_more` is false. Do not change a cursor: it belongs to its list and its filters.",
        ],
        programs: programs(PAGES, "/v1/jobs?per_page=100"),
        reply: { status: "200", body: { data: [{ id: JOB, "…": "…" }], pagination: { has_more: true, next_cursor: "AXsiMDFoNDU1dmI0cGV4NXZz" } } },
      },
      {
        title: "Results of a list",
        text: [
          "[Results](#get_batch_results) have their cursor at the top, as `next`, and up to 1,000 rows per page. Without `next`, the page is the last one.",
          "To get all rows at once, [download the list](#download_batch) as a file.",
        ],
      },
    ],
  },
];
