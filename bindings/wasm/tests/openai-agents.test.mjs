import assert from "node:assert/strict";
import test from "node:test";
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";
import { windowBudget } from "window-budget/openai-agents";
import { DESCRIPTION, REQUEST, WINDOW, assertFits, readPage } from "./loop.mjs";
import { startProvider } from "./provider.mjs";

for (const [api, format] of [["Responses", "openai-responses"], ["Chat Completions", "openai-chat"]]) {
  test(`an agent of OpenAI Agents stays within the window of ${api}`, async () => {
    const provider = await startProvider();
    const useResponses = api === "Responses";
    const modelProvider = new OpenAIProvider({ baseURL: provider.url, apiKey: "none", useResponses });
    const callModelInputFilter = windowBudget({ window: WINDOW });
    const runner = new Runner({ modelProvider, tracingDisabled: true, callModelInputFilter });
    const { finalOutput } = await runner.run(agent(), REQUEST, { maxTurns: 100 });
    provider.close();
    assert.equal(finalOutput, "The sum is 42.");
    assertFits(provider.requests, format);
  });
}

function agent() {
  const parameters = z.object({ page: z.number() });
  const tools = [tool({ name: "read_page", description: DESCRIPTION, parameters, execute: readPage })];
  return new Agent({ name: "auditor", model: "scripted", instructions: "You audit.", tools });
}
