// Looks at every kind of web page in Chromium, narrow and wide, light and dark: whether it is accessible (axe-core), fits the
// screen, runs no script that is stored in the repository, and shows nothing that its visitor may not read. `README.md` says how
// it is run.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { browse, check, folder, freePort, out, report, run, sapwood, serve } from './common.mjs';
import { linksHelpWithout, scriptHelps } from './script.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A word that is only in what some visitors may not read. */
const SECRET = 'xyzzyplugh';
/** A word that is nowhere. */
const NOWHERE = 'plughxyzzy';
/** What would run if a page did not escape it. */
const SCRIPT = '<script>window.hacked = 1</script>';
const IMAGE = '<img src=x onerror="window.hacked = 1">';
/** Names in many scripts, and names that are markup. */
const NAMES = ['Äpfel und Birnen.txt', '日本語.txt', 'עברית.txt', '🍎🍐.txt', 'a&b;<i>c.txt', `${IMAGE}.txt`, "it's 100%.txt"];
/** Revisions of the long history. */
const REVISIONS = 2500;

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const top = `${url}/svn/odd`;
const long = `${url}/svn/long`;

/** A second of silence, as a file. */
const silence = () => {
  const rate = 8000;
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + rate, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(rate, 40);
  return Buffer.concat([head, Buffer.alloc(rate, 128)]);
};

/** A paper of one page. */
const paper = () => {
  const parts = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>',
    '<< /Length 42 >>\nstream\nBT /F 24 Tf 40 100 Td (A paper) Tj ET      \nendstream'];
  let text = '%PDF-1.4\n';
  const places = parts.map((part, at) => {
    const place = text.length;
    text += `${at + 1} 0 obj\n${part}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  return `${text}xref\n0 5\n0000000000 65535 f \n${table}trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
};

/** A repository with hostile contents, of which a part is hidden from all but Ada. */
const makeOdd = () => {
  run('svnadmin', 'create', join(folder, 'odd'));
  const tree = join(folder, 'tree');
  const write = (path, text) => writeFileSync(join(tree, path), text);
  for (const name of ['trunk', 'branches', 'tags', 'trunk/secret']) mkdirSync(join(tree, name), { recursive: true });
  NAMES.forEach((name) => write(join('trunk', name), `${name}\n${SCRIPT}\n`));
  write('trunk/README.md', `# The *odd* one\n\n${SCRIPT}${IMAGE}\n\n[a link](javascript:window.hacked=1)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n`);
  write('trunk/main.c', '#include <stdio.h>\n\nint main(void) {\n\tputs("hello");\n\treturn 0;\n}\n');
  write('trunk/long.txt', Array.from({ length: 5000 }, (_, n) => `line ${n} of a long file\n`).join(''));
  write('trunk/sound.wav', silence());
  write('trunk/paper.pdf', paper());
  write('trunk/windows.txt', Buffer.from(`\ufeffeins\r\nzwölf ${SCRIPT}\r\n`, 'utf16le'));
  write('trunk/evil.js', 'window.hacked = 1;\n');
  write('trunk/evil.html', `${SCRIPT}<script src="evil.js"></script>`);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><script>window.hacked = 1</script><rect width="40" height="40" fill="green"/></svg>`;
  write('trunk/picture.svg', svg);
  write('trunk/data.bin', Buffer.from([0, 1, 2, 3, 255, 254, 0, 7]));
  write('trunk/secret/plan.txt', `The plan: ${SECRET}.\n`);
  const file = `file://${folder}/odd`;
  run('svn', 'import', '-q', '--username', IMAGE, '-m', `The start. ${SCRIPT}`, tree, file);
  const wc = join(folder, 'wc');
  const commit = (message) => run('svn', 'commit', '-q', '--username', 'ada', '-m', message, wc);
  run('svn', 'checkout', '-q', file, wc);
  const change = (path, text) => writeFileSync(join(wc, path), text);
  change('trunk/main.c', '#include <stdio.h>\n\nint main(int argc, char **argv) {\n\tputs("hello, world");\n\treturn argc;\n}\n');
  const later = (n) => n === 2500 ? 'another line' : `line ${n} of a long file`;
  change('trunk/long.txt', Array.from({ length: 5000 }, (_, n) => `${later(n)}\n`).join(''));
  change('trunk/picture.svg', svg.replace('green', 'blue'));
  change('trunk/data.bin', Buffer.from([0, 9, 9]));
  run('svn', 'propset', '-q', 'svn:mime-type', 'text/html', join(wc, 'trunk/evil.html'));
  run('svn', 'propset', '-q', `p${SCRIPT}`.replace(/[^\w]/g, '-'), SCRIPT, join(wc, 'trunk/main.c'));
  commit(`Greets the world.\n\n${IMAGE}`);
  change('trunk/secret/plan.txt', `Another plan: ${SECRET}.\n`);
  commit(`About the ${SECRET}.`);
  run('svn', 'copy', '-q', '-m', 'A branch.', `${file}/trunk`, `${file}/branches/one`);
  run('svn', 'propset', '-q', 'svn:mergeinfo', '/branches/one:2-4', join(wc, 'trunk'));
  change('trunk/windows.txt', Buffer.from('\ufeffeins\r\nzwei\r\n', 'utf16le'));
  run('svn', 'update', '-q', wc);
  commit('Merges.');
  run('svn', 'propset', '-q', 'svn:mergeinfo', '/branches/one:2-3\n/branches/<b>two:1', join(wc, 'trunk'));
  run('svn', 'update', '-q', wc);
  commit('Merges more.');
  run('svn', 'lock', '-q', '--username', 'ada', '-m', `Mine. ${SCRIPT}`, `${file}/trunk/data.bin`);
};

/** A repository with many revisions of one file. */
const makeLong = () => {
  const record = (head, body = '') => `${head}${body ? `Content-length: ${Buffer.byteLength(body)}\n\n${body}\n` : '\n'}`;
  const props = (pairs) => {
    const lines = Object.entries(pairs).map(([k, v]) => `K ${k.length}\n${k}\nV ${Buffer.byteLength(v)}\n${v}\n`).join('');
    return `${lines}PROPS-END\n`;
  };
  const parts = ['SVN-fs-dump-format-version: 2\n\n'];
  for (let n = 1; n <= REVISIONS; n += 1) {
    const revision = props({
      'svn:author': n % 3 ? 'ada' : 'bob',
      'svn:date': new Date(1.1e12 + n * 1e7).toISOString().replace('Z', '000Z'),
      'svn:log': `Change number ${n}.`,
    });
    parts.push(record(`Revision-number: ${n}\nProp-content-length: ${Buffer.byteLength(revision)}\n`, revision));
    const text = `line one\nnumber ${n}\nline three\n`;
    const action = n === 1 ? 'add' : 'change';
    const head = `Node-path: f.txt\nNode-kind: file\nNode-action: ${action}\nText-content-length: ${text.length}\n`;
    parts.push(record(head, text), '\n');
  }
  run('svnadmin', 'create', join(folder, 'long'));
  const load = ['svnadmin', 'load', '-q', '--no-flush-to-disk', join(folder, 'long')];
  execFileSync(sapwood, load, { input: parts.join('') });
};

const configure = () => {
  const users = join(folder, 'users');
  writeFileSync(users, '');
  for (const name of ['ada', 'bob']) execFileSync('htpasswd', ['-bB', '-C', '4', users, name, 'secret'], { stdio: 'ignore' });
  writeFileSync(join(folder, 'rules'), `[/]\n* = r\nada = rw\n[odd:/trunk/secret]\n* =\nada = rw\n[odd:/branches/one/secret]\n* =\nada = rw\n`);
  mkdirSync(join(folder, 'index'));
  writeFileSync(
    join(folder, 'sapwood.toml'),
    `http-port = ${port}
search-folder = "index"
[[location]]
url = "/svn"
folder = "."
list = true
users = "users"
authz = "rules"
login = "optional"
`,
  );
};

/** Each kind of page. */
const PAGES = {
  repositories: `${url}/svn/`,
  top: `${top}/-/tree/`,
  directory: `${top}/-/tree/trunk`,
  file: `${top}/-/tree/trunk/main.c`,
  'long-file': `${top}/-/tree/trunk/long.txt`,
  odd: `${top}/-/tree/trunk/${encodeURIComponent(NAMES[5])}`,
  picture: `${top}/-/tree/trunk/picture.svg`,
  binary: `${top}/-/tree/trunk/data.bin`,
  sound: `${top}/-/tree/trunk/sound.wav`,
  paper: `${top}/-/tree/trunk/paper.pdf`,
  utf16: `${top}/-/tree/trunk/windows.txt`,
  merged: `${top}/-/rev/6`,
  log: `${top}/-/log/trunk`,
  'log-search': `${long}/-/log/f.txt?q=author:bob+change`,
  'long-log': `${long}/-/log/f.txt`,
  blame: `${top}/-/blame/trunk/main.c`,
  revision: `${top}/-/rev/2`,
  first: `${top}/-/rev/1`,
  compare: `${top}/-/compare/trunk?from=1`,
  graph: `${top}/-/graph/`,
  locks: `${top}/-/locks/`,
  search: `${top}/-/search?q=hello`,
  'no-hit': `${top}/-/search?q=${SECRET}`,
  missing: `${top}/-/tree/not-here`,
  plain: `${top}/trunk/`,
};

const RULES = { runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] } };

/** Numbers of lines are as high as lines of code: WCAG 2.5.8 excepts targets whose size is essential to what is shown. */
const isLineNumber = (rule, node) => rule === 'target-size' && /^<a [^>]*href="[^"]*#L\d+"/.test(node.html);

/** What axe-core finds wrong, in a few words. */
const accessibility = async (page) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((rules) => window.axe.run(document, rules), RULES);
  const left = violations.map(({ id, nodes }) => ({ id, nodes: nodes.filter((node) => !isLineNumber(id, node)) }));
  return left.filter(({ nodes }) => nodes.length > 0).map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' | ')}`);
};

/** Opens each page in one shape of window. */
const lookAtAll = async (browser, name, options) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const said = [];
  page.on('dialog', (dialog) => said.push(dialog.message()));
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  for (const [kind, address] of Object.entries(PAGES)) {
    const answer = await page.goto(address);
    const where = `${kind}, ${name}`;
    check(answer.status() === (kind === 'missing' ? 404 : 200), `${where}: status ${answer.status()}`);
    check(!(await page.evaluate(() => window.hacked)), `${where}: a stored script ran`);
    const wrong = await accessibility(page);
    check(wrong.length === 0, `${where}: ${wrong.join('\n')}`);
    const { wide, fits } = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return { wide: scrollWidth, fits: clientWidth };
    });
    check(wide <= fits, `${where}: ${wide} pixels do not fit ${fits}`);
    if (kind === 'no-hit') {
      // What may not be read is as what is not there: but for the word that was typed, both pages are the same.
      const bodies = [address, address.replace(SECRET, NOWHERE)].map(async (asked) => (await context.request.get(asked)).text());
      const [hidden, missing] = await Promise.all(bodies);
      check(hidden.includes(SECRET), `${where}: the page does not repeat what was typed`);
      check(hidden.replaceAll(SECRET, NOWHERE) === missing, `${where}: the page of a hidden word is another than that of a word that is nowhere`);
    } else {
      const shown = (await page.content()).split(SECRET).length - 1;
      check(shown === 0, `${where}: the hidden word is shown ${shown} times`);
    }
    await page.screenshot({ path: join(out, `${kind}-${name}.png`) });
  }
  const refused = said.filter((line) => !line.includes('status of 404'));
  check(refused.length === 0, `${name}: the browser complained: ${refused.join('\n')}`);
  await context.close();
};

const loggedIn = (name) => ({ authorization: `Basic ${Buffer.from(`${name}:secret`).toString('base64')}` });

/** What may not be read answers as what is not there: to a user, and where the same rules hold, to a visitor who has not logged in. */
const hiddenIsMissing = async () => {
  const kinds = ['tree/', 'log/', 'blame/', 'compare/', 'feed/', 'locks/', 'api/v1/tree/', 'api/v1/log/', 'api/v1/blame/', 'api/v1/locks/', 'graph/', 'api/v1/graph/', 'api/v1/compare/'];
  for (const kind of kinds) {
    const of = async (path, headers) => {
      const answer = await fetch(`${top}/-/${kind}trunk/${path}`, { headers });
      return `${answer.status} ${(await answer.text()).replaceAll(path, 'PATH')}`;
    };
    const same = async (hidden, missing, status, headers) => {
      const [a, b] = [await of(hidden, headers), await of(missing, headers)];
      check(a === b && a.startsWith(status), `${kind}${hidden}: what is hidden is not as what is missing:\n${a}\n${b}`);
    };
    await same('secret', 'nowhere', '404', loggedIn('bob'));
    await same('secret/plan.txt', 'secret/none.txt', '404', loggedIn('bob'));
    await same('secret/plan.txt', 'secret/none.txt', '401', {});
  }
  const all = ['rev/3', 'api/v1/rev/3', 'log/', 'api/v1/log/', 'feed/', 'compare/?from=2', 'graph/', 'api/v1/graph/', 'api/v1/diff/3', 'search?q=plan&in=changes', 'search?q=plan&in=properties', `api/v1/search?q=${SECRET}`, `search?q=plan`];
  for (const address of all) {
    const answers = [{}, loggedIn('bob')].map(async (headers) => (await fetch(`${top}/-/${address}`, { headers })).text());
    const text = (await Promise.all(answers)).join('');
    check(text.split(SECRET).length - 1 <= (address.includes(`q=${SECRET}`) ? 4 : 0), `${address} shows what is hidden`);
  }
};

/** A user who may read it sees it. */
const adaSeesAll = async (browser) => {
  const context = await browser.newContext({ extraHTTPHeaders: loggedIn('ada') });
  const page = await context.newPage();
  await page.goto(`${top}/-/tree/trunk/secret/plan.txt`);
  check((await page.textContent('main')).includes(SECRET), 'a user who may read it sees the file');
  await page.goto(`${top}/-/rev/3`);
  check((await page.textContent('main')).includes(`About the ${SECRET}`), 'and the message');
  await context.close();
};

/** The history of a path is whole when one goes on from page to page, and no page costs more than the first. */
const historyIsWhole = async (browser) => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(PAGES['long-log']);
  const found = [];
  for (let pages = 0; pages < 4; pages += 1) {
    const numbers = (await page.textContent('main')).matchAll(/Change number (\d+)\./g);
    found.push(...[...numbers].map((match) => Number(match[1])));
    await page.click('main a:has-text("Older")');
  }
  const wanted = Array.from({ length: found.length }, (_, at) => REVISIONS - at);
  check(found.length === 200 && found.every((number, at) => number === wanted[at]), `four pages of history: ${found}`);
};

/** Sound is played in its page, by ranges; a paper is the one of the page, and neither is a page of its own. */
const mediaAreShown = async (browser) => {
  const page = await (await browser.newContext()).newPage();
  const said = [];
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  await page.goto(PAGES.sound);
  await page.waitForFunction(() => document.querySelector('audio').readyState > 0);
  check((await page.evaluate(() => document.querySelector('audio').duration)) === 1, 'the sound is a second long');
  const [answer] = await Promise.all([page.waitForResponse((response) => response.url().includes('/-/media/')), page.goto(PAGES.paper)]);
  check(answer.headers()['content-type'] === 'application/pdf', 'the paper has its type');
  await page.goto(PAGES.utf16);
  check((await page.textContent('table.code')).includes('zwei'), 'a text in UTF-16 is a text');
  check(said.length === 0, `media: ${said.join('\n')}`);
};

/** Search finds what is there once the index is made. */
const searchFinds = async (browser) => {
  const page = await (await browser.newContext()).newPage();
  for (;;) {
    await page.goto(`${top}/-/search?q=world`);
    if (!(await page.textContent('main')).includes('being made')) break;
  }
  check((await page.textContent('main')).includes('main.c'), 'the search finds a text');
};

makeOdd();
makeLong();
configure();
const server = await serve();
const browser = await browse();
try {
  await searchFinds(browser);
  const [wide, narrow] = [{ width: 1280, height: 900 }, { width: 390, height: 844 }];
  await lookAtAll(browser, 'wide-light', { viewport: wide, colorScheme: 'light' });
  await lookAtAll(browser, 'wide-dark', { viewport: wide, colorScheme: 'dark' });
  await lookAtAll(browser, 'narrow-light', { viewport: narrow, colorScheme: 'light' });
  await lookAtAll(browser, 'narrow-dark', { viewport: narrow, colorScheme: 'dark' });
  await hiddenIsMissing();
  await adaSeesAll(browser);
  await historyIsWhole(browser);
  await mediaAreShown(browser);
  await scriptHelps(browser, top, accessibility);
  await linksHelpWithout(browser, top);
} finally {
  await browser.close();
  server.kill();
}
report('web pages');
process.exit(0);
