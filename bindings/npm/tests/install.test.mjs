import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { assemble, manifest, platforms } from "../scripts/platform.mjs";
import { MANIFESTS, versioned, workspaceVersion } from "../scripts/versions.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const MAIN = join(HERE, "../wb");
const isMusl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const PLATFORM = [process.platform, process.arch, ...(isMusl ? ["musl"] : [])].join("-");
const OFFLINE = ["--offline", "--no-audit", "--no-fund"];

let scratch;
let wb;

before(() => {
  scratch = mkdtempSync(join(tmpdir(), "wb-npm-"));
  const program = process.env.WB ?? join(HERE, "stub");
  wb = install("both", pack(MAIN), pack(assemble(PLATFORM, program, join(scratch, "platform"))));
});

after(() => rmSync(scratch, { recursive: true }));

function npm(...words) {
  const env = { ...process.env, npm_config_cache: join(scratch, "cache") };
  return execFileSync("npm", words, { cwd: scratch, encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] });
}

function pack(folder) {
  return join(scratch, npm("pack", "--silent", folder).trim());
}

function install(name, ...tarballs) {
  const prefix = join(scratch, name);
  npm("install", "--prefix", prefix, ...OFFLINE, ...tarballs);
  return join(prefix, "node_modules/.bin/wb");
}

function run(words, options) {
  return spawnSync(wb, words, { encoding: "utf8", ...options });
}

test("an installed wb says its version", () => {
  assert.equal(run(["--version"]).stdout.trim(), `wb ${workspaceVersion()}`);
});

const onStub = { skip: process.env.WB ? "WB names a program" : false };

test("arguments reach the program as they are", onStub, () => {
  assert.equal(run(["arguments", "a b", "*", "", "--json"]).stdout, "a b\n*\n\n--json\n");
});

test("streams are those of the program", onStub, () => {
  const { stdout, stderr } = run(["copy"], { input: "é\n" });
  assert.deepEqual([stdout, stderr], ["é\n", "copied\n"]);
});

test("the exit code or signal is that of the program", onStub, () => {
  assert.equal(run(["exit", "3"]).status, 3);
  assert.equal(run(["die"]).signal, "SIGTERM");
});

test("a signal reaches the program", onStub, async () => {
  const child = spawn(wb, ["wait"], { stdio: ["ignore", "pipe", "inherit"] });
  assert.equal(String((await once(child.stdout, "data"))[0]), "ready\n");
  child.kill("SIGTERM");
  const [[last], [code]] = await Promise.all([once(child.stdout, "data"), once(child, "exit")]);
  assert.deepEqual([String(last), code], ["terminated\n", 9]);
});

test("without a package for the platform, the error says what to do", () => {
  const alone = install("alone", pack(MAIN));
  const { status, stderr } = spawnSync(alone, ["--version"], { encoding: "utf8" });
  assert.equal(status, 127);
  assert.match(stderr, new RegExp(`the package window-budget-cli-${PLATFORM} is not installed\nhint: install without`));
  const env = { ...process.env, WB_BINARY: join(HERE, "stub") };
  assert.equal(spawnSync(alone, ["--version"], { encoding: "utf8", env }).stdout, "wb 0.1.0\n");
});

test("a platform's package says where it fits", () => {
  const { name, version, os, cpu, libc } = manifest("linux-x64-musl");
  assert.deepEqual([name, os, cpu, libc], ["window-budget-cli-linux-x64-musl", ["linux"], ["x64"], ["musl"]]);
  assert.equal(version, workspaceVersion());
  assert.ok(!("libc" in manifest("darwin-arm64")));
  assert.deepEqual(manifest("win32-x64").files, ["wb.exe"]);
  assert.ok(platforms().includes(PLATFORM));
  assert.throws(() => assemble("beos-x64", join(HERE, "stub"), scratch), /beos-x64 is no platform; one of darwin/);
  assert.throws(() => assemble("linux-x64", join(HERE, "none"), scratch), /none does not exist/);
});

for (const path of MANIFESTS) {
  test(`${path} has the version of the workspace`, () => {
    const { text, wanted } = versioned(path, workspaceVersion());
    assert.equal(text, wanted, "run node bindings/npm/scripts/versions.mjs");
  });
}
