/** Commands available on every screen, by name or by keys. Two letters are a sequence. */
import { testing, turn } from "./mode.js";
import { go } from "./route.js";
import { address, visibleSections } from "./screens.js";
import { session, signOut } from "./session.js";
import { searchField } from "./shortcuts.js";
import { t } from "./text.js";
import { choose as chooseTheme, theme } from "./theme.js";
import { telling } from "./ui/toasts.js";

/**
 * @typedef {{ id: string, name: string, keys?: string, kind?: string, run: () => unknown, clears?: boolean }} Command
 *   `kind`: type label for ambiguous names; `clears`: redraws the page and discards form input
 */

/** Second letter after `g`, by screen. */
const LETTERS = {
  overview: "o", verify: "v", lists: "l", connections: "c", timeline: "a", usage: "u", keys: "k", widget: "i", webhooks: "w", requests: "r", docs: "d",
  team: "m", settings: "s", privacy: "p", account: "y",
};

/** All commands, in the user's language. @returns {Command[]} */
export function commands() {
  const screens = [...visibleSections().flatMap((section) => section.screens), "account"];
  return [
    ...screens.map((screen) => ({ id: screen, name: t(`${screen}.title`), keys: `g ${LETTERS[screen]}`, run: () => (screen === "docs" ? location.assign(address(screen)) : go(screen === "overview" ? [] : [screen])) })),
    { id: "new", name: t("command.new_list"), keys: "n", run: () => go(["lists", "new"]) },
    { id: "several", name: t("command.several"), run: () => go(["verify", "several"]) },
    { id: "mode", name: testing.value ? t("command.live") : t("mode.switch"), keys: "t", run: () => turn(session.value?.user.id ?? "", !testing.value), clears: true },
    ...(searchField() ? [{ id: "search", name: t("command.search"), keys: "/", run: () => setTimeout(() => searchField()?.focus()) }] : []),
    { id: "theme", name: theme() === "dark" ? t("theme.to_light") : t("theme.to_dark"), run: () => chooseTheme(theme() === "dark" ? "light" : "dark") },
    { id: "out", name: t("frame.sign_out"), run: signOut },
  ];
}

/** Runs a command and shows a toast if it fails. @param {Command} command */
export const perform = (command) => telling(command.run)(undefined);
