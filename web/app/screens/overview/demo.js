/** Demo list of fictitious people at real providers. The sandbox verifies it: nobody at these addresses is asked. */

const FIRST = [
  "Ann", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Lena", "Marco", "Nora", "Otto",
  "Paula", "Rosa", "Simon", "Uma", "Viktor",
];
const LAST = ["Becker", "Costa", "Duval", "Fischer", "Garcia", "Keller", "Lee", "Moreau", "Novak", "Silva"];
/** Providers in about the shares of real lists, and two companies. */
const DOMAINS = [
  "gmail.com", "gmail.com", "gmail.com", "outlook.com", "yahoo.com", "gmx.de", "web.de", "icloud.com", "orange.fr", "acme-widgets.com", "acme-books.com",
];
const CITIES = ["Berlin", "Lyon", "Madrid", "Porto", "Vienna", "Leeds"];

/** Irregular rows, as in real lists. */
const ODD = [
  ["Ann Becker", "Ann.Becker@gmail.com", "Berlin"],
  ["Press", "info@acme-books.com", "Leeds"],
  ["Clara Duval", "clara.duval@gmial.com", "Lyon"],
  ["Trial", "trial@mailinator.com", ""],
  ["Typo", "hugo.silva(at)gmail.com", "Porto"],
  ["No address", "", "Vienna"],
];

/** Demo list as a CSV file. */
export function demo() {
  const people = FIRST.flatMap((first, row) => LAST.map((last, column) => {
    const at = `${first}.${last}`.toLowerCase();
    return [`${first} ${last}`, `${at}@${DOMAINS[(row * 7 + column) % DOMAINS.length]}`, CITIES[(row * 3 + column) % CITIES.length]];
  }));
  const rows = [["name", "email", "city"], ...people, ...ODD];
  return new Blob([rows.map((row) => row.join(",")).join("\n"), "\n"], { type: "text/csv" });
}
