import { lookAtAll } from "./look.mjs";
import { SCHEMES } from "./reader.mjs";

lookAtAll([1440, 834], SCHEMES.toReversed());
