import { lookAtAll } from "./look.mjs";

lookAtAll([390, 320]);
