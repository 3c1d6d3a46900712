// Made by `cargo xtask web`: what pages import of the libraries.
export { html } from "./htm-preact.0fc6f57d.js";
export * from "./preact.225d7a77.js";
export * from "./preact-hooks.873fd90a.js";
export * from "./preact-signals.0d933d7a.js";
