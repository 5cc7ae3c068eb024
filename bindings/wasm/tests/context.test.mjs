import assert from "node:assert/strict";
import test from "node:test";
import { Context, validate } from "window-budget";

const RULE = "Sum the ledger. Never round an amount.";

function step(n) {
  const id = `call_${n}`;
  const page = Array.from({ length: 40 }, (_, line) => `${n}.${line}: item ${line} costs ${n * line} cents`);
  const called = { id, type: "function", function: { name: "read_page", arguments: JSON.stringify({ page: n }) } };
  return [
    { role: "assistant", content: null, tool_calls: [called] },
    { role: "tool", tool_call_id: id, content: page.join("\n") },
  ];
}

test("a loop of 200 steps stays within its window and keeps the first rule", () => {
  const context = new Context({ format: "openai-chat", window: 16_000 });
  context.push({ role: "user", content: RULE });
  for (let n = 0; n < 200; n += 1) {
    context.push(...step(n));
    if (context.gate().over_budget) context.compact();
    const { tokens, window, over_budget } = context.gate();
    assert.ok(!over_budget && tokens < window, `step ${n}: ${tokens} of ${window} tokens`);
    assert.deepEqual(validate(context.messages, { format: "openai-chat" }), []);
  }
  assert.ok(context.gate().compactions > 1);
  assert.match(JSON.stringify(context.messages), /Never round an amount/);
});

test("an undo brings the messages back and keeps newer ones", () => {
  const context = new Context({ format: "openai-chat", window: 16_000 });
  const all = [{ role: "user", content: RULE }, ...Array.from({ length: 60 }, (_, n) => step(n)).flat()];
  context.push(...all);
  assert.ok(context.compact().changed);
  const newer = { role: "user", content: "Go on." };
  context.push(newer);
  assert.ok(context.undo());
  assert.deepEqual(context.messages, [...all, newer]);
  assert.ok(!context.undo());
});
