/** Translations: each language has every text that the screens use, in all of its plural forms. */
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
/** @type {Record<string, Record<string, string>>} */
const platforms = (await import(new URL("messages/platforms.js", WEB).href)).default;
const app = readdirSync(fileURLToPath(new URL("app", WEB)), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".js"))
  .map((path) => ({ path, text: readFileSync(new URL(`app/${path}`, WEB), "utf8") }));
const api = JSON.parse(readFileSync(new URL("../crates/http/openapi.json", WEB), "utf8")).components.schemas;

/** Tables that a receipt of an erasure names. */
const registry = readFileSync(new URL("../crates/store/src/privacy/erasures/registry.rs", WEB), "utf8");
const erasers = [...registry.matchAll(/\("(\w+)\.\w+", ColumnEraser::(\w+)\)/g)];
const erased = [...new Map(erasers.toReversed().map(([, table, eraser]) => [eraser, table])).values()];
assert.ok(erased.length > 0);

const forms = (message) => (typeof message === "string" ? [message] : Object.values(message));
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].sort();

/** API values by text group. */
const FAMILIES = {
  status: api.Status.enum,
  reason: api.Reason.enum,
  source: api.Evidence.properties.source.enum.map((source) => source ?? "none"),
  trigger: api.Job.properties.source.enum,
  state: [...api.Job.properties.status.enum, ...api.WebhookStatus.enum, "active", "invited", "paused"],
  actor: api.Actor.properties.type.enum,
  event: api.TimelineAccountEvent.properties.kind.enum,
  did: [
    ...api.TimelineAccountEvent.properties.kind.enum, ...api.TimelineConnectionEvent.properties.change.enum.map((change) => `connection_${change}`),
    ...api.Job.properties.source.enum.map((source) => `job_${source}`),
  ],
  unusual: api.DomainEvidence.properties.note.enum,
  setting: [
    ...Object.keys(api.OrganizationSettings.properties).map((name) => `organization_${name}`),
    ...Object.keys(api.ConnectionSettings.properties).map((name) => `connection_${name}`),
    // Separate actions change the email address and the identity check.
    ...[...Object.keys(api.AccountPatch.properties), "email", "identity_verified"].map((name) => `account_${name}`),
  ],
  delivery: api.WebhookDelivery.properties.status.enum,
  period: api.UsageReport.properties.period.enum,
  stage: api.ProbeStep.properties.stage.enum,
  timing: Object.keys(api.Timings.properties),
  because: api.Reason.enum,
  role: ["administrator", "contributor"].flatMap((role) => [role, `${role}_hint`]),
  action: [...api.RunExample.properties.action.enum, ...api.PlatformAction.properties.action.enum],
  would: api.RunExample.properties.action.enum,
  became: [...api.RunExample.properties.state.enum, ...Object.keys(api.RunActions.properties)],
  run: api.ConnectionRun.properties.state.enum,
  held: api.ConnectionRun.properties.held_by.enum.filter(Boolean),
  cause: api.ConnectionRun.properties.trigger.enum,
  "connections.webhook": api.ConnectionEventHook.properties.state.enum,
  strict: api.ConnectionSettings.properties.aggressiveness.enum,
  match: api.KeywordRule.properties.match.enum,
  erased,
  notification: ["after_flossing", "weekly_report", "monthly_report"],
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
      // Names and words that are equal in both languages are short; sentences always differ.
      const same = Object.entries(messages.en).filter(([name, message]) => JSON.stringify(message) === JSON.stringify(messages[tag][name]));
      assert.deepEqual(same.filter(([, message]) => forms(message).some((form) => form.includes(" "))), []);
    });
  }
}

/** Words replaced by another (docs/style.md, "Translations"): one term per thing. */
const REPLACED = {
  en: /throw-?away|\bbatch|exchanger|\bintegrations?\b|\bput off\b|\bmade-up\b|\bjobs?\b|e-mail|newsletter platform|\bpolling\b|check now/i,
  de: /Urteil|Guthaben|Anbindung|Unterdrückung|Rollen(post|nam|adr)|Doppelte|Schlagw|Kennw|escheitert|ngehalten|Newsletter-Plattform|Mailplattform|(?<![-\w])E?-?[Mm]ails?\b(?<!E-Mails?)|berechnet|Überblick|Durchsicht/,
  fr: /verdict|sandbox|intégration|\btags?\b|courrier|(?<![-\w{])e?mails?\b(?! FROM)|factur|invalide|revérifi|plateformes? de newsletter|synthèse|sommaire|\bpassages?\b/i,
  es: /veredicto|sandbox|integraci[oó]n|\be-?mail|arriesgad|buz[oó]n de función|plataforma de boletines|mensaje de correo|panorama|\bpasadas?\b/i,
};

/** Reserved words, with the texts that may use them: "overview" is no list summary, an erasure request no HTTP request. */
const RESERVED = {
  en: [[/overview/i, /^(overview\.title|missing\.home|reach\.customer)$/]],
  de: [[/Übersicht/, /^(overview\.title|missing\.home|reach\.customer)$/]],
  fr: [[/vue d’ensemble/i, /^(overview\.title|missing\.home|reach\.customer)$/], [/demandes? d’effacement/i, /^privacy\./]],
  es: [[/vista general/i, /^(overview\.title|missing\.home|reach\.customer)$/], [/solicitud/i, /^privacy\./]],
};
/** Texts about a summary or a request, which must use the word from the table. */
const NAMED = {
  summary: [/^(event|did)\.list_(un)?shared$|^(lists\.summary|share\.(title|link)|report\.title)$/, { en: /summary/i, de: /Zusammenfassung/, fr: /résumé/i, es: /resumen/i }],
  request: [/^(came\.busy|keys\.first_(awaited|used)|requests\.(title|request|id)|settings\.rate)$/, { en: /request/i, de: /Anfrage/, fr: /requête/i, es: /petici/i }],
};

/** Quotation marks and apostrophes foreign to the language. */
const FOREIGN_MARKS = { de: /["'’«»”]/, fr: /["'„“”]/, es: /["'„“”’]/, en: /["„«»’]/ };
/** Informal address; the texts use the formal one. */
const FAMILIAR = {
  de: /(?<!\p{L})(du|dein\p{L}*|dich|dir)(?!\p{L})/iu,
  fr: /(?<!\p{L})(tu|ton|tes|toi)(?!\p{L})/iu,
  es: /(?<!\p{L})(tú|tus?|te|puedes|tienes|quieres)(?!\p{L})/iu,
};

/** Labels, help and notes in the built-in platform descriptions, which the API returns in English. */
const described = new Set(
  readdirSync(new URL("../crates/connectors/data/", WEB)).flatMap((file) => {
    const sections = readFileSync(new URL(`../crates/connectors/data/${file}`, WEB), "utf8").split(/^(?=\[)/m);
    // No text shows the parameters of a correction.
    const shown = sections.filter((section) => !section.startsWith("[actions.fix]"));
    return shown.flatMap((section) => [...section.matchAll(/^(?:label|help|note) = "(.+)"$/gm)].map(([, text]) => text));
  }),
);

test("what the descriptions of platforms say is translated, and nothing else", () => {
  assert.ok(described.size > 50, "the descriptions are found");
  assert.deepEqual(Object.keys(platforms).toSorted(), [...described].toSorted());
  for (const [english, texts] of Object.entries(platforms)) assert.deepEqual(Object.keys(texts), LANGUAGES.filter((tag) => tag !== "en"), english);
});

for (const tag of LANGUAGES) {
  test(`${tag} has one word for one thing, its own marks, and good manners`, () => {
    // Names like email.status belong to the platform.
    const descriptions = Object.entries(platforms).map(([english, texts]) => [english, texts[tag]?.replaceAll(/\w+[._][\w.]+/g, "")]);
    for (const [name, message] of [...Object.entries(messages[tag]), ...(tag === "en" ? [] : descriptions)]) {
      for (const form of forms(message)) {
        const text = form.replaceAll(/\{\w+\}/g, "");
        for (const [word, names] of RESERVED[tag]) if (word.test(text)) assert.match(name, names, text);
        for (const [names, words] of Object.values(NAMED)) if (names.test(name)) assert.match(text, words[tag], name);
        for (const rule of [REPLACED, FOREIGN_MARKS, FAMILIAR]) if (tag in rule) assert.doesNotMatch(text, rule[tag], name);
      }
    }
  });
}

test("French does not break a line before double punctuation", () => {
  const descriptions = Object.entries(platforms).map(([english, { fr }]) => [english, fr]);
  for (const [name, message] of [...Object.entries(messages.fr), ...descriptions]) {
    for (const form of forms(message)) assert.doesNotMatch(form, / [;:?!»]|« /, name);
  }
});

test("each word of the API has a text", () => {
  for (const [family, words] of Object.entries(FAMILIES)) {
    assert.ok(words.length > 0, family);
    for (const word of words) assert.ok(`${family}.${word}` in messages.en, `${family}.${word}`);
  }
});

test("each token that decides has a sentence, and each sentence a reason", () => {
  const judge = readFileSync(new URL("../crates/mail/src/verdict/judge.rs", WEB), "utf8").split("#[cfg(test)]")[0];
  const tokens = new Set([...judge.matchAll(/"([a-z][a-z_]+)"/g)].map(([, token]) => token));
  const sentences = Object.keys(messages.en).filter((name) => name.startsWith("because.")).map((name) => name.split("."));
  const told = new Set(sentences.map(([, , token]) => token));
  // The reason's sentence covers it.
  told.add("catch_all");
  assert.ok(tokens.size > 20, "the tokens are found");
  assert.deepEqual([...tokens].filter((token) => !told.has(token)), []);
  const reasons = sentences.filter(([, , token]) => token).map(([, reason]) => reason);
  assert.deepEqual(reasons.filter((reason) => !api.Reason.enum.includes(reason)), []);
});

test("each text that a screen asks for is there, and each that is there is asked for", () => {
  const asked = new Set();
  const families = [];
  for (const { text } of app) {
    for (const [, name] of text.matchAll(/\b(?:t|woven|when)\("([^"]+)"/g)) asked.add(name);
    for (const [, pattern] of text.matchAll(/[`]((?:[\w-]+\.|\$\{\w+\}\.)[^`/\s]*)[`]/g)) {
      // A pattern of placeholders alone would match everything.
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
