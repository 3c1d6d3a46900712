// Made by `cargo xtask web`: for pages that draw.
export { default } from "./uplot.073f022c.js";
