import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const WEIGH = `import { weigh } from "window-budget";
import { windowBudget } from "window-budget/ai-sdk";
const messages = [{ role: "user", content: "List the files." }];
const fitted = windowBudget({})({ messages }).messages;
console.log(weigh(messages, { format: "openai-chat" }).messages, fitted.length);`;

test("the package works where it is installed, without frameworks", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "wb-package-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const run = (program, ...words) => execFileSync(program, words, { cwd: folder, encoding: "utf8" });
  const tarball = run("npm", "pack", "--silent", PACKAGE).trim();
  run("npm", "install", "--prefix", folder, "--offline", "--no-audit", "--no-fund", join(folder, tarball));
  assert.equal(run(process.execPath, "--input-type=module", "--eval", WEIGH), "1 1\n");
});
