/** How strong a password is, told without asking anybody. */

/** Fewest characters of a password; the server asks for as many. */
export const CHARACTERS_MIN = 12;
/** Characters that tell something new, from which on a password is fair, good and strong. */
export const LEVELS = [10, 14, 20];
/** What is tried first, in the languages of the dashboard and on their keyboards. */
const WELL_KNOWN = /passwor[dt]|mot ?de ?passe|contrase[nñ]a|qwert[yz]|azerty|letmein|welcome|probity/g;

/**
 * How strong a password is, from 1 (easy to guess) to 4 (strong); 0 if it is too short. Length counts first. Repetitions, neighbors
 * in the alphabet and what is known of the person add next to nothing; other kinds of characters than small letters add a little.
 * @param {string} password
 * @param {string[]} [known] what others know of the person
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
