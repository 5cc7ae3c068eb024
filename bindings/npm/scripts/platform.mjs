// Assembles the package of a platform: node platform.mjs linux-x64 PROGRAM FOLDER
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = JSON.parse(readFileSync(new URL("../wb/package.json", import.meta.url), "utf8"));
const TEMPLATE = JSON.parse(readFileSync(new URL("../platform/package.json", import.meta.url), "utf8"));

/** Returns the platforms that the main package names. */
export function platforms() {
  return Object.keys(MAIN.optionalDependencies).map((name) => name.replace(`${MAIN.name}-`, ""));
}

/** Returns the package.json of a platform. */
export function manifest(platform) {
  const [os, cpu, libc = "glibc"] = platform.split("-");
  const fields = { name: `${MAIN.name}-${platform}`, version: MAIN.version, description: `wb for ${platform}` };
  const fits = { os: [os], cpu: [cpu], ...(os === "linux" ? { libc: [libc] } : {}) };
  return { ...TEMPLATE, ...fields, files: [programName(platform)], ...fits };
}

function programName(platform) {
  return platform.startsWith("win32") ? "wb.exe" : "wb";
}

/** Writes the package of a platform to a folder, and returns the folder. */
export function assemble(platform, program, folder) {
  if (!platforms().includes(platform)) throw new Error(`${platform} is no platform; one of ${platforms().join(", ")}`);
  if (!existsSync(program)) throw new Error(`${program} does not exist; build it with cargo`);
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, programName(platform));
  copyFileSync(program, copy);
  chmodSync(copy, 0o755);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(platform), null, 2)}\n`);
  return folder;
}

function main([platform, program, folder]) {
  if (folder === undefined) throw new Error("name a platform, the program and a folder");
  console.log(assemble(platform, program, folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main(process.argv.slice(2));
  } catch ({ message }) {
    console.error(`error: ${message}`);
    process.exitCode = 1;
  }
}
