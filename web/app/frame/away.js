/** Line above all pages while the server can't be reached. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { away, check } from "../away.js";
import { clock } from "../format.js";
import { session } from "../session.js";
import { t } from "../text.js";
import { Icon } from "../ui.js";

export function Away() {
  const state = away.value;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    if (!state) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [state]);
  if (!state) return null;
  const seconds = state.next === undefined ? 0 : Math.max(0, Math.ceil((state.next - now) / 1_000));
  return html`<aside class="away" aria-label=${t("away.title")}>
    <p role="alert"><${Icon} name="plug" /><strong>${t("away.title")}</strong>${session.value && html`<span>${t("away.since", { time: clock(new Date(state.since).toISOString()) })}</span>`}</p>
    <p class="next"><span>${seconds > 0 ? t("away.next", { seconds }) : t("away.now")}</span>
      <button type="button" class="button plain slim" disabled=${state.next === undefined} onClick=${check}>${t("away.try")}</button></p>
  </aside>`;
}
