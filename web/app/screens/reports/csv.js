/** Usage as a CSV file. */

/** Lifetime of the download URL. */
const KEPT_MS = 60_000;

/**
 * Saves daily usage as CSV. Names are customer input: they are quoted and protected against formula injection.
 * @param {string} name
 * @param {{ by: string, days: { date: string, total: number }[] }} usage
 * @param {{ id: string, label: string, counts: number[] }[]} parts
 */
export function csv(name, { by, days }, parts) {
  const isWord = by === "status" || by === "source";
  const head = ["date", "total", ...parts.map(({ id, label }) => (isWord ? id : label))];
  const lines = [head, ...days.map(({ date, total }, n) => [date, total, ...parts.map(({ counts }) => counts[n])])];
  const file = new Blob([lines.map((line) => line.map(cell).join(",")).join("\r\n")], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // Browsers may start reading the file after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

/** @param {string | number} value */
function cell(value) {
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
