import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { Context, compact, compactAsync, validate } from "window-budget";
import { call } from "../pkg/window_budget_wasm.js";

const VECTORS = new URL("../../../fixtures/bindings/", import.meta.url);
const read = (name) => readFileSync(new URL(name, VECTORS), "utf8");
const { messages } = JSON.parse(read("compact-openai-chat.call.json"));
const OPTIONS = { format: "openai-chat", target_tokens: 1500 };
const DIGEST = "# Objective\n- Fix the rounding.\n\n# Status\n- Parts 0 to 7 round to the cent.";
const names = (stages) => stages.map(({ stage }) => stage);

for (const name of readdirSync(VECTORS).filter((name) => name.endsWith(".progress.json"))) {
  test(`the stages are those of ${name}`, () => {
    const stages = [];
    call(read(name.replace(".progress.", ".call.")), { report: (stage) => stages.push(stage) });
    assert.equal(`[${stages.join(",")}]\n`, read(name));
  });
}

test("a function writes the digest", () => {
  const requests = [];
  const summarizer = (request) => (requests.push(request), DIGEST);
  const done = compact(messages, { ...OPTIONS, summarizer });
  assert.match(done.report.digest, /Parts 0 to 7 round to the cent/);
  assert.equal(done.report.requests, requests.length);
  assert.deepEqual(requests[0].messages.map(({ role }) => role), ["system", "user"]);
  assert.deepEqual(validate(done.messages, { format: "openai-chat" }), []);
});

test("an async function writes the same digest", async () => {
  const done = await compactAsync(messages, { ...OPTIONS, summarizer: async () => DIGEST });
  assert.deepEqual(done, compact(messages, { ...OPTIONS, summarizer: () => DIGEST }));
  assert.deepEqual(await compactAsync(messages, OPTIONS), compact(messages, OPTIONS));
});

test("the window and the instructions of a model are obeyed", async () => {
  const prompts = [];
  const ask = async (request) => (prompts.push(request), DIGEST);
  const summarizer = { ask, window: 4000, instructions: "Keep the numbers." };
  const { report } = await compactAsync(messages, { ...OPTIONS, summarizer });
  assert.ok(report.requests > 1 && prompts.length === report.requests);
  assert.ok(prompts.every(({ prompt, prompt_tokens }) => prompt.includes("Keep the numbers.") && prompt_tokens < 4000));
});

test("a function that fails gives a local digest and the reason", async () => {
  const plain = compact(messages, OPTIONS).report.digest;
  const throwing = () => { throw new TypeError("no route"); };
  const rejecting = async () => { throw new TypeError("no route"); };
  for (const { report } of [
    compact(messages, { ...OPTIONS, summarizer: throwing }),
    await compactAsync(messages, { ...OPTIONS, summarizer: rejecting }),
  ]) {
    assert.equal(report.reason, "local digest: the model failed: TypeError: no route");
    assert.ok(report.degraded);
    assert.equal(report.digest, plain);
  }
});

test("a mistake is an error with a hint", async () => {
  const promised = () => compact(messages, { ...OPTIONS, summarizer: async () => DIGEST });
  assert.throws(promised, { kind: "call", hint: "await compactAsync" });
  for (const reply of [null, undefined, 7, { txt: "" }]) {
    assert.throws(() => compact(messages, { ...OPTIONS, summarizer: () => reply }), { kind: "call", hint: /cut_off/ });
  }
  assert.throws(() => new Context({ summarizer: { window: 4000 } }), { kind: "call", message: /undefined/ });
});

test("a cut-off reply is used", () => {
  const { report } = compact(messages, { ...OPTIONS, summarizer: () => ({ cut_off: `${DIGEST}\n- Part 8 has` }) });
  assert.match(report.digest, /round to the cent/);
  assert.doesNotMatch(report.digest, /Part 8 has/);
});

test("a context takes messages while its model writes", async () => {
  const later = { role: "user", content: "And part 99." };
  const stages = [];
  const summarizer = async ({ number }) => {
    if (number === 1) context.push(later);
    return DIGEST;
  };
  const context = new Context({ ...OPTIONS, summarizer, progress: (stage) => stages.push(stage) });
  context.push(...messages);
  assert.ok((await context.compactAsync()).requests > 0);
  assert.deepEqual(context.messages.at(-1), later);
  assert.match(JSON.stringify(context.messages), /round to the cent/);
  assert.deepEqual([...new Set(names(stages))], ["counted", "cut", "asking", "applied"]);
  assert.ok(context.undo());
  assert.deepEqual(context.messages, [...messages, later]);
});

test("an error of progress is thrown", () => {
  const progress = ({ stage }) => { throw new RangeError(stage); };
  assert.throws(() => compact(messages, { ...OPTIONS, progress }), { name: "RangeError", message: "counted" });
});
