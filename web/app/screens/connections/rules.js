/** Keyword rules: contacts that are never or always acted upon, and a test for one address. */
import { html, useState } from "../../../vendor/lib.js";
import { Refused, post, remove } from "../../api.js";
import { administrates } from "../../session.js";
import { locale, t } from "../../text.js";
import { Button, Card, Choice, Empty, Field, Form, FormDialog, Pages, Select, toast, useEdits, usePages } from "../../ui.js";

const KINDS = ["whitelist", "blacklist"];
const PARTS = ["localpart", "domain", "email"];
const KIND_BADGES = { whitelist: "good", blacklist: "warn" };
const WHERE = ["anywhere", ...PARTS];

/** @param {import("./one.js").Known} props */
export function Rules({ path, of }) {
  const lists = { whitelist: usePages(`${path}/keywords/whitelist`), blacklist: usePages(`${path}/keywords/blacklist`) };
  const [adding, setAdding] = useState("");
  return html`<p class="quiet">${t("rules.lead")}</p>
    <div class="columns">${KINDS.map((kind) => html`<${List} key=${kind} kind=${kind} of=${lists[kind]} path=${path} add=${() => setAdding(kind)} />`)}</div>
    <${Try} path=${`/app/connections/${encodeURIComponent(of.type)}/${encodeURIComponent(of.id)}/rules/trial`} />
    ${adding && html`<${Add} path=${path} kind=${adding} close=${() => setAdding("")} added=${(kind) => lists[kind].again()} />`}`;
}

/** Tests an address against the rules, on the server that applies them. */
function Try({ path }) {
  const [email, setEmail] = useState("");
  const [tried, setTried] = useState(/** @type {{ email: string, decided_by: string | null, rules: any[] } | undefined} */ (undefined));
  const send = async () => setTried({ email: email.trim(), ...(await post(path, { email })) });
  const list = new Intl.ListFormat(locale(), { type: "conjunction" });
  return html`<${Card} title=${t("rules.try")}>
    <${Form} send=${send} submit=${t("rules.try_short")}>
      <${Field} label=${t("verify.email")} hint=${t("rules.try_hint")} required maxlength="320" autocomplete="off" spellcheck=${false} value=${email} set=${setEmail} />
      <div role="status">${tried && html`<p><strong>${tried.email}</strong>${" "}
        <span class=${`badge ${KIND_BADGES[tried.decided_by ?? ""] ?? ""}`}>${tried.decided_by ? t(`rules.${tried.decided_by}`) : t("rules.try_none")}</span>${" "}
        ${tried.rules.length > 0 && html`<span class="quiet small">${t("rules.because", { words: list.format(tried.rules.map(({ keyword }) => keyword)) })}</span>`}</p>`}</div>
    <//><//>`;
}

function List({ kind, of, path, add }) {
  const drop = async (rule) => {
    await remove(`${path}/keywords/${kind}/${rule.id}`);
    const { keyword, match, applies_to } = rule;
    toast(t("rules.deleted", { word: keyword }), () => post(`${path}/keywords/${kind}`, { rules: [{ keyword, match, applies_to }] }, true).then(of.again));
    of.again();
  };
  const columns = [
    { title: t("rules.word"), cell: (rule) => html`<strong>${rule.keyword}</strong>` },
    { title: t("where"), cell: (rule) => html`${where(rule.applies_to)}<div class="quiet small">${t(`match.${rule.match}`)}</div>` },
    ...(administrates.value ? [{ title: t("team.do"), acts: true, cell: (rule) => html`<${Button} kind="slim" label=${t("rules.delete_of", { word: rule.keyword })} work=${() => drop(rule)}>${t("delete")}<//>` }] : []),
  ];
  const action = administrates.value && html`<button type="button" class="button slim" onClick=${add} aria-label=${t("rules.add_of", { list: t(`rules.${kind}`) })}>${t("rules.add")}</button>`;
  return html`<${Card} title=${t(`rules.${kind}`)} actions=${action}>
    <p class="quiet small">${t(`rules.${kind}_text`)}</p>
    <${Pages} of=${of} caption=${t(`rules.${kind}`)} columns=${columns} empty=${html`<${Empty} title=${t("rules.none")}>${t(`rules.${kind}_none`)}<//>`} />
  <//>`;
}

/** @param {Record<string, boolean>} applies */
function where(applies) {
  const parts = PARTS.filter((part) => applies[part]);
  return parts.length === PARTS.length ? t("part.anywhere") : parts.map((part) => t(`part.${part}`)).join(", ");
}

/** Adds rules of one kind, one per line. */
function Add({ path, kind: first, close, added }) {
  const { now: { kind, words, match, part }, bind } = useEdits({ kind: first, words: "", match: "exact", part: "anywhere" });
  const [wrong, setWrong] = useState(/** @type {string | undefined} */ (undefined));
  const keywords = words.split("\n").map((word) => word.trim()).filter(Boolean);
  async function send() {
    if (keywords.length === 0) return setWrong(t("rules.empty"));
    setWrong(undefined);
    const applies = part === "anywhere" ? {} : { applies_to: { [part]: true } };
    try {
      await post(`${path}/keywords/${kind}`, { rules: keywords.map((keyword) => ({ keyword, match, ...applies })) }, true);
    } catch (failure) {
      if (!(failure instanceof Refused && failure.status === 400)) throw failure;
      return setWrong(inLine(failure.message, keywords));
    }
    added(kind);
    toast(t("rules.added", { n: keywords.length }));
    close();
  }
  return html`<${FormDialog} title=${t("rules.add")} close=${close} send=${send} submit=${t("rules.add")}>
    <${Choice} label=${t("rules.then")} ...${bind("kind")} options=${KINDS.map((one) => [one, t(`rules.${one}`), t(`rules.${one}_text`)])} />
    <${Field} label=${t("rules.words")} hint=${t("rules.words_hint")} rows=${4} ...${bind("words")} wrong=${wrong} spellcheck=${false} />
    <div class="grid">
      <${Select} label=${t("rules.how")} ...${bind("match")} options=${["exact", "contains"].map((one) => [one, t(`match.${one}`)])} />
      <${Select} label=${t("where")} ...${bind("part")} options=${WHERE.map((one) => [one, t(`part.${one}`)])} />
    </div>
  <//>`;
}

/** Replaces the API's zero-based rule index by the keyword. */
function inLine(message, keywords) {
  const [, at, wrong] = /^rules\[(\d+)\][\w.]*: (.+)$/s.exec(message) ?? [];
  return at === undefined ? message : `${keywords[Number(at)]}: ${wrong}`;
}
