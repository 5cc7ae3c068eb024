import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import * as calls from "window-budget";
import { TARGET, types } from "../scripts/types.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const TSC = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

test("js/schema.d.ts is what scripts/types.mjs writes", async () => {
  assert.equal(readFileSync(TARGET, "utf8"), await types());
});

for (const project of ["tsconfig.json", "tsconfig.frameworks.json"]) {
  test(`what ${project} names is of the right types`, () => {
    execFileSync(process.execPath, [TSC, "--project", join(HERE, "types", project)], { stdio: "inherit" });
  });
}

test("types declare what the package exports", () => {
  const declarations = readFileSync(new URL("../js/index.d.ts", import.meta.url), "utf8");
  const declared = [...declarations.matchAll(/^export (?:function|class) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual([...new Set(declared)].sort(), Object.keys(calls).sort());
});
