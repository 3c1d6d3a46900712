/** Event groups for the filter. */

export const GROUPS = ["lists", "keys", "team", "access", "settings", "webhooks", "connections", "account"];

const KINDS = /** @type {[string, RegExp][]} */ ([
  ["lists", /^list_/],
  ["keys", /^key_/],
  ["team", /^member_/],
  ["access", /^(login|password|reset_link|second_factor|sessions)/],
  ["webhooks", /^(webhook|callback)_/],
]);

/** @param {any} event */
export function groupOf(event) {
  if (event.type === "job") return "lists";
  if (event.type === "settings_change") return "settings";
  if (event.type === "connection_change") return "connections";
  return KINDS.find(([, pattern]) => pattern.test(event.kind))?.[0] ?? "account";
}
