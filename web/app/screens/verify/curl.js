/** Equivalent curl command. The key is a shell variable, so no secret is copied. */

/** Quotes a word for the shell. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @param {string} email */
export const curl = (email) => [
  `curl --get ${quoted(`${location.origin}/v1/verify`)}`,
  `  --header "Authorization: Bearer $PROBITY_KEY"`,
  `  --data-urlencode ${quoted(`email=${email}`)}`,
  `  --data explain=true`,
].join(" \\\n");
