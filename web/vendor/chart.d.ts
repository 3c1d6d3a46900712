// Made by `cargo xtask web`: the types of what pages that draw import.
export { default } from "uplot";
