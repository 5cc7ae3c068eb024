// Vercel AI SDK: generateText({ …, prepareStep: windowBudget({ window: 128_000 }) }).
import { Fitter } from "./fitter.js";

/** Returns a `prepareStep` that keeps the messages of each step within the window. */
export function windowBudget(options) {
  const fitter = new Fitter({ format: "ai-sdk" }, options);
  return ({ messages }) => ({ messages: fitter.fit(messages) });
}
