/** Lazily loaded parts of a page, for a small first load. */
import { html, useEffect, useState } from "../../vendor/lib.js";
import { returns } from "../away.js";

/** @param {{ load: () => Promise<{ Part: Function }> }} props further props go to the part; renders nothing until loaded */
export function Later({ load, ...props }) {
  const [part, setPart] = useState(/** @type {{ Part?: Function }} */ ({}));
  useEffect(() => {
    let isWanted = true;
    // The files of this build may be gone, or the server away: the rest of the page stays.
    load().then(({ Part }) => isWanted && setPart({ Part }), () => {});
    return () => {
      isWanted = false;
    };
  }, [returns.value]);
  return part.Part ? html`<${part.Part} ...${props} />` : null;
}
