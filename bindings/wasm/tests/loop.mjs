// The loop that each framework runs, and what its requests have in common.
import assert from "node:assert/strict";
import { validate, weigh } from "window-budget";

export const WINDOW = 32_000;
export const REQUEST = "Sum the ledger, page by page. Never round an amount.";
export const DESCRIPTION = "Reads a page of the ledger.";

/** The tool `read_page`: some 1,500 tokens. */
export function readPage({ page }) {
  const line = (n) => `${page}.${n}: ${n % 7} boxes of item ${(page * n) % 97} cost ${page * n * 13} cents`;
  return Array.from({ length: 80 }, (_, n) => line(n)).join("\n");
}

/** Asserts that every request of the loop fits, is valid and keeps the user's rule at the end. */
export function assertFits(requests, format) {
  assert.equal(requests.length, 61);
  const weights = requests.map((request, n) => weighSound(request, format, `request ${n}`));
  assert.ok(weights.some((weight, n) => weight < weights[n - 1]), "no request is compacted");
  assert.match(JSON.stringify(requests.at(-1)), /Never round an amount/);
  assert.match(JSON.stringify(requests.at(-1)), /60\.79: /);
}

function weighSound(request, format, name) {
  const { tokens } = weigh(request, { format, window: WINDOW });
  assert.ok(tokens <= WINDOW, `${name} weighs ${tokens} tokens`);
  assert.deepEqual(validate(request, { format }), [], name);
  return tokens;
}
