/** The same question as a program would ask it. The key stays a name: no secret is in what is copied. */

/** A word as a shell takes it literally. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @param {string} email */
export const curl = (email) => [
  `curl --get ${quoted(`${location.origin}/v1/verify`)}`,
  `  --header "Authorization: Bearer $PROBITY_KEY"`,
  `  --data-urlencode ${quoted(`email=${email}`)}`,
  `  --data explain=true`,
].join(" \\\n");
