// OpenAI Agents: run(agent, input, { callModelInputFilter: windowBudget({ window: 128_000 }) }).
import { Fitter } from "./fitter.js";

/** Returns a `callModelInputFilter` that keeps the input of each call within the window. */
export function windowBudget(options) {
  const fitter = new Fitter({ format: "openai-responses", write, read }, options);
  return ({ modelData: { input, instructions }, agent }) => {
    const outside = [instructions, agent.tools.map(declaration)];
    return { input: fitter.fit(input, outside), instructions };
  };
}

function declaration({ name, description, parameters }) {
  return { name, description, parameters };
}

function write(item) {
  const { type, id, callId: call_id, content, name } = item;
  if (type === "function_call") return { type, call_id, name, arguments: item.arguments };
  if (type === "function_call_result") {
    return { type: "function_call_output", call_id, name, output: writeOutput(item.output) };
  }
  if (type === "reasoning") return { type, id, summary: content.map(({ text }) => ({ type: "summary_text", text })) };
  return Array.isArray(content) ? { ...item, content: content.map(writePart) } : item;
}

function writeOutput(output) {
  if (typeof output === "string") return output;
  if (output.type === "text") return output.text;
  return [output].flat().map(writePart);
}

function writePart(part) {
  const isImage = part.type === "image" || part.type === "input_image";
  return isImage ? { type: "input_image", image_url: part.image } : part;
}

function read({ type, call_id: callId, name, content, output, ...rest }) {
  if (type === "function_call") return { type, callId, name, arguments: rest.arguments, status: "completed" };
  if (type === "function_call_output") {
    return { type: "function_call_result", callId, name, status: "completed", output: readContent(output) };
  }
  return { type, ...rest, content: readContent(content) };
}

function readContent(content) {
  const part = ({ image_url, ...rest }) => (image_url === undefined ? rest : { ...rest, image: image_url });
  return Array.isArray(content) ? content.map(part) : content;
}
