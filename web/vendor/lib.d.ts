// Made by `cargo xtask web`: the types of what pages import, from the packages themselves.
export { html } from "htm/preact";
export * from "preact";
export * from "preact/hooks";
export * from "@preact/signals";
