/** Password strength, estimated locally. */

/** Minimum password length; the server enforces the same. */
export const CHARACTERS_MIN = 12;
/** Effective characters required for fair, good and strong. */
export const LEVELS = [10, 14, 20];
/** Common passwords in the dashboard's languages and keyboard layouts. */
const WELL_KNOWN = /passwor[dt]|mot ?de ?passe|contrase[nñ]a|qwert[yz]|azerty|letmein|welcome|probity/g;

/**
 * Password strength from 1 (easy to guess) to 4 (strong); 0 if too short. Length counts most. Repetitions, alphabetic neighbors
 * and data known about the user add almost nothing; character classes other than lowercase add a little.
 * @param {string} password
 * @param {string[]} [known] known data about the user
 */
export function strength(password, known = []) {
  if ([...password].length < CHARACTERS_MIN) return 0;
  const words = known.flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u)).filter((word) => word.length > 2);
  const left = words.reduce((text, word) => text.replaceAll(word, "*"), password.toLowerCase().replace(WELL_KNOWN, "*"));
  const signs = [...left];
  const isNew = (sign, at) => {
    const before = signs[at - 1];
    const isNext = before !== undefined && Math.abs(Number(sign.codePointAt(0)) - Number(before.codePointAt(0))) <= 1;
    return !isNext && signs.findIndex((other, n) => other === sign && signs[n - 1] === before) === at;
  };
  const kinds = [/\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}\s]/u].filter((kind) => kind.test(password)).length;
  const news = signs.filter(isNew).length + kinds;
  return 1 + LEVELS.filter((level) => news >= level).length;
}
