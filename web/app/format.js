/** Locale-aware formatting of numbers and times. */
import { locale, t } from "./text.js";

/** @param {number | null | undefined} value */
export const number = (value) => (value ?? 0).toLocaleString(locale());

/** Smallest share shown as a number: 0.1%. */
const SHARE_MIN = 0.001;

/** @param {number} share */
const shareText = (share) => share.toLocaleString(locale(), { style: "percent", maximumFractionDigits: 1 });

/** Percentage, such as 12.5 %. Rounding never gives 0 or 100 unless exact. @param {number} part @param {number} whole */
export function percent(part, whole) {
  const share = whole > 0 ? part / whole : 0;
  if (share > 0 && share < SHARE_MIN / 2) return t("share.below", { share: shareText(SHARE_MIN) });
  if (share < 1 && share >= 1 - SHARE_MIN / 2) return t("share.above", { share: shareText(1 - SHARE_MIN) });
  return shareText(share);
}

/** Formats a server message as a sentence: messages start in lowercase and have no period. @param {string} text */
export const sentence = (text) => `${text.charAt(0).toLocaleUpperCase(locale())}${text.slice(1).replace(/\.?$/, ".")}`;

/** Date and time. @param {string | number | null | undefined} at */
export const time = (at) =>
  at === null || at === undefined ? "–" : new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });

/** Time of day, with the date unless it is today. @param {string | number} at */
export function clock(at) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(locale(), today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** Date in the local time zone. @param {string | number | null | undefined} at */
export const day = (at) =>
  at === null || at === undefined ? "–" : new Date(at).toLocaleDateString(locale(), { dateStyle: "medium" });

/** Today's date as a heading. */
export const today = () => {
  const text = new Date().toLocaleDateString(locale(), { weekday: "long", day: "numeric", month: "long" });
  return text.charAt(0).toLocaleUpperCase(locale()) + text.slice(1);
};

/** Date in UTC, the API's calendar. @param {string | number} at */
export const utcDay = (at) => new Date(at).toLocaleDateString(locale(), { dateStyle: "medium", timeZone: "UTC" });

/** Local date as the value of a date field, such as 2026-12-31. @param {Date} at */
export const fieldDay = (at) => [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-");

/** Local end of a {@link fieldDay} date. @param {string} date */
export const endOfDay = (date) => new Date(`${date}T23:59:59.999`);

const STEPS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
]);

/** Relative time, such as "3 minutes ago". @param {string | null | undefined} at */
export function ago(at) {
  if (!at) return t("time.never");
  const seconds = (Date.parse(at) - Date.now()) / 1000;
  const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ["second", 1];
  if (unit === "day" && Math.abs(seconds) > 30 * 86_400) return day(at);
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto" }).format(Math.round(seconds / length), unit);
}

/** Duration, such as "2 min". @param {number} seconds */
export function duration(seconds) {
  const [unit, length] = STEPS.find(([, step]) => seconds >= step) ?? ["second", 1];
  const whole = Math.max(1, Math.round(seconds / length));
  // The short form of "day" is uncommon in German.
  return whole.toLocaleString(locale(), { style: "unit", unit, unitDisplay: unit === "day" ? "long" : "short" });
}

const BYTE_UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/** A limit that is set in powers of 1,024: "128 MB" holds in both senses. @param {number} bytes */
export function limit(bytes) {
  const step = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return size((bytes / 1024 ** step) * 1000 ** step);
}

/** Name of a mail provider; the API joins the names of one that has two in English. @param {string} name */
export const providerName = (name) => new Intl.ListFormat(locale()).format(name.split(" and "));

/** @param {number} bytes */
export function size(bytes) {
  const units = BYTE_UNITS;
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** step;
  return value.toLocaleString(locale(), {
    style: "unit",
    unit: units[step],
    // The short form of "byte" has no plural in English.
    unitDisplay: step === 0 ? "long" : "short",
    maximumFractionDigits: value < 1_000 ? 1 : 0,
  });
}
