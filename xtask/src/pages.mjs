// Opens pages in Chromium, at three widths and in both colour schemes: no message on the console, no request, no
// serious finding of axe, nothing wider than the page. Words: the browser, the folder for pictures, the pages.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [executablePath, folder, ...pages] = process.argv.slice(2);
const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];
const browser = await chromium.launch({ executablePath, args });
const findings = [];

async function open(file, colorScheme, width, bypassCSP) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, bypassCSP });
  const page = await context.newPage();
  const said = (what) => findings.push(`${basename(file)}, ${width} px, ${colorScheme}: ${what}`);
  page.on('console', (message) => said(`console: ${message.text()}`));
  page.on('pageerror', (error) => said(`error: ${error}`));
  page.on('dialog', (dialog) => { said(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => request.url().startsWith('file:') || said(`request: ${request.url()}`));
  await page.goto(pathToFileURL(file).href);
  return { context, page, said };
}

for (const file of pages) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [500, 1000, 1600]) {
      const plain = await open(file, colorScheme, width, false);
      const root = 'document.documentElement';
      const over = await plain.page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`);
      if (over > 0) plain.said(`wider than the page by ${over} px`);
      const picture = `${basename(file, '.html')}-${width}-${colorScheme}.png`;
      await plain.page.screenshot({ path: join(folder, picture) });
      await plain.context.close();
      // The policy of the page forbids the script of axe too.
      const checked = await open(file, colorScheme, width, true);
      await checked.page.addScriptTag({ content: axe });
      const { violations } = await checked.page.evaluate('axe.run()');
      for (const { id, impact, nodes } of violations) {
        if (['serious', 'critical'].includes(impact)) checked.said(`${impact}: ${id}: ${nodes[0].html.slice(0, 160)}`);
      }
      await checked.context.close();
    }
  }
}
await browser.close();
findings.forEach((finding) => console.error(finding));
process.exitCode = findings.length > 0 ? 1 : 0;
