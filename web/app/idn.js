/** Internationalized domain names. The server counts and filters domains by A-labels, such as "xn--bcher-kva.example". */

/** Decodes the Punycode labels (RFC 3492) of a name; returns the name unchanged if decoding fails. @param {string} name */
export function readableDomain(name) {
  if (!/(^|\.)xn--/.test(name)) return name;
  const readable = name.split(".").map((label) => (label.startsWith("xn--") ? decoded(label.slice(4)) : label)).join(".");
  // The browser validates the name; if it normalizes to another name, the A-labels stay.
  return URL.canParse(`http://${readable}`) && new URL(`http://${readable}`).hostname === name ? readable : name;
}

/** Decodes the domain of an address. @param {string} email */
export function readableAddress(email) {
  const at = email.lastIndexOf("@") + 1;
  return email.slice(0, at) + readableDomain(email.slice(at));
}

/** Decoder, RFC 3492, section 6.2. @param {string} text */
function decoded(text) {
  const literal = text.lastIndexOf("-");
  const signs = literal > 0 ? [...text.slice(0, literal)] : [];
  let [point, place, bias] = [128, 0, 72];
  let at = literal > 0 ? literal + 1 : 0;
  while (at < text.length) {
    const before = place;
    for (let weight = 1, k = 36; at < text.length; k += 36) {
      const digit = "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(text[at++]);
      const threshold = Math.max(1, Math.min(26, k - bias));
      place += digit * weight;
      if (digit < threshold) break;
      weight *= 36 - threshold;
    }
    const count = signs.length + 1;
    bias = adapted(place - before, count, before === 0);
    point += Math.floor(place / count);
    place %= count;
    if (point > 0x10ffff) return "";
    signs.splice(place++, 0, String.fromCodePoint(point));
  }
  return signs.join("");
}

/** Bias adaptation, RFC 3492, section 6.1. */
function adapted(delta, count, isFirst) {
  let [rest, k] = [isFirst ? Math.floor(delta / 700) : delta >> 1, 0];
  for (rest += Math.floor(rest / count); rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}
