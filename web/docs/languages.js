/**
 * API calls in several programming languages. Each sample is complete: pasted and run, it prints the response.
 *
 * Values come from the API description. Each is quoted by the rules of its language, so that none can end its own quotes.
 */

/** @typedef {{ method: string, url: string, body?: unknown, key?: string, reply: string, more?: Record<string, string> }} Sample `more`: headers */

/** Placeholder for the key. */
export const KEY = "probity_test_…";

/** JSON strings are valid in JavaScript, Python and, without a raw line feed, Go. */
const quoted = (text) => JSON.stringify(text);
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
const php = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
const indented = (text, by) => text.replaceAll("\n", `\n${by}`);

/** @type {Record<string, (call: Sample & { heads: string[][] }) => string>} */
const WRITTEN = {
  curl: ({ method, url, body, heads }) => [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${shell(url)}`,
    ...heads.map((head) => `  -H ${shell(head.join(": "))}`),
    ...(body ? [`  -d ${shell(JSON.stringify(body, null, 2))}`] : []),
  ].join(" \\\n"),

  JavaScript: ({ method, url, body, heads, reply }) => {
    const headers = heads.map(([name, value]) => `${name.includes("-") ? quoted(name) : name}: ${quoted(value)}`);
    const options = [
      ...(method === "GET" ? [] : [`  method: "${method}",`]),
      ...(headers.length > 0 ? [`  headers: { ${headers.join(", ")} },`] : []),
      ...(body ? [`  body: JSON.stringify(${indented(JSON.stringify(body, null, 2), "  ")}),`] : []),
    ];
    const rest = options.length > 0 ? `, {\n${options.join("\n")}\n}` : "";
    return `const response = await fetch(${quoted(url)}${rest});\nconsole.log(response.status${{ json: ", await response.json()", text: ", await response.text()" }[reply] ?? ""});`;
  },

  Python: ({ method, url, body, heads, reply }) => {
    const headers = heads.map((head) => head.map(quoted).join(": "));
    return [
      ...(body || reply === "json" ? ["import json"] : []),
      "import urllib.error",
      "import urllib.request",
      "",
      ...(body ? [`body = ${python(body)}`] : []),
      "request = urllib.request.Request(",
      `    ${quoted(url)},`,
      ...(method === "GET" ? [] : [`    method="${method}",`]),
      ...(headers.length > 0 ? [`    headers={${headers.join(", ")}},`] : []),
      ...(body ? ["    data=json.dumps(body).encode(),"] : []),
      ")",
      "try:",
      "    with urllib.request.urlopen(request) as response:",
      `        print(response.status${{ json: ", json.load(response)", text: ", response.read().decode()" }[reply] ?? ""})`,
      "except urllib.error.HTTPError as error:",
      "    print(error.code, error.read().decode())",
    ].join("\n");
  },

  PHP: ({ method, url, body, heads, reply }) => {
    const headers = heads.map((head) => php(head.join(": ")));
    return [
      "<?php",
      `$curl = curl_init(${php(url)});`,
      "curl_setopt_array($curl, [",
      ...(method === "GET" ? [] : [`    CURLOPT_CUSTOMREQUEST => '${method}',`]),
      ...(headers.length > 0 ? [`    CURLOPT_HTTPHEADER => [${headers.join(", ")}],`] : []),
      ...(body ? [`    CURLOPT_POSTFIELDS => ${php(JSON.stringify(body, null, 2))},`] : []),
      "    CURLOPT_RETURNTRANSFER => true,",
      "]);",
      "$reply = curl_exec($curl);",
      reply === "json" ? "print_r(json_decode($reply, true));" : "echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), PHP_EOL, $reply;",
    ].join("\n");
  },

  Go: ({ method, url, body, heads }) => [
    "package main",
    "",
    "import (",
    '\t"fmt"',
    '\t"io"',
    '\t"net/http"',
    ...(body ? ['\t"strings"'] : []),
    ")",
    "",
    "func main() {",
    ...(body ? [`\tbody := strings.NewReader(${go(JSON.stringify(body, null, 2))})`] : []),
    `\trequest, err := http.NewRequest("${method}", ${quoted(url)}, ${body ? "body" : "nil"})`,
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    ...heads.map((head) => `\trequest.Header.Set(${head.map(quoted).join(", ")})`),
    "\tresponse, err := http.DefaultClient.Do(request)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tdefer response.Body.Close()",
    "\treply, err := io.ReadAll(response.Body)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tfmt.Println(response.Status, string(reply))",
    "}",
  ].join("\n"),
};

/** JSON value as a Python literal. @param {unknown} value @param {string} [indent] */
function python(value, indent = "") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const [open, close, parts] = Array.isArray(value)
    ? ["[", "]", value.map((one) => python(one, inner))]
    : ["{", "}", Object.entries(value).map(([name, one]) => `${quoted(name)}: ${python(one, inner)}`)];
  return parts.length === 0 ? `${open}${close}` : `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

/** Multiline Go string; a text with a backtick needs an interpreted string. @param {string} text */
const go = (text) => (text.includes("`") ? quoted(text) : `\`${text}\``);

export const LANGUAGES = Object.keys(WRITTEN);

/** @param {string} language one of {@link LANGUAGES} @param {Sample} call */
export function written(language, call) {
  const { key, body, more = {} } = call;
  const own = { ...(key && { Authorization: `Bearer ${key}` }), ...(body !== undefined && { "Content-Type": "application/json" }) };
  return WRITTEN[language]({ ...call, heads: Object.entries({ ...own, ...more }) });
}
