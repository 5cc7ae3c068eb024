// Mastra: new Agent({ …, inputProcessors: [windowBudget({ window: 128_000 })] }).
import { Fitter } from "./fitter.js";

/** Returns an input processor that keeps the prompt of each call within the window. */
export function windowBudget(options) {
  const fitter = new Fitter({ format: "ai-sdk", read }, options);
  return { id: "window-budget", processLLMRequest: ({ prompt }) => ({ prompt: fitter.fit(prompt) }) };
}

// A prompt has parts where a message of the AI SDK may have a text.
function read({ role, content }) {
  const isPlain = typeof content === "string" && role !== "system";
  return { role, content: isPlain ? [{ type: "text", text: content }] : content };
}
