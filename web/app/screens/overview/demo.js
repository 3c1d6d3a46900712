/** Demo list of fictitious people, with sandbox addresses. */

const FIRST = [
  "Ann", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Lena", "Marco", "Nora", "Otto",
  "Paula", "Rosa", "Simon", "Uma", "Viktor",
];
const LAST = ["Becker", "Costa", "Duval", "Fischer", "Garcia", "Keller", "Lee", "Moreau", "Novak", "Silva"];
const SHOPS = ["acme-widgets.com", "acme-garden.com", "acme-books.com", "acme-travel.com"];
const CITIES = ["Berlin", "Lyon", "Madrid", "Porto", "Vienna", "Leeds"];

/** Irregular rows, as in real lists. */
const ODD = [
  ["Ann Becker", "Ann.Becker@acme-widgets.com", "Berlin"],
  ["Press", "info@acme-books.com", "Leeds"],
  ["Clara Duval", "clara.duval@gmial.com", "Lyon"],
  ["Trial", "trial@mailinator.com", ""],
  ["Typo", "hugo.silva(at)acme-garden.com", "Porto"],
  ["No address", "", "Vienna"],
];

/** Demo list as a CSV file. */
export function demo() {
  const people = FIRST.flatMap((first, row) => LAST.map((last, column) => {
    const at = `${first}.${last}`.toLowerCase();
    return [`${first} ${last}`, `${at}@${SHOPS[(row + column) % SHOPS.length]}`, CITIES[(row * 3 + column) % CITIES.length]];
  }));
  const rows = [["name", "email", "city"], ...people, ...ODD];
  return new Blob([rows.map((row) => row.join(",")).join("\n"), "\n"], { type: "text/csv" });
}
