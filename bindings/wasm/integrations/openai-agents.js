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
  if (item.type === "function_call") return writeCall(item);
  if (item.type === "function_call_result") return writeResult(item);
  return item;
}

function writeCall({ callId, name, arguments: text }) {
  return { type: "function_call", call_id: callId, name, arguments: text };
}

function writeResult({ callId, name, output }) {
  return { type: "function_call_output", call_id: callId, name, output: outputText(output) };
}

function outputText(output) {
  if (typeof output === "string") return output;
  return output.text ?? JSON.stringify(output);
}

function read(record) {
  const { type, call_id: callId, name, output: text } = record;
  if (type === "function_call") return { type, callId, name, arguments: record.arguments, status: "completed" };
  if (type !== "function_call_output") return record;
  return { type: "function_call_result", callId, name, status: "completed", output: { type: "text", text } };
}
