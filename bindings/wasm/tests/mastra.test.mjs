import assert from "node:assert/strict";
import test from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { windowBudget } from "window-budget/mastra";
import { DESCRIPTION, REQUEST, WINDOW, assertFits, readPage } from "./loop.mjs";
import { startProvider } from "./provider.mjs";

function agent(baseURL) {
  const inputSchema = z.object({ page: z.number() });
  const read_page = createTool({ id: "read_page", description: DESCRIPTION, inputSchema, execute: readPage });
  return new Agent({
    id: "auditor",
    name: "auditor",
    instructions: "You audit.",
    model: createOpenAICompatible({ name: "loopback", baseURL })("scripted"),
    tools: { read_page },
    inputProcessors: [windowBudget({ window: WINDOW })],
  });
}

test("an agent of Mastra stays within the window", async () => {
  const provider = await startProvider();
  const { text } = await agent(provider.url).generate(REQUEST, { maxSteps: 100 });
  provider.close();
  assert.equal(text, "The sum is 42.");
  assertFits(provider.requests, "openai-chat");
});
