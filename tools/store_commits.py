#!/usr/bin/env python3
"""Commits a second to one repository in an object store, by servers that know each other and by servers that do not, near and far from the store.

    tools/ceph.sh FOLDER PORT tools/store_commits.py SAPWOOD SCRATCH [SECONDS]

SAPWOOD is a program with the feature s3. For each delay of the store (0, 5 and 20 ms from a request to its answer, by a proxy of this script), for 1 server, 3 that
are named to each other (`[servers]`), and 3 that are not: 1, 8 and 64 clients, each on a connection of its own, add small files by svn://, one after the other, each
to a folder of its own, for SECONDS (8), all of one process here. Prints commits a second, the median and the 99th percentile of a commit in ms, and requests to
the store a commit (those of /metrics); then what the history says: as many revisions as were acknowledged."""

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

DELAYS, CLIENTS = (0, 5, 20), (1, 8, 64)
WAYS = (('1 server', 1, False), ('3 with [servers]', 3, True), ('3 without', 3, False))
TEXT = b'SVN\0' + bytes([0, 0, 5, 1, 5, 0x85]) + b'text\n'


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


async def late(port, target, delay):
    """Passes bytes on, each way half of the delay later."""
    half, loop = delay / 2000, asyncio.get_running_loop()

    async def pass_on(reader, writer):
        queue = asyncio.Queue()

        async def out():
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0, due - loop.time()))
                if not data:
                    return writer.close()
                writer.write(data)
        sending = asyncio.create_task(out())
        data = b'x'
        while data:
            try:
                data = await reader.read(1 << 18)
            except OSError:
                data = b''
            queue.put_nowait((loop.time() + half, data))
        await sending

    async def accept(reader, writer):
        there, to = await asyncio.open_connection('127.0.0.1', target)
        await asyncio.gather(pass_on(reader, to), pass_on(there, writer), return_exceptions=True)
    async with await asyncio.start_server(accept, '127.0.0.1', port) as server:
        await server.serve_forever()


class Servers:
    """Servers of one new repository, each with a folder and a cache of its own."""

    def __init__(self, program, scratch, count, know_each_other):
        address = f's3://{os.environ["SAPWOOD_S3_BUCKET"]}/commits/{os.getpid()}-{time.time_ns()}'
        own = [free_port() for _ in range(count)]
        self.ports, self.metrics, self.processes = [], [], []
        with open(f'{scratch}/secret', 'w') as file:
            file.write('5' * 64 + '\n')
        os.chmod(f'{scratch}/secret', 0o600)
        for number in range(count):
            root = f'{scratch}/{number}/served'
            shutil.rmtree(f'{scratch}/{number}', ignore_errors=True)
            os.makedirs(root)
            environment = dict(os.environ, SAPWOOD_STORE_CACHE=f'{scratch}/{number}/cache')
            run(program, 'store', 'attach' if number else 'create', address, f'{root}/repo')
            if not number:
                with open(f'{root}/repo/conf/svnserve.conf', 'w') as conf:
                    conf.write('[general]\nanon-access = write\n')
                run(program, 'store', 'push', f'{root}/repo')
            self.ports.append(free_port())
            self.metrics.append(free_port())
            lines = [f"path = '{root}'", "listen = '127.0.0.1'", f'svn-port = {self.ports[-1]}', 'http-port = 0',
                     f"metrics-listen = '127.0.0.1:{self.metrics[-1]}'"]
            if know_each_other:
                names = ', '.join(f"'127.0.0.1:{port}'" for port in own)
                lines += ['[servers]', f"own = '127.0.0.1:{own[number]}'", f'list = [{names}]', f"secret-file = '{scratch}/secret'"]
            with open(f'{scratch}/{number}/sapwood.toml', 'w') as file:
                file.write('\n'.join(lines) + '\n')
            process = subprocess.Popen([program, 'serve', '--config', f'{scratch}/{number}/sapwood.toml'], stdout=subprocess.PIPE, text=True, env=environment)
            while 'Ctrl-C' not in process.stdout.readline():
                assert process.poll() is None
            self.processes.append(process)

    def requests(self):
        count = 0
        for port in self.metrics:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics') as reply:
                found = re.findall(r'sapwood_store_requests_total\{store="s3",kind="\w+"\} (\d+)', reply.read().decode())
                count += sum(map(int, found))
        return count

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


class Client:
    """A connection of svn://, as far as commits need it."""

    async def open(self, port):
        self.reader, self.writer = await asyncio.open_connection('127.0.0.1', port)
        url = b'svn://127.0.0.1:%d/repo' % port
        self.send(b'( 2 ( edit-pipeline svndiff1 depth commit-revprops ) %d:%s 4:test ( ) ) ' % (len(url), url))
        self.send(b'( ANONYMOUS ( 0: ) ) ')
        for _ in range(4):
            await self.item()
        return self

    def send(self, data):
        self.writer.write(data)

    async def item(self):
        """One list, as bytes; no string in it has a parenthesis."""
        depth, got = 0, b''
        while True:
            part = await self.reader.readuntil(b' ')
            got += part
            depth += part.count(b'(') - part.count(b')')
            if depth == 0 and got.strip():
                assert not got.startswith(b'( failure'), got
                return got

    async def youngest(self):
        self.send(b'( get-latest-rev ( ) ) ')
        await self.item()
        return int((await self.item()).split()[3])

    async def commit(self, edits):
        self.send(b'( commit ( 1:x ( ) false ( ) ) ) ')
        await self.item()
        await self.item()
        self.send(edits)
        await self.item()
        await self.item()
        return int((await self.item()).split()[1])


def adds(folder, name):
    """Edits that add a file to a folder."""
    text = b'( textdelta-chunk ( 1:c %d:%s ) ) ' % (len(TEXT), TEXT)
    path = b'%s/%s' % (folder, name)
    return (b'( open-root ( ( ) 1:a ) ) ( open-dir ( %d:%s 1:a 1:b ( ) ) ) ( add-file ( %d:%s 1:b 1:c ( ) ) ) ( apply-textdelta ( 1:c ( ) ) ) '
            % (len(folder), folder, len(path), path)
            + text + b'( textdelta-end ( 1:c ) ) ( close-file ( 1:c ( ) ) ) ( close-dir ( 1:b ) ) ( close-dir ( 1:a ) ) ( close-edit ( ) ) ')


async def measure(servers, clients, seconds, round_name):
    opened = [await Client().open(servers.ports[number % len(servers.ports)]) for number in range(clients)]
    for number, client in enumerate(opened):
        folder = b'%s-%d' % (round_name, number)
        await client.commit(b'( open-root ( ( ) 1:a ) ) ( add-dir ( %d:%s 1:a 1:b ( ) ) ) ( close-dir ( 1:b ) ) ( close-dir ( 1:a ) ) ( close-edit ( ) ) '
                            % (len(folder), folder))
    before, revision, times = servers.requests(), await opened[0].youngest(), []
    began = time.time()

    async def work(number, client):
        file = 0
        while time.time() < began + seconds:
            begin = time.time()
            await client.commit(adds(b'%s-%d' % (round_name, number), b'f%d' % file))
            times.append(time.time() - begin)
            file += 1
    await asyncio.gather(*(work(number, client) for number, client in enumerate(opened)))
    took = time.time() - began
    # What was acknowledged is there, on each server.
    for port in servers.ports:
        assert await (await Client().open(port)).youngest() == revision + len(times)
    times.sort()
    return len(times) / took, 1000 * times[len(times) // 2], 1000 * times[len(times) * 99 // 100], (servers.requests() - before) / len(times)


def main():
    if sys.argv[1] == 'late':
        return asyncio.run(late(*map(int, sys.argv[2:])))
    program, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 8
    os.makedirs(scratch)
    gateway = int(os.environ['AWS_ENDPOINT_URL'].rsplit(':', 1)[1])
    print('delay of the store, ms', 'servers', 'clients', 'commits/s', 'median, ms', '99 of 100, ms', 'requests a commit', sep='\t', flush=True)
    for delay in DELAYS:
        port = free_port()
        proxy = subprocess.Popen([sys.executable, __file__, 'late', str(port), str(gateway), str(delay)])
        os.environ['AWS_ENDPOINT_URL'] = f'http://127.0.0.1:{port if delay else gateway}'
        time.sleep(0.5)
        for name, count, know in WAYS:
            servers = Servers(program, scratch, count, know)
            for clients in CLIENTS:
                figures = asyncio.run(measure(servers, clients, seconds, b'c%d' % clients))
                print(delay, name, clients, *(f'{figure:.1f}' for figure in figures), sep='\t', flush=True)
            servers.end()
        proxy.kill()
        proxy.wait()
    print('load', *os.getloadavg(), file=sys.stderr)
    shutil.rmtree(scratch)


if __name__ == '__main__':
    main()
