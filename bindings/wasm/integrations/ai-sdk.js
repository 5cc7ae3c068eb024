// Vercel AI SDK: generateText({ …, prepareStep: windowBudget({ window: 128_000 }) }).
import { Fitter } from "./fitter.js";

/** Returns a `prepareStep` that keeps the messages of each step within the window. */
export function windowBudget(options) {
  const fitter = new Fitter({ format: "ai-sdk", write: writeMessage }, options);
  return ({ messages }) => ({ messages: fitter.fit(messages) });
}

/** Writes a message with its bytes in base64, which the AI SDK reads, too. */
export function writeMessage(message) {
  if (typeof message.content === "string") return message;
  return { ...message, content: message.content.map(writePart) };
}

function writePart(part) {
  const field = part.type === "image" ? "image" : "data";
  const bytes = part[field];
  if (!(bytes instanceof Uint8Array || bytes instanceof ArrayBuffer)) return part;
  return { ...part, [field]: base64(new Uint8Array(bytes)) };
}

function base64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
