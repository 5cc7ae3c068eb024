import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import test from "node:test";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
const PACKAGE = new URL("..", import.meta.url);
const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };

async function serve() {
  const server = createServer(async ({ url }, response) => {
    const body = url === "/" ? "" : await readFile(new URL(`.${url}`, PACKAGE)).catch(() => null);
    const type = TYPES[extname(url)] ?? "text/html";
    response.writeHead(body === null ? 404 : 200, { "content-type": type }).end(body ?? "");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

async function weighInPage() {
  const { load, weigh, Context } = await import("/js/web.js");
  await load();
  const message = { role: "user", content: "List the files." };
  const context = new Context({ format: "openai-chat" });
  context.push(message);
  return [weigh([message], { format: "openai-chat" }).tokens, context.gate().tokens];
}

test("a page loads the package and calls it", { skip: !existsSync(CHROMIUM) && `no ${CHROMIUM}` }, async (t) => {
  const server = await serve();
  t.after(() => server.close());
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const [weighed, gated] = await page.evaluate(weighInPage);
  assert.ok(weighed > 0);
  assert.equal(gated, weighed);
});

test("an edge runtime hands over the compiled module", async () => {
  const { load, weigh } = await import("../js/web.js");
  const bytes = await readFile(new URL(import.meta.resolve("window-budget/module.wasm")));
  await load(await WebAssembly.compile(bytes));
  assert.ok(weigh([{ role: "user", content: "List the files." }], { format: "openai-chat" }).tokens > 0);
});
