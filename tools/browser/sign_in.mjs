// Signs in to pages of `sapwood serve` in Chromium, by a real provider of OpenID Connect, and looks at the pages of the server.
// `README.md` says how it is run.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Provider } from 'oidc-provider';
import { browse, check, folder, freePort, out, report, run, sapwood, serve } from './common.mjs';

const [port, providerPort] = [await freePort(), await freePort()];
const url = `http://127.0.0.1:${port}`;
const issuer = `http://127.0.0.1:${providerPort}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: 'svn', client_secret: 'hush', redirect_uris: [`${url}/-/signed-in`] }],
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email', 'email_verified'] },
  async findAccount(_, id) {
    const groups = id === 'ada' ? ['devs'] : [];
    const claims = { sub: `${id}-1`, preferred_username: id, groups, email: `${id}@example.com`, email_verified: true };
    return { accountId: id, claims: async () => claims };
  },
  cookies: { keys: ['of the test'] },
});
const listener = provider.listen(providerPort, '127.0.0.1');

run('svnadmin', 'create', join(folder, 'repo'));
const file = `file://${folder}/repo`;
run('svn', 'mkdir', '-q', '-m', 'The start.', `${file}/trunk`, `${file}/branches`);
writeFileSync(join(folder, 'README.md'), '# Game\n\nFor developers.\n');
run('svn', 'import', '-q', '-m', 'A README.', join(folder, 'README.md'), `${file}/trunk/README.md`);
writeFileSync(join(folder, 'rules'), '[groups]\ndevs = group:devs\n[/]\n* = r\n[/trunk]\n* =\n@devs = rw\n');
writeFileSync(join(folder, 'secret'), 'hush\n');
writeFileSync(join(folder, 'accounts.toml'), 'format = 1\n');
writeFileSync(
  join(folder, 'sapwood.toml'),
  `http-port = ${port}
[[location]]
url = "/svn"
folder = "."
oidc = true
authz = "rules"
[oidc]
issuer = "${issuer}"
client-id = "svn"
client-secret-file = "secret"
url = "${url}"
name-claim = "preferred_username"
name-suffix = "@example.com"
groups-claim = "groups"
accounts = "accounts.toml"
`,
);
const server = await serve();
const browser = await browse();

const signIn = async (page, user) => {
  await page.fill('input[name=login]', user);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  // The provider asks whether this server may know who it is.
  await page.click('button[type=submit]');
};

try {
  const wide = { viewport: { width: 1200, height: 800 } };
  const ada = await browser.newContext(wide);
  const page = await ada.newPage();
  const refused = [];
  page.on('console', (message) => message.type() === 'error' && refused.push(message.text()));
  await page.goto(`${url}/svn/repo/-/tree/trunk`);
  check(page.url().startsWith(issuer), 'a browser that has to log in is at the provider');
  await signIn(page, 'ada');
  await page.waitForURL(`${url}/svn/repo/-/tree/trunk`);
  check((await page.textContent('main')).includes('README.md'), "a member of the claim's group sees the trunk");
  check((await page.textContent('header')).includes('ada@example.com'), 'the page says who looks at it');
  await page.screenshot({ path: join(out, 'tree.png') });

  await page.goto(`${url}/-/tokens`);
  if ((await page.title()).startsWith('Tokens')) {
    await page.fill('input[name=name]', 'laptop');
    await page.uncheck('input[name=read-only]');
    await page.click('button:has-text("Make a token")');
    const token = await page.textContent('.secret');
    await page.screenshot({ path: join(out, 'token.png') });
    const login = ['--no-auth-cache', '--non-interactive', '--username', 'ada@example.com', '--password', token];
    const there = run('svn', 'ls', `${url}/svn/repo/trunk`, ...login);
    check(there.includes('README.md'), 'svn reads with the token');
    run('svn', 'mkdir', '-q', '-m', 'By a token.', `${url}/svn/repo/trunk/new`, ...login);
    await page.goto(`${url}/-/tokens`);
    check(!(await page.content()).includes(token), 'the token is shown once');
    await page.screenshot({ path: join(out, 'tokens.png') });
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: join(out, 'tokens-narrow-dark.png') });
    await page.click('button:has-text("Revoke")');
    check((await page.textContent('main')).includes('You have no tokens'), 'a token is revoked');
    let works = true;
    try {
      execFileSync(sapwood, ['svn', 'ls', `${url}/svn/repo/trunk`, ...login], { stdio: 'ignore' });
    } catch {
      works = false;
    }
    check(!works, 'a revoked token is refused');
  }

  const bob = await (await browser.newContext(wide)).newPage();
  await bob.goto(`${url}/svn/repo/-/tree/`);
  await signIn(bob, 'bob');
  await bob.waitForURL(`${url}/svn/repo/-/tree/`);
  check(!(await bob.textContent('main')).includes('trunk'), 'another user does not see the trunk');
  const answer = await bob.goto(`${url}/svn/repo/-/tree/trunk`);
  check(answer.status() === 404, 'and it is not there');

  await page.goto(`${url}/-/sign-out`);
  await page.screenshot({ path: join(out, 'sign-out.png') });
  await page.click('button');
  check((await page.textContent('h1')) === 'You are signed out', 'a user signs out');
  await page.screenshot({ path: join(out, 'signed-out.png') });
  const cookies = (await ada.cookies(url)).filter((cookie) => cookie.name.startsWith('sapwood'));
  check(cookies.length === 0, 'the cookie is gone');
  await page.goto(`${url}/-/signed-in?code=x&state=y`);
  await page.screenshot({ path: join(out, 'stale.png') });
  check(refused.filter((text) => text.includes('Content Security Policy')).length === 0, 'the pages keep their own policy');
} finally {
  await browser.close();
  server.kill();
  listener.close();
}
report('signing in');
process.exit(0);
