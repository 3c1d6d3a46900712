/**
 * Addresses as people paste them: one a line, or with commas, semicolons and tabs between, often behind names as mail programs
 * write them. What stands in quotes separates nothing. Names are left out as the server does in lists (crates/mail/src/address/entry.rs).
 */

/** Each character outside of quoted strings, with its position. A quote that is never closed quotes nothing. @param {string} text */
function unquoted(text) {
  /** @type {[number, string][]} */
  const found = [];
  for (let [at, closes] = [0, true]; at < text.length; at += 1) {
    const quotes = closes && text[at] === '"';
    const end = quotes ? closing(text, at) : -1;
    // Where one is not closed, no later one is looked for: that would take a time that grows with the square.
    if (quotes && end < 0) closes = false;
    if (end > 0) at = end;
    else found.push([at, text[at]]);
  }
  return found;
}

/** Where a quoted string ends, or -1. @param {string} text @param {number} open */
function closing(text, open) {
  for (let at = open + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at;
  }
  return -1;
}

/** @param {string} line */
function pieces(line) {
  const cuts = unquoted(line).filter(([, one]) => /[,;\t]/.test(one)).map(([at]) => at);
  return joined([...cuts, line.length].map((end, n) => line.slice(n === 0 ? 0 : cuts[n - 1] + 1, end).trim()).filter(Boolean));
}

/** `Doe, Ann <ann@example.org>` is one name. @param {string[]} parts */
function joined(parts) {
  /** @type {string[]} */
  const whole = [];
  for (const part of parts.toReversed()) {
    const next = whole.at(-1) ?? "";
    if (!part.includes("@") && /^[^@<]*<.*>$/.test(next)) whole[whole.length - 1] = `${part}, ${next}`;
    else whole.push(part);
  }
  return whole.reverse();
}

/** The address of an entry: what stands in the angle brackets at its end, otherwise the whole entry. @param {string} entry */
export function bare(entry) {
  const whole = entry.trim();
  return withoutLabel(bracketed(whole) ?? whole);
}

/** @param {string} entry */
function bracketed(entry) {
  const rest = /^([^]*)>[,;\s]*$/.exec(entry)?.[1];
  if (rest === undefined) return undefined;
  const open = unquoted(rest).find(([, one]) => one === "<")?.[0] ?? -1;
  if (open < 0) return undefined;
  const before = unquoted(rest.slice(0, open)).map(([, one]) => one);
  const namesSeveral = before.includes("@") && before.some((one) => one === "," || one === ";");
  const address = rest.slice(open + 1).trim();
  const nested = unquoted(address).some(([, one]) => one === "<" || one === ">");
  return address.includes("@") && !namesSeveral && !nested ? address : undefined;
}

/** Fields of a letter's header in several languages, and links. One with percent-encoding stays: it would be another address. */
const LABELED = /^(?:mailto|smtp|e-?mail|mail|to|cc|bcc|from|reply-to|an|von|kopie|à|de|cci|para|cco|a|da|ccn)\s*:\s*([^:%?]+)$/i;

/** @param {string} address */
const withoutLabel = (address) => LABELED.exec(address)?.[1] ?? address;

/** Two texts with the same name ask about the same mailbox: domains know no case. @param {string} address */
const mailbox = (address) => address.replace(/@[^@]*$/, (domain) => domain.toLowerCase());

/**
 * Splits a pasted text into addresses, each mailbox once, and pieces that are no address.
 * @param {string} text @returns {{ emails: string[], others: string[] }}
 */
export function addresses(text) {
  const found = text.split(/\r\n|\r|\n/).flatMap(pieces).map(bare);
  const emails = new Map();
  for (const one of found) if (one.includes("@") && !emails.has(mailbox(one))) emails.set(mailbox(one), one);
  return { emails: [...emails.values()], others: [...new Set(found.filter((one) => !one.includes("@")))] };
}
