import { lookAtAll } from "./look.mjs";
import { SCHEMES, WIDTHS } from "./reader.mjs";

lookAtAll(WIDTHS[1], SCHEMES.toReversed());
