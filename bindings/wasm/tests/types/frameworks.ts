// Hands each adapter to its framework; `tsc --strict` reads it.
import { createAgent } from "langchain";
import { generateText, type LanguageModel } from "ai";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { Agent, run } from "@openai/agents";
import { windowBudget as prepareStep } from "window-budget/ai-sdk";
import { windowBudget as middleware } from "window-budget/langchain";
import { windowBudget as inputProcessor } from "window-budget/mastra";
import { windowBudget as filter } from "window-budget/openai-agents";

const options = { window: 128_000, overhead_tokens: 2000 };
declare const model: LanguageModel;

await generateText({ model, prompt: "List the files.", prepareStep: prepareStep(options) });
createAgent({ model: "openai:gpt-5", tools: [], middleware: [middleware(options)] });
await run(new Agent({ name: "lister" }), "List the files.", { callModelInputFilter: filter(options) });
const lister = { id: "lister", name: "lister", instructions: "List.", model: "openai/gpt-5" };
new MastraAgent({ ...lister, inputProcessors: [inputProcessor(options)] });
// @ts-expect-error An option that does not exist.
prepareStep({ windows: 8000 });
