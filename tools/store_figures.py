#!/usr/bin/env python3
"""Commits and exports of a repository in an object store beside the same in a folder, and the requests that they cost.

    tools/ceph.sh FOLDER PORT tools/store_figures.py SAPWOOD SCRATCH

SAPWOOD is a program with the feature s3. One `sapwood serve` in each place: a plain folder, and the bucket that tools/ceph.sh has made. 1.14's
svnmucc commits small files, 1 client and 8 at a time, each commit a process of its own (a client alone takes some 10 ms of each); 1.14's svn
exports (into memory) 5,000 files of 200 to 4,000 bytes that one commit has brought: from a server that has just begun with no cache on this machine (cold), once
more from the same (hot), and from one that has just begun with the cache (warm). Requests are those of /metrics. Prints a table for
docs/results/store.tsv."""

import concurrent.futures
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

FILES, COMMITS = 5000, 80
KINDS = ('get', 'read', 'claim', 'put', 'list')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    """A server of the folder `root`, and what its stores were asked for since it was looked at last."""

    def __init__(self, program, root):
        self.port, self.metrics, self.before = free_port(), free_port(), {}
        config = os.path.join(os.path.dirname(root), 'sapwood.toml')
        with open(config, 'w') as file:
            file.write(f"path = '{root}'\nsvn-port = {self.port}\nhttp-port = 0\nmetrics-listen = '127.0.0.1:{self.metrics}'\n")
        self.process = subprocess.Popen([program, 'serve', '--config', config], stdout=subprocess.PIPE, text=True)
        while 'Ctrl-C' not in self.process.stdout.readline():
            assert self.process.poll() is None
        self.url = f'svn://127.0.0.1:{self.port}/repo'

    def requests(self):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.metrics}/metrics') as reply:
            text = reply.read().decode()
        now = {kind: int(count) for kind, count in re.findall(r'sapwood_store_requests_total\{store="s3",kind="(\w+)"\} (\d+)', text)}
        new = {kind: count - self.before.get(kind, 0) for kind, count in now.items()}
        self.before = now
        return new

    def end(self):
        self.process.terminate()
        self.process.wait()


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def commits(url, clients, text, name):
    def one(number):
        run('svnmucc', '-m', 'x', '-U', url, 'put', text, f'{name}{number}')
    began = time.time()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        list(pool.map(one, range(COMMITS)))
    return COMMITS / (time.time() - began)


def export(url):
    # In memory: the store's daemons write to the disk of this machine, and 5,000 files of a client would wait for them.
    target = os.path.join(tempfile.mkdtemp(dir='/dev/shm'), 'exported')
    began = time.time()
    run('svn', 'export', '-q', f'{url}/tree', target)
    took = time.time() - began
    shutil.rmtree(os.path.dirname(target))
    return took


def tree(folder):
    chance = random.Random(35)
    for number in range(FILES):
        directory = os.path.join(folder, f'd{number // 100}')
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, f'f{number}'), 'wb') as file:
            file.write(chance.randbytes(chance.randrange(200, 4000)))


def place(program, scratch, name, address):
    """The figures of one place: {what: (figure, requests)}."""
    root = os.path.join(scratch, name, 'served')
    os.makedirs(root)
    repo = os.path.join(root, 'repo')
    run(*([program, 'store', 'create', address, repo] if address else ['svnadmin', 'create', repo]))
    with open(os.path.join(repo, 'conf/svnserve.conf'), 'w') as conf:
        conf.write('[general]\nanon-access = write\n')
    if address:
        run(program, 'store', 'push', repo)
    figures = {}
    server = Server(program, root)
    text = os.path.join(scratch, 'text')
    commits(server.url, 1, text, 'before')
    for clients in 1, 8:
        server.requests()
        figures[f'commits/s, {clients} at a time'] = (commits(server.url, clients, text, f'c{clients}-'), server.requests(), COMMITS)
    run('svn', 'import', '-q', '-m', 'tree', os.path.join(scratch, 'tree'), f'{server.url}/tree')
    server.end()
    shutil.rmtree(os.environ['SAPWOOD_STORE_CACHE'], ignore_errors=True)
    server = Server(program, root)
    for state in 'cold', 'hot':
        figures[f'export, s, {state}'] = (export(server.url), server.requests(), 1)
    server.end()
    server = Server(program, root)
    figures['export, s, warm'] = (export(server.url), server.requests(), 1)
    server.end()
    return figures


def main():
    program, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(scratch)
    os.environ['SAPWOOD_STORE_CACHE'] = os.path.join(scratch, 'cache')
    tree(os.path.join(scratch, 'tree'))
    with open(os.path.join(scratch, 'text'), 'w') as file:
        file.write('text\n')
    bucket = f's3://{os.environ["SAPWOOD_S3_BUCKET"]}/figures/{os.getpid()}'
    folder, store = (place(program, scratch, name, address) for name, address in (('folder', None), ('store', bucket)))
    print('what', 'a folder', 'the store', 'x', *(f'{kind}' for kind in KINDS), sep='\t')
    for what, (figure, requests, times) in store.items():
        beside = folder[what][0]
        print(what, f'{beside:.2f}', f'{figure:.2f}', f'{figure / beside:.2f}', *(f'{requests.get(kind, 0) / times:.2f}' for kind in KINDS), sep='\t')
    print('load', *os.getloadavg(), file=sys.stderr)
    shutil.rmtree(scratch)


if __name__ == '__main__':
    main()
