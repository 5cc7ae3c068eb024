import assert from "node:assert/strict";
import test from "node:test";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import { windowBudget } from "window-budget/langchain";
import { DESCRIPTION, REQUEST, WINDOW, assertFits, readPage } from "./loop.mjs";
import { startProvider } from "./provider.mjs";

function agent(baseURL) {
  const model = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL } });
  const schema = z.object({ page: z.number() });
  const tools = [tool(readPage, { name: "read_page", description: DESCRIPTION, schema })];
  return createAgent({ model, tools, systemPrompt: "You audit.", middleware: [windowBudget({ window: WINDOW })] });
}

test("an agent of LangChain stays within the window", async () => {
  const provider = await startProvider();
  const input = { messages: [{ role: "user", content: REQUEST }] };
  const { messages } = await agent(provider.url).invoke(input, { recursionLimit: 200 });
  provider.close();
  assert.equal(messages.at(-1).text, "The sum is 42.");
  assert.equal(messages.length, 134);
  assertFits(provider.requests, "openai-chat");
});
