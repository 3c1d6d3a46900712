/** Pasted addresses: names and quotes are parsed like on the server, and every mailbox is verified once. */
import assert from "node:assert/strict";
import test from "node:test";
import { addresses, bare } from "../app/screens/verify/pasted.js";

/** @type {[text: string, emails: string[], others?: string[]][]} */
const PASTED = [
  ["ann@example.org\nbob@example.com\r\n\n", ["ann@example.org", "bob@example.com"]],
  ["ann@example.org, bob@example.com; eve@example.net\tdan@example.org", ["ann@example.org", "bob@example.com", "eve@example.net", "dan@example.org"]],
  ['"Jane Doe" <jane@example.org>', ["jane@example.org"]],
  ['"Doe, Ann" <ann@example.org>, bob@example.com', ["ann@example.org", "bob@example.com"]],
  ['"Doe; \\"Annie\\", Ann" <ann@example.org>; "Lee, Bob" <bob@example.com>', ["ann@example.org", "bob@example.com"]],
  ["Doe, Ann <ann@example.org>, Lee, Bob <bob@example.com>", ["ann@example.org", "bob@example.com"]],
  ["Ann <ann@example.org>;", ["ann@example.org"]],
  ["bob@example.com <ann@example.org>", ["ann@example.org"]],
  ['"a,b"@example.org, c@example.org', ['"a,b"@example.org', "c@example.org"]],
  ['"Ann <ann@example.org>\nO"Lee <bob@example.com>, eve@example.net', ["ann@example.org", "bob@example.com", "eve@example.net"]],
  ["Ann <MailTo:ann@example.org>, mailto:bob@example.com", ["ann@example.org", "bob@example.com"]],
  ["mailto:a%40b@example.org", ["mailto:a%40b@example.org"]],
  ["To: ann@example.org; bob@example.com\nCc : Eve <eve@example.net>", ["ann@example.org", "bob@example.com", "eve@example.net"]],
  ["Ann@Example.org, Ann@EXAMPLE.ORG, ann@example.org", ["Ann@Example.org", "ann@example.org"]],
  ["ann@example.org, nobody, \"nobody, either\"\nnobody", ["ann@example.org"], ["nobody", '"nobody, either"']],
  ["Name\nann@example.org", ["ann@example.org"], ["Name"]],
  ["", []],
  [" ,;\t\n", []],
];

test("pasted texts give the addresses that they name, each mailbox once", () => {
  for (const [text, emails, others = []] of PASTED) assert.deepEqual(addresses(text), { emails, others }, text);
});

test("what names no single address stays as it is", () => {
  for (const entry of ["<>", "<b>", "Ann <ann@example.org", "Ann <<ann@example.org>>", "Ann <ann@example.org> Lee", "Ann <a@example.org> <b@example.org>", '"<ann>"@example.org', "no address"]) {
    assert.equal(bare(entry), entry);
  }
});

test("a long text is read in no time", () => {
  for (const filling of ['"', "<", ">", "\\", '"\\', "@,", "a@b <", "x, "]) addresses(filling.repeat(30_000 / filling.length));
});
