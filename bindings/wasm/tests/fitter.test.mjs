import assert from "node:assert/strict";
import test from "node:test";
import { AIMessage, BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { windowBudget as prepareStep } from "window-budget/ai-sdk";
import { windowBudget as middleware } from "window-budget/langchain";
import { windowBudget as processor } from "window-budget/mastra";
import { windowBudget as filter } from "window-budget/openai-agents";
import { Fitter } from "../integrations/fitter.js";
import { REQUEST, readPage } from "./loop.mjs";

const WINDOW = 16_000;
const PIXEL = Uint8Array.from({ length: 2000 }, (_, n) => n % 251);
const pages = Array.from({ length: 30 }, (_, n) => n);

function chat(rule) {
  const messages = [{ role: "user", content: rule }];
  for (const page of pages) {
    const id = `call_${page}`;
    const called = { id, type: "function", function: { name: "read_page", arguments: `{"page":${page}}` } };
    messages.push({ role: "assistant", content: null, tool_calls: [called] });
    messages.push({ role: "tool", tool_call_id: id, content: readPage({ page }) });
  }
  return messages;
}

test("conversations at the same time keep their own messages", () => {
  const fitter = new Fitter({ format: "openai-chat" }, { window: WINDOW });
  const [one, two] = [chat("Never touch the first ledger."), chat("Never touch the second ledger.")];
  for (let n = 1; n <= one.length; n += 2) {
    assert.match(JSON.stringify(fitter.fit(one.slice(0, n))), /first ledger/);
    assert.doesNotMatch(JSON.stringify(fitter.fit(two.slice(0, n))), /first ledger/);
  }
});

test("a conversation that goes another way starts again", () => {
  const fitter = new Fitter({ format: "openai-chat" }, { window: WINDOW });
  const messages = chat(REQUEST);
  fitter.fit(messages);
  const other = [messages[0], { role: "user", content: "Stop." }];
  assert.deepEqual(fitter.fit(other), other);
});

test("what is sent in addition counts", () => {
  const heavy = new Fitter({ format: "openai-chat" }, { window: WINDOW });
  const light = new Fitter({ format: "openai-chat" }, { window: WINDOW });
  const messages = chat(REQUEST).slice(0, 19);
  assert.equal(light.fit(messages, ["You audit."]).length, messages.length);
  assert.notDeepEqual(heavy.fit(messages, [readPage({ page: 1 }).repeat(6)]), messages);
});

test("messages of the AI SDK with bytes and several results in one message", () => {
  const call = (toolCallId) => ({ type: "tool-call", toolCallId, toolName: "read_page", input: { page: 1 } });
  const result = (toolCallId, page) => {
    const output = { type: "text", value: readPage({ page }) };
    return { type: "tool-result", toolCallId, toolName: "read_page", output };
  };
  const pair = (n) => [
    { role: "assistant", content: [call(`a${n}`), call(`b${n}`)] },
    { role: "tool", content: [result(`a${n}`, n), result(`b${n}`, n)] },
  ];
  const picture = { role: "user", content: [{ type: "image", image: PIXEL }, { type: "text", text: REQUEST }] };
  const { messages } = prepareStep({ window: WINDOW })({ messages: [picture, ...pages.slice(0, 15).flatMap(pair)] });
  assert.ok(messages.length <= 31);
  assert.match(JSON.stringify(messages), /Never round an amount/);
  const short = [picture, ...pair(1)];
  assert.ok(prepareStep({ window: WINDOW })({ messages: short }).messages.every((message, n) => message === short[n]));
});

test("a prompt of Mastra has parts, and its system prompt stays", () => {
  const result = (n) => ({ type: "text", value: readPage({ page: n }) });
  const pair = (n) => [
    { role: "assistant", content: [{ type: "tool-call", toolCallId: `c${n}`, toolName: "read_page", input: {} }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: `c${n}`, toolName: "read_page", output: result(n) }] },
  ];
  const file = { type: "file", data: PIXEL, mediaType: "image/png" };
  const user = { role: "user", content: [file, { type: "text", text: REQUEST }] };
  const system = { role: "system", content: "You audit." };
  const { processLLMRequest } = processor({ window: WINDOW });
  const { prompt } = processLLMRequest({ prompt: [system, user, ...pages.flatMap(pair)] });
  assert.equal(prompt[0], system);
  assert.ok(prompt.slice(1).every(({ content }) => Array.isArray(content)));
});

test("messages of LangChain with parts", async () => {
  const args = { page: 1 };
  const answer = (n) => {
    const thought = { type: "thinking", thinking: "A page." };
    const called = { type: "tool_call", id: `c${n}`, name: "read_page", args };
    return new AIMessage({ content: [thought], tool_calls: [called] });
  };
  const result = (n) => ({ tool_call_id: `c${n}`, name: "read_page", content: readPage({ page: n }) });
  const pair = (n) => [answer(n), new ToolMessage(result(n))];
  const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
  const messages = [new HumanMessage({ content: [image, { type: "text", text: REQUEST }] }), ...pages.flatMap(pair)];
  const { wrapModelCall } = middleware({ window: WINDOW });
  const sent = await wrapModelCall({ messages, tools: [] }, (request) => request.messages);
  assert.ok(sent.every(BaseMessage.isInstance));
  assert.ok(JSON.stringify(sent).length < JSON.stringify(messages).length / 2);
  assert.ok(sent.every(({ type, name }) => type !== "tool" || name === "read_page"));
  assert.equal(sent.at(-1), messages.at(-1));
});

test("items of OpenAI Agents with reasoning, pictures and lists", () => {
  const image = { type: "input_image", image: "data:image/png;base64,iVBORw0KGgo=" };
  const output = (page) => [{ type: "input_text", text: readPage({ page }) }, image];
  const step = (page) => [
    { type: "reasoning", id: `rs_${page}`, content: [{ type: "input_text", text: "A page." }] },
    { type: "function_call", callId: `c${page}`, name: "read_page", arguments: "{}", status: "completed" },
    { type: "function_call_result", callId: `c${page}`, name: "read_page", status: "completed", output: output(page) },
  ];
  const user = { role: "user", content: [{ type: "input_text", text: REQUEST }, image] };
  const input = [user, ...pages.flatMap(step)];
  const { input: sent } = filter({ window: WINDOW })({ modelData: { input }, agent: { tools: [] } });
  assert.ok(JSON.stringify(sent).length < JSON.stringify(input).length / 2);
  assert.equal(sent.at(-1), input.at(-1));
  assert.doesNotMatch(JSON.stringify(sent), /call_id|image_url|function_call_output/);
});
