// The package for Node, Bun and Deno: the module is read when it is imported.
import { readFileSync } from "node:fs";
import { initSync } from "../pkg/window_budget_wasm.js";

initSync({ module: readFileSync(new URL("../pkg/window_budget_wasm_bg.wasm", import.meta.url)) });

/** Nothing is left to load. */
export async function load() {}

export * from "./calls.js";
