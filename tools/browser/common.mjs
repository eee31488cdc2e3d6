// What the browser tests share: a folder, a port, the programs, and Chromium.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { chromium } from 'playwright-core';

const [program, pictures] = process.argv.slice(2);
if (!program || !pictures) {
  console.error('usage: node SCRIPT SAPWOOD FOLDER-OF-PICTURES');
  process.exit(2);
}

/** The program under test. */
export const sapwood = resolve(program);
/** Where pictures go. */
export const out = resolve(pictures);
mkdirSync(out, { recursive: true });
/** A folder of this run, which goes with it. */
export const folder = mkdtempSync(join(tmpdir(), 'sapwood-browser-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Runs one of our programs, and returns what it prints. */
export const run = (...args) => execFileSync(sapwood, args, { encoding: 'utf8' });

/** A port that is free now. */
export const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

let checked = 0;
/** Ends the test unless `holds`. */
export const check = (holds, what) => {
  if (!holds) throw new Error(`wrong: ${what}`);
  checked += 1;
};
/** Says how much was checked. */
export const report = (what) => console.log(`${what}: ${checked} checks, all right`);

/** Starts the server with the configuration in `folder`; it listens when this returns. */
export const serve = async () => {
  const config = join(folder, 'sapwood.toml');
  const server = spawn(sapwood, ['serve', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(server, 'exit').then(() => {
    throw new Error('the server ended');
  });
  await Promise.race([once(server.stdout, 'data'), ended]);
  ended.catch(() => {});
  server.stdout.resume();
  return server;
};

/** Starts Chromium, which asks nothing of other machines. */
export const browse = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
