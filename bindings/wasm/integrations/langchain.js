// LangChain: createAgent({ …, middleware: [windowBudget({ window: 128_000 })] }).
import { createMiddleware } from "langchain";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { Fitter } from "./fitter.js";

const ROLES = { human: "user", ai: "assistant", system: "system", tool: "tool" };
const CALLS = ["tool_use", "tool_call", "function_call"];

/** Returns a middleware that keeps the messages of each call to the model within the window. */
export function windowBudget(options) {
  const fitter = new Fitter({ format: "openai-chat", write, read }, options);
  const wrapModelCall = (request, handler) => {
    const outside = [request.systemMessage?.text, request.tools.map(declaration)];
    return handler({ ...request, messages: fitter.fit(request.messages, outside) });
  };
  return createMiddleware({ name: "windowBudget", wrapModelCall });
}

function declaration({ name, description, schema }) {
  return { name, description, parameters: schema && toJsonSchema(schema) };
}

function write({ type, content, name, tool_call_id, tool_calls }) {
  const record = { role: ROLES[type] ?? "user", content: writeContent(content) };
  if (type === "tool") return { ...record, tool_call_id, name };
  return tool_calls?.length ? { ...record, tool_calls: tool_calls.map(writeCall) } : record;
}

function writeContent(content) {
  if (typeof content === "string") return content;
  return content.filter(({ type }) => !CALLS.includes(type)).map(writePart);
}

function writePart(part) {
  if (part.type === "text" || part.type === "image_url") return part;
  if (part.type !== "image") return { type: "text", text: JSON.stringify(part) };
  const url = part.url ?? `data:${part.mimeType ?? part.mime_type};base64,${part.data}`;
  return { type: "image_url", image_url: { url } };
}

function writeCall({ id, name, args }) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function read({ role, content, name, tool_calls = [], tool_call_id }) {
  if (role === "system") return new SystemMessage({ content });
  if (role === "tool") return new ToolMessage({ content, name, tool_call_id });
  if (role !== "assistant") return new HumanMessage({ content });
  return new AIMessage({ content: content ?? "", tool_calls: tool_calls.map(readCall) });
}

function readCall({ id, function: { name, arguments: text } }) {
  return { type: "tool_call", id, name, args: JSON.parse(text) };
}
