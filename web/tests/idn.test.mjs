/** Punycode decoding: only valid A-labels are decoded. */
import assert from "node:assert/strict";
import test from "node:test";
import { readableAddress, readableDomain } from "../app/idn.js";

/** @type {[name: string, shown: string][]} */
const TABLE = [
  ["example.com", "example.com"],
  ["xn--bcher-kva.example", "bücher.example"],
  ["mail.xn--mnchen-3ya.de", "mail.münchen.de"],
  ["xn--fsqu00a.xn--0zwm56d", "例子.测试"],
  ["xn--90ae.xn--p1ai", "бг.рф"],
  ["xn--e1afmkfd.xn--90ais", "пример.бел"],
  ["xn--strae-oqa.de", "straße.de"],
  // Not valid A-labels.
  ["xn--0.example", "xn--0.example"],
  ["xn--.example", "xn--.example"],
  ["xn--99999999999.example", "xn--99999999999.example"],
  ["xn--abc-.example", "xn--abc-.example"],
];

test("domains are shown as people read them", () => {
  for (const [name, shown] of TABLE) {
    assert.equal(readableDomain(name), shown);
    assert.equal(readableAddress(`xn--a@b@${name}`), `xn--a@b@${shown}`);
  }
  assert.equal(readableAddress(""), "");
});
