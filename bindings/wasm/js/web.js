// The package for browsers and edge runtimes: await load() before the first call.
import init from "../pkg/window_budget_wasm.js";

/** Loads the module, from the given place or from next to this file. */
export async function load(module) {
  await init(module === undefined ? undefined : { module_or_path: module });
}

export * from "./calls.js";
