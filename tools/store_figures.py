#!/usr/bin/env python3
"""What clients' operations cost on a repository in an object store: time beside the same in a folder, and requests to the store, by kind.

    tools/ceph.sh FOLDER PORT tools/store_figures.py SAPWOOD SCRATCH HISTORY TREE [DELAY...]

With ROUNDS=3 in the environment each is done three times, in turns, and the medians count.

SAPWOOD is a program with the feature s3, HISTORY a repository of `sapwood-bench make-repo --profile ruby --pack` (46,000 revisions), TREE a folder of `sapwood-bench
make-tree` (40,000 files), which one commit brings into a repository of its own. Both are served out of folders and out of the bucket that tools/ceph.sh has made, which
answers DELAY ms later (0, 5, 20), by the proxy of tools/store_commits.py. 1.14's clients ask, by svn://:

- cold: a server that has just begun, and no blocks on this machine (of a folder: files that the system has in memory);
- warm: one that has just begun, with the blocks;
- hot: the same server once more.

Prints a table for docs/results/store.tsv; requests are those of /metrics."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

from store_commits import free_port, run

KINDS = ('get', 'read', 'claim', 'put', 'list')


class Server:
    """A server of the folder `root`, and what its stores were asked for since it was looked at last."""

    def __init__(self, program, root):
        self.port, self.metrics, self.before = free_port(), free_port(), {}
        config = os.path.join(os.path.dirname(root), 'sapwood.toml')
        with open(config, 'w') as file:
            file.write(f"path = '{root}'\nlisten = '127.0.0.1'\nsvn-port = {self.port}\nhttp-port = 0\nmetrics-listen = '127.0.0.1:{self.metrics}'\n")
        self.process = subprocess.Popen([program, 'serve', '--config', config], stdout=subprocess.PIPE, text=True)
        while 'Ctrl-C' not in self.process.stdout.readline():
            assert self.process.poll() is None
        self.requests()

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


class Operations:
    """What clients do, each by its name."""

    def __init__(self, scratch):
        self.scratch, self.text = scratch, os.path.join(scratch, 'text')
        with open(self.text, 'w') as file:
            file.write('text\n')
        self.copy = os.path.join(scratch, 'copy')

    def update(self, url):
        run('svn', 'update', '-q', self.copy)

    def checkout(self, url):
        run('svnbench', 'null-export', '-q', f'{url}/tree/tree')

    def log(self, url):
        run('svnbench', 'null-log', '-v', '-q', f'{url}/history')

    def blame(self, url):
        run('svnbench', 'null-blame', f'{url}/history/trunk/ChangeLog')

    def commit(self, url):
        run('svnmucc', '-m', 'x', '-U', f'{url}/tree', 'put', self.text, f'new-{time.time_ns()}')

    def all(self):
        return {'checkout of 40,000 files': self.checkout, 'log -v of 46,000 revisions': self.log, 'blame': self.blame,
                'commit of one file (by svnmucc)': self.commit, 'update with nothing new': self.update}


def measure(program, operations, root):
    """{(operation, state): (seconds, requests)}"""
    figures = {}

    def once(server, what, state):
        server.requests()
        began = time.time()
        operations.all()[what](f'svn://127.0.0.1:{server.port}')
        figures[what, state] = time.time() - began, server.requests()
    for what in operations.all():
        shutil.rmtree(os.environ['SAPWOOD_STORE_CACHE'], ignore_errors=True)
        for states in ('cold',), ('warm', 'hot'):
            server = Server(program, root)
            if what.startswith('update'):
                shutil.rmtree(operations.copy, ignore_errors=True)
                # Another server's, so that this one has seen nothing yet.
                helper = Server(program, root)
                run('svn', 'checkout', '-q', '--depth', 'files', f'svn://127.0.0.1:{helper.port}/tree', operations.copy)
                helper.end()
                if 'cold' in states:
                    shutil.rmtree(os.environ['SAPWOOD_STORE_CACHE'], ignore_errors=True)
                run('svn', 'relocate', f'svn://127.0.0.1:{helper.port}', f'svn://127.0.0.1:{server.port}', operations.copy)
            for state in states:
                once(server, what, state)
            server.end()
    return figures


def medians(rounds):
    """Of some dictionaries as measure() makes them: one, with the medians of their seconds, and the requests of the last."""
    return {key: (statistics.median(one[key][0] for one in rounds), requests) for key, (_, requests) in rounds[-1].items()}


def serve_out_of(program, scratch, name, sources, bucket):
    root = os.path.join(scratch, name, 'served')
    os.makedirs(root)
    for repo, source in sources.items():
        target = os.path.join(root, repo)
        if not bucket:
            os.symlink(source, target)
            continue
        began = time.time()
        run(program, 'store', 'import', source, f'{bucket}/{repo}')
        print(f'{repo}: imported in {time.time() - began:.0f} s', file=sys.stderr)
        run(program, 'store', 'attach', f'{bucket}/{repo}', target)
    return root


def make_tree(program, scratch, tree):
    path = os.path.join(scratch, 'tree')
    run(program, 'svnadmin', 'create', path)
    run(program, 'svn', 'import', '-q', '-m', 'tree', tree, f'file://{path}/tree')
    return path


def set_access(program, root, names, pushed):
    for name in names:
        with open(os.path.join(root, name, 'conf/svnserve.conf'), 'w') as conf:
            conf.write('[general]\nanon-access = write\n')
        if pushed:
            run(program, 'store', 'push', os.path.join(root, name))


def main():
    program, scratch, history, tree = map(os.path.abspath, sys.argv[1:5])
    delays = [int(delay) for delay in sys.argv[5:]] or [0, 5, 20]
    os.makedirs(scratch)
    os.environ['SAPWOOD_STORE_CACHE'] = os.path.join(scratch, 'cache')
    sources = {'history': history, 'tree': make_tree(program, scratch, tree)}
    bucket = f's3://{os.environ["SAPWOOD_S3_BUCKET"]}/figures/{os.getpid()}'
    # The folders are written to by commits, so the store has them first.
    set_access(program, os.path.dirname(history), [os.path.basename(history)], False)
    set_access(program, scratch, ['tree'], False)
    stored = serve_out_of(program, scratch, 'stored', sources, bucket)
    folder = serve_out_of(program, scratch, 'folder', sources, None)
    operations = Operations(scratch)
    rounds = int(os.environ.get('ROUNDS', 1))
    gateway = int(os.environ['AWS_ENDPOINT_URL'].rsplit(':', 1)[1])
    print('what', 'state', 'delay, ms', 'a folder, s', 'the store, s', 'x', *KINDS, sep='\t', flush=True)
    for delay in delays:
        port = free_port()
        proxy = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'store_commits.py'), 'late', str(port), str(gateway), str(delay)])
        os.environ['AWS_ENDPOINT_URL'] = f'http://127.0.0.1:{port if delay else gateway}'
        time.sleep(0.5)
        both = [(measure(program, operations, folder), measure(program, operations, stored)) for _ in range(rounds)]
        beside = medians([one for one, _ in both])
        for (what, state), (took, requests) in medians([one for _, one in both]).items():
            of_folder = beside[what, state][0]
            print(what, state, delay, f'{of_folder:.2f}', f'{took:.2f}', f'{took / of_folder:.2f}', *(requests.get(kind, 0) for kind in KINDS), sep='\t', flush=True)
        proxy.kill()
        proxy.wait()
    print('load', *os.getloadavg(), file=sys.stderr)
    shutil.rmtree(scratch)


if __name__ == '__main__':
    main()
