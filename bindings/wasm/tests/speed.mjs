// Prints the milliseconds of a call: `cargo xtask bindings --speed` runs it with the file of a call
// and a number of runs.
import { readFileSync } from "node:fs";
import { compact } from "window-budget";
import { call } from "../pkg/window_budget_wasm.js";

const [file, count] = process.argv.slice(2);
const text = readFileSync(file, "utf8");
const { messages, format, options } = JSON.parse(text);

function show(name, work) {
  work();
  for (let run = 0; run < Number(count); run += 1) {
    const start = performance.now();
    work();
    console.log(`${name}\t${(performance.now() - start).toFixed(3)}`);
  }
}

show("wasm text", () => call(text));
show("wasm", () => compact(messages, { format, ...options }));
