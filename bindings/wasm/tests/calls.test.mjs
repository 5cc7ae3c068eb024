import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import {
  Context, WindowBudgetError, audit, compact, convert, facts, recall, repair, validate, weigh,
} from "window-budget";
import { call } from "../pkg/window_budget_wasm.js";

const VECTORS = new URL("../../../fixtures/bindings/", import.meta.url);
const read = (name) => readFileSync(new URL(name, VECTORS), "utf8");
const names = readdirSync(VECTORS).filter((name) => name.endsWith(".call.json")).map((name) => name.slice(0, -10));
const { messages } = JSON.parse(read("compact-openai-chat.call.json"));

for (const name of names) {
  test(`the call ${name} has its answer`, () => {
    assert.equal(`${call(read(`${name}.call.json`))}\n`, read(`${name}.answer.json`));
  });
}

test("functions return results", () => {
  const options = { format: "openai-chat", window: 32_000 };
  assert.equal(weigh(messages, options).messages, messages.length);
  assert.equal(facts(messages, options).messages, messages.length);
  assert.match(recall(messages, "rounding", options), /Fix the rounding/);
  assert.match(recall(messages, { turn: 1 }, options), /Fix the rounding/);
  assert.equal(audit(messages, "Nothing was done.", options).at(-1).kind, "missing_constraint");
  assert.equal(convert(messages, "anthropic", options).output.messages[0].role, "user");
});

test("a compaction returns what it was given: a list, a request or a session", () => {
  const options = { format: "openai-chat", target_tokens: 2000, force: true };
  const done = compact(messages, options);
  assert.ok(done.report.tokens_after < done.report.tokens_before);
  assert.deepEqual(compact({ messages }, options).messages, { messages: done.messages });
  assert.equal(compact(messages.slice(0, 2), { format: "openai-chat", window: 400_000 }).messages, null);
  const session = convert(messages, "native", { format: "openai-chat" }).output;
  assert.equal(typeof compact(session, { ...options, format: "native" }).messages, "string");
});

test("a repair leaves nothing to refuse", () => {
  const broken = messages.toSpliced(2, 1);
  assert.equal(validate(broken, { format: "openai-chat" })[0].rule, "call-unanswered");
  const { messages: repaired, fixed, left } = repair(broken, { format: "openai-chat" });
  assert.equal(fixed.length, 1);
  assert.deepEqual(left, []);
  assert.deepEqual(validate(repaired, { format: "openai-chat" }), []);
});

test("a mistake is an error with kind, message and hint", () => {
  const wrong = () => weigh(messages, { format: "openai-chat", window: 0 });
  assert.throws(wrong, (error) => error instanceof WindowBudgetError && error.kind === "option" && error.hint !== "");
  assert.throws(() => weigh(messages, { format: "tape" }), { name: "WindowBudgetError", kind: "option" });
  assert.throws(() => weigh(messages, { windows: 1 }), { kind: "call", message: /unknown field `windows`/ });
});

test("a mistake of a context is such an error, too", () => {
  assert.throws(() => new Context({ windows: 1 }), { kind: "call", message: /unknown field `windows`/ });
  assert.throws(() => new Context({ format: "tape" }).push(messages[0]), { kind: "option", message: /"tape"/ });
  assert.throws(() => new Context({ format: "openai-chat" }).push("text"), { kind: "input" });
  assert.throws(() => new Context({ window: 0 }).gate(), { kind: "option" });
});
