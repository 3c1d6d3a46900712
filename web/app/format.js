/** Numbers and times as the reader's language writes them. */
import { locale, t } from "./text.js";

/** @param {number | null | undefined} value */
export const number = (value) => (value ?? 0).toLocaleString(locale());

/** The smallest share that is written by itself: a tenth of a percent. */
const SHARE_MIN = 0.001;

/** @param {number} share */
const shareText = (share) => share.toLocaleString(locale(), { style: "percent", maximumFractionDigits: 1 });

/** A part of a whole, such as 12.5 %. Something is never shown as nothing, nor most as all. @param {number} part @param {number} whole */
export function percent(part, whole) {
  const share = whole > 0 ? part / whole : 0;
  if (share > 0 && share < SHARE_MIN / 2) return t("share.below", { share: shareText(SHARE_MIN) });
  if (share < 1 && share >= 1 - SHARE_MIN / 2) return t("share.above", { share: shareText(1 - SHARE_MIN) });
  return shareText(share);
}

/** What a server said, as a sentence: its messages begin small and end open. @param {string} text */
export const sentence = (text) => `${text.charAt(0).toLocaleUpperCase(locale())}${text.slice(1).replace(/\.?$/, ".")}`;

/** Day and time. @param {string | number | null | undefined} at */
export const time = (at) =>
  at === null || at === undefined ? "–" : new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });

/** The time of day, with the day where that is another one than today. @param {string} at */
export function clock(at) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(locale(), today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** The day on which something was, where the reader is. @param {string | number | null | undefined} at */
export const day = (at) =>
  at === null || at === undefined ? "–" : new Date(at).toLocaleDateString(locale(), { dateStyle: "medium" });

/** The day that it is where the reader is, as a heading has it. */
export const today = () => {
  const text = new Date().toLocaleDateString(locale(), { weekday: "long", day: "numeric", month: "long" });
  return text.charAt(0).toLocaleUpperCase(locale()) + text.slice(1);
};

/** A day of the API's calendar, which is that of UTC wherever the reader is. @param {string | number} at */
export const utcDay = (at) => new Date(at).toLocaleDateString(locale(), { dateStyle: "medium", timeZone: "UTC" });

/** A day of the reader's calendar as fields for dates have it, such as 2026-12-31. @param {Date} at */
export const fieldDay = (at) => [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-");

/** When a day of {@link fieldDay} is over where the reader is. @param {string} date */
export const endOfDay = (date) => new Date(`${date}T23:59:59.999`);

const STEPS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
]);

/** How long ago, such as "3 minutes ago". @param {string | null | undefined} at */
export function ago(at) {
  if (!at) return t("time.never");
  const seconds = (Date.parse(at) - Date.now()) / 1000;
  const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ["second", 1];
  if (unit === "day" && Math.abs(seconds) > 30 * 86_400) return day(at);
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto" }).format(Math.round(seconds / length), unit);
}

/** A length of time, such as "2 min". @param {number} seconds */
export function duration(seconds) {
  const [unit, length] = STEPS.find(([, step]) => seconds >= step) ?? ["second", 1];
  const whole = Math.max(1, Math.round(seconds / length));
  // The short form of a day is read by few in German.
  return whole.toLocaleString(locale(), { style: "unit", unit, unitDisplay: unit === "day" ? "long" : "short" });
}

/** @param {number} bytes */
export function size(bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** step;
  return value.toLocaleString(locale(), {
    style: "unit",
    unit: units[step],
    // The short form of a byte has no plural in English.
    unitDisplay: step === 0 ? "long" : "short",
    maximumFractionDigits: value < 1_000 ? 1 : 0,
  });
}
