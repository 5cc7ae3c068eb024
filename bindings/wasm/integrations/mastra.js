// Mastra: new Agent({ …, inputProcessors: [windowBudget({ window: 128_000 })] }).
import { writeMessage } from "./ai-sdk.js";
import { Fitter } from "./fitter.js";

/** Returns an input processor that keeps the prompt of each call within the window. */
export function windowBudget(options) {
  const fitter = new Fitter({ format: "ai-sdk", write: writeMessage, read }, options);
  return { id: "window-budget", processLLMRequest: ({ prompt }) => ({ prompt: fitter.fit(prompt) }) };
}

// A prompt has parts where a message of the AI SDK may have a text.
function read({ role, content }) {
  if (typeof content !== "string") return { role, content: content.map(readPart) };
  return { role, content: role === "system" ? content : [{ type: "text", text: content }] };
}

function readPart(part) {
  if (part.type !== "image") return part;
  return { type: "file", data: part.image, mediaType: part.mediaType ?? "image/*" };
}
