// The loop that each framework runs, and what its requests have in common.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { validate, weigh } from "window-budget";

export const WINDOW = 32_000;
export const REQUEST = "Sum the ledger, page by page. Never round an amount.";
export const DESCRIPTION = "Reads a page of the ledger.";

/** The tool `read_page`: about 970 tokens. */
export function readPage({ page }) {
  const line = (n) => `${page}.${n}: ${n % 7} boxes of item ${(page * n) % 97} cost ${page * n * 13} cents`;
  return Array.from({ length: 80 }, (_, n) => line(n)).join("\n");
}

/** Asserts that every request of the loop fits, is valid and keeps the user's rule at the end. */
export function assertFits(requests, format) {
  assert.equal(requests.length, 61);
  requests.forEach((request, n) => assertSound(request, format, `request ${n}`));
  const rewritten = requests.filter((request, n) => n > 0 && !continues(request, requests[n - 1])).length;
  assert.ok(rewritten > 0 && rewritten < 6, `${rewritten} of ${requests.length} requests are compacted`);
  assert.match(JSON.stringify(requests.at(-1)), /Never round an amount/);
  assert.match(JSON.stringify(requests.at(-1)), /60\.79: /);
}

function assertSound(request, format, name) {
  const { tokens } = weigh(request, { format, window: WINDOW });
  assert.ok(tokens <= WINDOW, `${name} weighs ${tokens} tokens`);
  assert.deepEqual(validate(request, { format }), [], name);
}

// A request that continues the last one can be read from the provider's cache.
function continues(request, last) {
  const [messages, before] = [request, last].map(({ messages, input }) => messages ?? input);
  return before.every((message, n) => isDeepStrictEqual(message, messages[n]));
}
