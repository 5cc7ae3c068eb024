// Gives every package of npm the version of the workspace.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../../", import.meta.url);
export const MANIFESTS = ["wasm", "npm/wb", "npm/platform"].map((folder) => `bindings/${folder}/package.json`);

/** Returns the version of the workspace. */
export function workspaceVersion() {
  const text = readFileSync(new URL("Cargo.toml", ROOT), "utf8");
  return /\[workspace\.package\][^[]*?\nversion = "([^"]+)"/.exec(text)[1];
}

/** Returns a package.json as it is, and as it is with the version. */
export function versioned(path, version) {
  const text = readFileSync(new URL(path, ROOT), "utf8");
  const own = /("(?:version|window-budget-cli-[\w-]+)": )"\d[^"]*"/g;
  return { text, wanted: text.replace(own, `$1"${version}"`) };
}

function main() {
  const version = workspaceVersion();
  for (const path of MANIFESTS) writeFileSync(new URL(path, ROOT), versioned(path, version).wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
