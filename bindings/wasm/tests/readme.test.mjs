import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startProvider } from "./provider.mjs";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const examples = [...README.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
const FRAMEWORKS = ["ai", "langchain", "@openai/agents", "@mastra/core"];

const AI_SDK_MODEL = `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
const model = createOpenAICompatible({ name: "loopback", baseURL: process.env.PROVIDER })("scripted");`;

// What an example takes for granted, by what it imports first.
const PRELUDES = {
  "window-budget": `let messages = [{ role: "user", content: "List the files." }];
    const [url, headers] = [process.env.PROVIDER + "/chat/completions", {}];`,
  ai: `${AI_SDK_MODEL}
    import { tool } from "ai";
    import { z } from "zod";
    const inputSchema = z.object({ page: z.number() });
    const [prompt, tools] = ["Sum.", { read_page: tool({ inputSchema, execute: ({ page }) => page }) }];`,
  langchain: `const [model, tools] = ["openai:scripted", []]; process.env.OPENAI_API_KEY = "none";`,
  "@openai/agents": `import { Agent, OpenAIProvider, tool } from "@openai/agents";
    import { setDefaultModelProvider, setTracingDisabled } from "@openai/agents";
    import { z } from "zod";
    setTracingDisabled(true);
    setDefaultModelProvider(new OpenAIProvider({ baseURL: process.env.PROVIDER, apiKey: "none" }));
    const parameters = z.object({ page: z.number() });
    const tools = [tool({ name: "read_page", description: "", parameters, execute: ({ page }) => page })];
    const [agent, input] = [new Agent({ name: "auditor", model: "scripted", tools }), "Sum."];`,
  "@mastra/core/agent": `${AI_SDK_MODEL}
    const [tools, instructions] = [{}, "You audit."];`,
};

async function run(example, url) {
  const [, first] = /from "([^"]+)"/.exec(example);
  const words = ["--input-type=module", "--eval", `${PRELUDES[first]}\n${example}`];
  await promisify(execFile)(process.execPath, words, { cwd: PACKAGE, env: { ...process.env, PROVIDER: url } });
}

examples.forEach((example, n) => {
  test(`example ${n + 1} of the README runs`, async (t) => {
    const provider = await startProvider();
    t.after(provider.close);
    await run(example, provider.url);
    if (/await (run|generateText)\(/.test(example)) assert.equal(provider.requests.length, 61);
  });
});

for (const name of FRAMEWORKS) {
  test(`the README says that ${name} is tested in the installed version`, () => {
    const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
    const row = README.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
    assert.ok(row.includes(packages[`node_modules/${name}`].version), row);
  });
}
