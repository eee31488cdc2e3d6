// What our script does on the pages, and what it must not: times, the filter, keys, copying, wrapping, lines between differences.

import { check } from './common.mjs';

const ZONE = 'Asia/Tokyo';

/** Opens a page in a browser that runs scripts, in a zone of its own. */
const open = async (browser, address) => {
  const context = await browser.newContext({ timezoneId: ZONE, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const said = [];
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  await page.goto(address);
  return { page, context, said };
};

const timesAreLocal = async (browser, top) => {
  const { page, context } = await open(browser, `${top}/-/rev/2`);
  check((await page.textContent('time.full')).includes('GMT+9'), 'the date of a revision is in the zone of the reader');
  check((await page.getAttribute('time:not(.full)', 'title')).includes('GMT+9'), 'so is the title of an age');
  await context.close();
};

const listsAreFiltered = async (browser, top) => {
  const { page, context } = await open(browser, `${top}/-/tree/trunk`);
  const visible = () => page.locator('.list tbody tr:not(.up):visible').count();
  const all = await visible();
  await page.fill('.filter input', 'MAIN .c');
  check((await visible()) === 1 && all > 8, 'the filter leaves what has all its words');
  check((await page.textContent('.said')) === '1 left', 'and says how much');
  await page.press('.filter input', 'Escape');
  check((await visible()) === all, 'Escape shows all again');
  await page.fill('.filter input', 'main');
  await page.press('.filter input', 'Enter');
  await page.waitForURL('**/main.c');
  await context.close();
};

const keysWork = async (browser, top, accessibility) => {
  const { page, context, said } = await open(browser, `${top}/-/tree/trunk`);
  const focused = () => page.evaluate(() => document.activeElement.closest('tr')?.rowIndex ?? -1);
  await page.keyboard.press('j');
  const first = await focused();
  await page.keyboard.press('j');
  check((await focused()) === first + 1, 'j goes to the next row');
  await page.keyboard.press('k');
  check((await focused()) === first, 'k goes back');
  await page.keyboard.press('/');
  await page.keyboard.type('jk?');
  check((await page.inputValue('.filter input')) === 'jk?', 'keys are letters where one types');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+j');
  check((await page.locator('dialog[open]').count()) === 0, 'keys with others are those of the browser');
  await page.keyboard.press('?');
  check(await page.isVisible('dialog'), '? shows the keys');
  const wrong = await accessibility(page);
  check(wrong.length === 0, `the dialog of keys: ${wrong.join('\n')}`);
  await page.uncheck('dialog input');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  check((await page.locator('dialog[open]').count()) === 0, 'keys that are switched off do nothing');
  await page.reload();
  await page.keyboard.press('j');
  check((await focused()) === -1, 'also on the next page');
  await page.click('footer button');
  await page.check('dialog input');
  await page.click('dialog button');
  await page.keyboard.press('j');
  check((await focused()) === first, 'they can be switched on again');
  check(said.length === 0, `keys: ${said.join('\n')}`);
  await context.close();
};

const placesAreCopied = async (browser, top) => {
  const { page, context } = await open(browser, `${top}/-/tree/trunk/main.c`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = async (word) => {
    await page.click(`.copy button:has-text("${word}")`);
    await page.waitForFunction(() => document.querySelector('.said').textContent === 'Copied');
    return page.evaluate(() => navigator.clipboard.readText());
  };
  check((await copied('Copy path')) === '/trunk/main.c', 'the path is copied');
  check(/^r\d+$/.test(await copied('Copy revision')), 'the revision is copied');
  const link = await copied('Copy link');
  check(/\/-\/tree\/trunk\/main\.c\?p=\d+$/.test(link) && link.startsWith('http'), `the link names a revision: ${link}`);
  await context.close();
};

const linesAreWrapped = async (browser, top) => {
  const address = `${top}/-/tree/trunk/main.c`;
  const { page, context } = await open(browser, address);
  await page.evaluate(() => { window.stayed = true; });
  await page.click('a[data-wrap]');
  check(await page.isVisible('.lines.unwrapped'), 'the switch takes effect');
  check(page.url() === `${address}?wrap=0` && (await page.evaluate(() => window.stayed)), 'without another page');
  await page.click('a[data-wrap]');
  check(page.url() === address && (await page.locator('.unwrapped').count()) === 0, 'and back');
  await context.close();
};

const gapsUnfold = async (browser, top, view) => {
  const { page, context, said } = await open(browser, `${top}/-/rev/2${view}`);
  const file = page.locator('section.file', { hasText: 'long.txt' });
  const numbers = async () => {
    const rows = await file.locator('table tr').evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td.n')].map((cell) => cell.textContent)));
    return rows.filter((cells) => cells.length > 0).map((cells) => cells[1] || cells[0]).map(Number);
  };
  const before = (await numbers()).length;
  await file.locator('.gap a').first().click();
  await page.waitForFunction(() => document.querySelector('.said').textContent.includes('lines more'));
  const half = (await numbers()).length;
  check(half > before, 'the lines between differences are shown');
  while ((await file.locator('.gap a').count()) > 0) {
    const left = await file.locator('.gap a').first().getAttribute('data-count');
    await file.locator('.gap a').first().click();
    await page.waitForFunction((old) => document.querySelector('.gap a')?.dataset.count !== old, left);
  }
  const all = await numbers();
  const rising = all.every((number, at) => at === 0 || number - all[at - 1] <= 1);
  check(all[0] === 1 && rising && all.length > half, `the lines follow each other${view}: ${all.slice(0, 5)}`);
  check((await file.textContent('table')).includes('line 7 of a long file'), 'with their texts');
  check(said.length === 0, `unfolding: ${said.join('\n')}`);
  await context.close();
};

/** What is stored gains nothing by the script: neither as a script of our pages, nor as a page that loads ours. */
const storedGainsNothing = async (browser, top) => {
  const { page, context } = await open(browser, `${top}/-/tree/trunk`);
  const refused = await page.evaluate(() => {
    const script = document.createElement('script');
    try { script.src = '/svn/odd/trunk/evil.js'; document.head.append(script); return false; } catch { return true; }
  });
  check(refused, 'a page makes no other script');
  const asked = await context.request.get(`${top}/trunk/evil.js`, { headers: { 'sec-fetch-dest': 'script', 'sec-fetch-site': 'same-origin' } });
  check(asked.status() === 403, `a stored file as a script: ${asked.status()}`);
  const raw = await context.newPage();
  await raw.goto(`${top}/trunk/evil.html`);
  const scripts = await raw.evaluate(() => ({ hacked: window.hacked, ours: document.querySelector('.said') !== null }));
  check(!scripts.hacked && !scripts.ours, 'no script runs in a stored page, ours neither');
  await context.close();
};

/** All of it, for the repository at `top`. */
export const scriptHelps = async (browser, top, accessibility) => {
  await timesAreLocal(browser, top);
  await listsAreFiltered(browser, top);
  await keysWork(browser, top, accessibility);
  await placesAreCopied(browser, top);
  await linesAreWrapped(browser, top);
  await gapsUnfold(browser, top, '');
  await gapsUnfold(browser, top, '?view=split');
  await storedGainsNothing(browser, top);
};

/** The pages without a script: the links that stand for it. */
export const linksHelpWithout = async (browser, top) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${top}/-/tree/trunk/main.c`);
  await page.click('a[data-wrap]');
  check(page.url().endsWith('?wrap=0') && (await page.isVisible('.lines.unwrapped')), 'wrapping is a link');
  await page.goto(`${top}/-/rev/2`);
  await page.click('section.file .gap a');
  check(/\/-\/tree\/trunk\/long\.txt\?p=2&l=1-\d+#L1$/.test(page.url()), `so are lines that are left out: ${page.url()}`);
  check((await page.locator('.said, .copy, .filter').count()) === 0, 'and nothing is there that would need a script');
  await context.close();
};
