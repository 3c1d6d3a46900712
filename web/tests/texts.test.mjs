/**
 * The texts: each language says all that the screens ask for, in every form that the language has.
 */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";

const WEB = new URL("../", import.meta.url);
const LANGUAGES = ["en", "de", "fr", "es"];

/** @type {Record<string, Record<string, string | Record<string, string>>>} */
const messages = Object.fromEntries(
  await Promise.all(LANGUAGES.map(async (tag) => [tag, (await import(new URL(`messages/${tag}.js`, WEB).href)).default])),
);
const app = readdirSync(fileURLToPath(new URL("app", WEB)), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".js"))
  .map((path) => ({ path, text: readFileSync(new URL(`app/${path}`, WEB), "utf8") }));
const api = JSON.parse(readFileSync(new URL("../crates/http/openapi.json", WEB), "utf8")).components.schemas;

const forms = (message) => (typeof message === "string" ? [message] : Object.values(message));
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].sort();

/** The words that the API may say, by the names of their texts. */
const FAMILIES = {
  status: api.Status.enum,
  reason: api.Reason.enum,
  source: api.Evidence.properties.source.enum.map((source) => source ?? "none"),
  trigger: api.Job.properties.source.enum,
  state: [...api.Job.properties.status.enum, ...api.WebhookStatus.enum, "active", "invited", "paused"],
  actor: api.Actor.properties.type.enum,
  event: api.TimelineAccountEvent.properties.kind.enum,
  delivery: api.WebhookDelivery.properties.status.enum,
  kind: api.ApiKey.properties.kind.enum.flatMap((kind) => [kind, `${kind}_hint`]),
  period: api.UsageReport.properties.period.enum,
  stage: api.ProbeStep.properties.stage.enum,
  timing: Object.keys(api.Timings.properties),
  verdict: api.Status.enum,
  role: ["administrator", "contributor"].flatMap((role) => [role, `${role}_hint`]),
  notification: ["after_flossing", "weekly_report", "monthly_report", "payment_receipts"],
};

for (const tag of LANGUAGES) {
  test(`${tag} says what English says, and nothing else`, () => {
    assert.deepEqual(Object.keys(messages[tag]), Object.keys(messages.en));
  });

  test(`${tag} fills in what English fills in`, () => {
    for (const [name, message] of Object.entries(messages.en)) {
      const asked = placeholders(forms(message).join(" "));
      for (const form of forms(messages[tag][name])) assert.deepEqual(placeholders(form), asked, name);
    }
  });

  test(`${tag} has each plural form of its language`, () => {
    const categories = new Intl.PluralRules(tag).resolvedOptions().pluralCategories.toSorted();
    const counted = Object.entries(messages[tag]).filter(([, message]) => typeof message !== "string");
    assert.ok(counted.length > 0);
    for (const [name, message] of counted) assert.deepEqual(Object.keys(message).sort(), categories, name);
    assert.deepEqual(counted.map(([name]) => name), Object.keys(messages.en).filter((name) => typeof messages.en[name] !== "string"));
  });

  test(`${tag} has no text that is empty or begins or ends with a space`, () => {
    for (const [name, message] of Object.entries(messages[tag])) {
      for (const form of forms(message)) assert.ok(form !== "" && form === form.trim(), name);
    }
  });

  if (tag !== "en") {
    test(`${tag} is translated`, () => {
      // Names, and words that are the same in both languages, are short; a sentence is never the same.
      const same = Object.entries(messages.en).filter(([name, message]) => JSON.stringify(message) === JSON.stringify(messages[tag][name]));
      assert.deepEqual(same.filter(([, message]) => forms(message).some((form) => form.includes(" "))), []);
    });
  }
}

test("French does not break a line before double punctuation", () => {
  for (const [name, message] of Object.entries(messages.fr)) {
    for (const form of forms(message)) assert.doesNotMatch(form, / [;:?!»]|« /, name);
  }
});

test("each word of the API has a text", () => {
  for (const [family, words] of Object.entries(FAMILIES)) {
    assert.ok(words.length > 0, family);
    for (const word of words) assert.ok(`${family}.${word}` in messages.en, `${family}.${word}`);
  }
});

test("each text that a screen asks for is there, and each that is there is asked for", () => {
  const asked = new Set();
  const families = [];
  for (const { text } of app) {
    for (const [, name] of text.matchAll(/\bt\("([^"]+)"/g)) asked.add(name);
    for (const [, pattern] of text.matchAll(/[`]((?:[\w-]+\.|\$\{\w+\}\.)[^`/\s]*)[`]/g)) {
      // A pattern of nothing but names would fit everything.
      if (/[a-z]/.test(pattern.replaceAll(/\$\{[^}]*\}/g, ""))) families.push(pattern);
    }
    for (const [, group] of text.matchAll(/\bword\("(\w+)"/g)) families.push(`${group}.\${name}`);
  }
  const literal = (text) => text.replaceAll(/[.]/g, "\\.");
  const patterns = families.map((pattern) => new RegExp(`^${pattern.split(/\$\{[^}]*\}/).map(literal).join("[\\w-]+")}$`));
  const missing = [...asked].filter((name) => !(name in messages.en));
  assert.deepEqual(missing, []);
  const fits = (name) => patterns.some((pattern) => pattern.test(name));
  for (const pattern of patterns) assert.ok(Object.keys(messages.en).some((name) => pattern.test(name)), String(pattern));
  assert.deepEqual(Object.keys(messages.en).filter((name) => !asked.has(name) && !fits(name)), []);
});
