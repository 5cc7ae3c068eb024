// LangChain: createAgent({ …, middleware: [windowBudget({ window: 128_000 })] }).
import { createMiddleware } from "langchain";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Fitter } from "./fitter.js";

const ROLES = { human: "user", ai: "assistant", system: "system", tool: "tool" };

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
  return { name, description, schema: schema?.shape ?? schema };
}

function write(message, index) {
  const record = { role: ROLES[message.type] ?? "user", content: written(message.content, index) };
  if (message.type === "tool") return { ...record, tool_call_id: message.tool_call_id };
  return message.tool_calls?.length ? { ...record, tool_calls: message.tool_calls.map(writeCall) } : record;
}

// What is not text is named by its place: the message that is sent is LangChain's own.
function written(content, index) {
  if (typeof content === "string") return content;
  const part = (block) => (block.type === "text" ? { type: "text", text: block.text } : image(index));
  return content.filter(({ type }) => !["tool_use", "function_call", "tool_call"].includes(type)).map(part);
}

function image(index) {
  return { type: "image_url", image_url: { url: `https://image.invalid/${index}` } };
}

function writeCall({ id, name, args }) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function read({ role, content, tool_calls = [], tool_call_id }) {
  if (role === "system") return new SystemMessage({ content });
  if (role === "tool") return new ToolMessage({ content, tool_call_id });
  if (role !== "assistant") return new HumanMessage({ content });
  return new AIMessage({ content: content ?? "", tool_calls: tool_calls.map(readCall) });
}

function readCall({ id, function: { name, arguments: text } }) {
  return { type: "tool_call", id, name, args: JSON.parse(text) };
}
