import assert from "node:assert/strict";
import test from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { windowBudget } from "window-budget/ai-sdk";
import { DESCRIPTION, REQUEST, WINDOW, assertFits, readPage } from "./loop.mjs";
import { startProvider } from "./provider.mjs";

function settings(url) {
  const read_page = tool({ description: DESCRIPTION, inputSchema: z.object({ page: z.number() }), execute: readPage });
  return {
    model: createOpenAICompatible({ name: "loopback", baseURL: url })("scripted"),
    prompt: REQUEST,
    tools: { read_page },
    stopWhen: stepCountIs(100),
    prepareStep: windowBudget({ window: WINDOW }),
  };
}

test("generateText of the AI SDK stays within the window", async () => {
  const provider = await startProvider();
  const { text } = await generateText(settings(provider.url));
  provider.close();
  assert.equal(text, "The sum is 42.");
  assertFits(provider.requests, "openai-chat");
});

test("streamText of the AI SDK stays within the window", async () => {
  const provider = await startProvider();
  const text = await streamText(settings(provider.url)).text;
  provider.close();
  assert.equal(text, "The sum is 42.");
  assertFits(provider.requests, "openai-chat");
});
