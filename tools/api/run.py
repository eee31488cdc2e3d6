#!/usr/bin/env python3
"""Schemathesis against the JSON interface of the demonstration: tools/api/run.py PROGRAM (with schemathesis on the PATH, as `cargo xtask api` has it).

Serves the demonstration with a search index, and asks whatever the description of the interface allows, and what it forbids: once as a visitor, once
logged in. Answers that the description does not know, values of another form, and errors of the server are failures. --examples N: so many of each
kind of question (100); --seed N: the same questions again."""

import argparse
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


def served(program, folder):
    """The server, and the URL of its repository."""
    config = os.path.join(folder, 'sapwood.toml')
    with open(config, 'w') as file:
        file.write(f'search-folder = "{folder}/indexes"\n')
    command = [program, 'serve', '--config', config, '--demo', f'{folder}/demo', '--port', '0', '--http-port', '0']
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        if line.strip().startswith('http://'):
            return child, line.strip()
    raise SystemExit('the server does not say where it listens')


def wait_for_index(url):
    while True:
        try:
            with urllib.request.urlopen(f'{url}/-/api/v1/search?q=trunk'):
                return
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--examples', default='100')
    parser.add_argument('--seed', default='1')
    parser.add_argument('program')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        child, url = served(os.path.abspath(args.program), folder)
        try:
            wait_for_index(url)
            for login in [[], ['--auth', 'demo:demo']]:
                command = ['schemathesis', '--config-file', f'{HERE}/schemathesis.toml', 'run', f'{url}/-/api/v1/openapi.json', '--url', url]
                command += ['--max-examples', args.examples, '--seed', args.seed, '--no-color', *login]
                subprocess.run(command, check=True, cwd=folder)
        finally:
            child.terminate()
            child.wait()


try:
    main()
except subprocess.CalledProcessError as error:
    raise SystemExit(error.returncode)
