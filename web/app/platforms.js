/** What platforms are called. The server knows them by their types, such as `activecampaign`. */
import { signal } from "../vendor/lib.js";
import { get } from "./api.js";

const names = signal(/** @type {Record<string, string>} */ ({}));
let asked = false;

/** The name, or the type until the names are there. They are asked for when the first one is needed. @param {string} type @returns {string} */
export function platformName(type) {
  if (!asked) {
    asked = true;
    get("/integrations").then(({ data }) => {
      names.value = Object.fromEntries(data.map((/** @type {any} */ one) => [one.type, one.platform.name]));
    }, () => { asked = false; });
  }
  return names.value[type] ?? type;
}
