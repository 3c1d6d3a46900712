/** Common UI components. Rarely used ones are only in `ui/` and load with their screens. */
export * from "./ui/buttons.js";
export * from "./ui/dialog.js";
export * from "./ui/fields.js";
export * from "./ui/icon.js";
export * from "./ui/menu.js";
export * from "./ui/notes.js";
export * from "./ui/page.js";
export * from "./ui/strip.js";
export * from "./ui/table.js";
export * from "./ui/time.js";
export * from "./ui/toasts.js";
export * from "./ui/verdict.js";
