// Writes js/schema.d.ts from the schema of calls.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const SCHEMA = new URL("../../../docs/reference/api.schema.json", import.meta.url);
const NAMES = [
  "Call", "Options", "Strategy", "Target", "Operation", "ErrorKind", "Weighed", "Report", "FactList",
  "ModelRequest", "ModelReply", "SummarizerOptions", "Progress",
];
const STYLE = {
  additionalProperties: false,
  bannerComment: "// Written by scripts/types.mjs from docs/reference/api.schema.json.",
  style: { printWidth: 100 },
  unreachableDefinitions: true,
};

export const TARGET = new URL("../js/schema.d.ts", import.meta.url);

// A description next to a reference makes the compiler write the type twice.
function plainReference(key, value) {
  return value?.$ref ? { $ref: value.$ref } : value;
}

function schema() {
  const { $defs } = JSON.parse(readFileSync(SCHEMA, "utf8"), plainReference);
  const named = NAMES.map((name) => [name, $defs[name]]);
  return { type: "object", additionalProperties: false, $defs: Object.fromEntries(named) };
}

/** Returns the text of js/schema.d.ts. */
export async function types() {
  const text = await compile(schema(), "Root", STYLE);
  const remarks = /(\n \*)?\n \* This interface was referenced by `Root`'s JSON-Schema\n \* via the .*/g;
  return text.replace(remarks, "").replace(/\nexport interface Root \{\}/, "");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(TARGET, await types());
