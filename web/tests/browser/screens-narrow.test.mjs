import { lookAtAll } from "./look.mjs";
import { WIDTHS } from "./reader.mjs";

lookAtAll(WIDTHS[0]);
