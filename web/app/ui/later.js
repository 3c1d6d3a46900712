/** Parts of a page whose modules are fetched when they are needed, so that the first load is small. */
import { html, useEffect, useState } from "../../vendor/lib.js";

/** @param {{ load: () => Promise<{ Part: Function }> }} props what else it is given goes to the part; without its module there is none */
export function Later({ load, ...props }) {
  const [part, setPart] = useState(/** @type {{ Part?: Function }} */ ({}));
  useEffect(() => {
    let isWanted = true;
    // The files of this build may be gone: the rest of the page stays.
    load().then(({ Part }) => isWanted && setPart({ Part }), () => {});
    return () => {
      isWanted = false;
    };
  }, []);
  return part.Part ? html`<${part.Part} ...${props} />` : null;
}
