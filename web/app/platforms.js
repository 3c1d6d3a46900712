/** Display names of platforms. The API uses types, such as `activecampaign`. */
import { signal } from "../vendor/lib.js";
import { get } from "./api.js";

const names = signal(/** @type {Record<string, string>} */ ({}));
let asked = false;

/** Display name, or the type until the names are loaded. The first call loads them. @param {string} type @returns {string} */
export function platformName(type) {
  if (!asked) {
    asked = true;
    get("/integrations").then(({ data }) => {
      names.value = Object.fromEntries(data.map((/** @type {any} */ one) => [one.type, one.platform.name]));
    }, () => { asked = false; });
  }
  return names.value[type] ?? type;
}
