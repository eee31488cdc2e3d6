#!/usr/bin/env python3
"""What a server that does not own a repository costs those who ask it: forwarded to the owner plain, and with TLS between servers.

    tools/forwarded.py SAPWOOD SCRATCH [COUNT [ROUNDS [MEGABYTES]]]

SAPWOOD is a release build, SCRATCH a new folder. One repository is in a store that is a folder; two servers know each other with TLS, two others without, each pair
serves it. In turns, COUNT (200) times in each of ROUNDS (5), by the owner itself and by the other server of each pair:

- svn login: a new svn:// connection until it has said its youngest revision;
- http request: on a kept connection, one that is forwarded (UNLOCK of what is not locked);
- MEGABYTES (100) of a text that packs to nothing, read by get-file of svn://, once a round.

Prints medians for docs/results/forwarded.tsv; seconds of processor time are those of all servers of a pair. What was forwarded is counted by /metrics."""

import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

from store_commits import free_port, run

TICKS = os.sysconf('SC_CLK_TCK')


def certificates(folder):
    """An authority, and a certificate for this machine's address."""
    def openssl(*words):
        subprocess.run(['openssl', *words], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    curve = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes')
    openssl('req', '-x509', *curve, '-days', '2', '-subj', '/O=Servers', '-keyout', 'ca.key', '-out', 'ca.pem')
    openssl('req', *curve, '-subj', '/O=Servers/CN=own', '-keyout', 'own.key', '-out', 'own.csr')
    with open(os.path.join(folder, 'own.ext'), 'w') as file:
        file.write('subjectAltName = IP:127.0.0.1\n')
    openssl('x509', '-req', '-in', 'own.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-days', '2', '-extfile', 'own.ext', '-out', 'own.pem')


class Server:
    def __init__(self, program, folder, root, own, names, tls):
        self.svn, self.http, self.metrics = free_port(), free_port(), free_port()
        config = os.path.join(folder, f'{own}.toml')
        listed = ', '.join(f"'127.0.0.1:{port}'" for port in names)
        lines = [f"path = '{root}'", "listen = '127.0.0.1'", f'svn-port = {self.svn}', f'http-port = {self.http}',
                 f"metrics-listen = '127.0.0.1:{self.metrics}'", '[servers]', f"own = '127.0.0.1:{own}'", f'list = [{listed}]', "secret-file = 'secret'"]
        if tls:
            lines += ["tls-certificate = 'own.pem'", "tls-key = 'own.key'", "tls-ca = 'ca.pem'"]
        with open(config, 'w') as file:
            file.write('\n'.join(lines) + '\n')
        self.process = subprocess.Popen([program, 'serve', '--config', config], stdout=subprocess.PIPE, text=True)
        while 'Ctrl-C' not in self.process.stdout.readline():
            assert self.process.poll() is None
        self.kept = http.client.HTTPConnection('127.0.0.1', self.http)

    def forwarded(self, door):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.metrics}/metrics') as reply:
            found = re.search(rf'sapwood_routed_total\{{door="{door}",result="forwarded"\}} (\d+)', reply.read().decode())
        return int(found[1]) if found else 0

    def processor(self):
        with open(f'/proc/{self.process.pid}/stat') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def login(self):
        """Seconds until a new connection knows the youngest revision."""
        began = time.perf_counter()
        with Client(self.svn) as client:
            client.send(b'( get-latest-rev ( ) ) ')
            client.items(2)
        return time.perf_counter() - began

    def request(self):
        began = time.perf_counter()
        self.kept.request('UNLOCK', '/repo/file', headers={'Lock-Token': '<opaquelocktoken:00000000-0000-0000-0000-000000000000>'})
        answer = self.kept.getresponse()
        answer.read()
        assert 400 <= answer.status < 500, answer.status
        return time.perf_counter() - began

    def read(self, size):
        began = time.perf_counter()
        with Client(self.svn) as client:
            client.send(b'( get-file ( 4:file ( ) false true ) ) ')
            client.items(2)
            assert client.strings() == size
        return time.perf_counter() - began


class Client:
    """A connection of svn://, as far as this needs it."""

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile('rb', 1 << 20)
        url = b'svn://127.0.0.1:%d/repo' % port
        self.send(b'( 2 ( edit-pipeline svndiff1 depth commit-revprops ) %d:%s 4:test ( ) ) ' % (len(url), url))
        self.send(b'( ANONYMOUS ( 0: ) ) ')
        self.items(4)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def word(self):
        """The next word, or all bytes of the next string."""
        got = b''
        while True:
            byte = self.stream.read(1)
            assert byte, 'the connection ended'
            if byte == b':':
                text = self.stream.read(int(got))
                self.stream.read(1)
                return text, True
            if byte.isspace():
                if got:
                    return got, False
            else:
                got += byte

    def items(self, count):
        for _ in range(count):
            depth = 0
            while True:
                word, is_text = self.word()
                assert is_text or word != b'failure', 'the server refuses'
                if not is_text:
                    depth += (word == b'(') - (word == b')')
                if depth == 0:
                    break

    def strings(self):
        """How many bytes the strings have until an empty one."""
        count = 0
        while True:
            word, is_text = self.word()
            assert is_text, word
            if not word:
                return count
            count += len(word)


def commit(program, url, folder, megabytes):
    path = os.path.join(folder, 'text')
    with open(path, 'wb') as file:
        for _ in range(megabytes):
            file.write(os.urandom(1 << 20))
    run(program, 'svnmucc', '--non-interactive', '-m', 'a text', '-U', url, 'put', path, 'file')
    os.remove(path)


def main():
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    count, rounds, megabytes = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((3, 200), (4, 5), (5, 100)))
    os.makedirs(folder)
    certificates(folder)
    with open(os.path.join(folder, 'secret'), 'w') as file:
        file.write('5' * 64 + '\n')
    os.chmod(os.path.join(folder, 'secret'), 0o600)
    address, all_servers, pairs = f'file://{folder}/store', [], {}
    for way in ('plain', 'TLS'):
        names, pair = [free_port(), free_port()], []
        for own in names:
            root = os.path.join(folder, f'served-{own}')
            os.makedirs(root)
            run(program, 'store', 'attach' if all_servers else 'create', address, f'{root}/repo')
            if not all_servers:
                with open(f'{root}/repo/conf/svnserve.conf', 'w') as conf:
                    conf.write('[general]\nanon-access = write\n')
                run(program, 'store', 'push', f'{root}/repo')
            server = Server(program, folder, root, own, names, way == 'TLS')
            pair.append(server)
            all_servers.append(server)
        for server in pair:
            server.login()
        # The one that forwards is the one that does not own it.
        other = [server for server in pair if server.forwarded('svn')]
        assert len(other) == 1, other
        pairs[way] = (other[0], [server for server in pair if server is not other[0]][0], pair)
    commit(program, f'svn://127.0.0.1:{all_servers[0].svn}/repo', folder, megabytes)
    owner = pairs['plain'][1]
    asked = {'not forwarded': (owner, pairs['plain'][2]), 'plain': (pairs['plain'][0], pairs['plain'][2]), 'TLS': (pairs['TLS'][0], pairs['TLS'][2])}
    print('what', *(f'{name}, {unit}' for name in asked for unit in ('ms', 'processor ms')), sep='\t')
    kinds = (('svn login and one question', 'svn', Server.login, count), ('http request on a kept connection', 'http', Server.request, count),
             (f'{megabytes} MB by svn', 'svn', lambda server: server.read(megabytes << 20), 1))
    for what, door, ask, times in kinds:
        taken, used = {name: [] for name in asked}, {name: 0 for name in asked}
        before = {name: server.forwarded(door) for name, (server, _) in asked.items()}
        for server, _ in asked.values():
            ask(server)
        for _ in range(rounds):
            for name, (server, pair) in asked.items():
                at_start = sum(one.processor() for one in pair)
                taken[name] += [ask(server) for _ in range(times)]
                used[name] += sum(one.processor() for one in pair) - at_start
        for name, (server, _) in asked.items():
            passed = server.forwarded(door) - before[name]
            assert passed == (0 if name == 'not forwarded' else rounds * times + 1), (what, name, passed)
        figures = [(statistics.median(taken[name]), used[name] / rounds / times) for name in asked]
        print(what, *(f'{1000 * value:.2f}' for figure in figures for value in figure), sep='\t', flush=True)
    for server in all_servers:
        server.process.terminate()
        server.process.wait()
    print('load', *os.getloadavg(), file=sys.stderr)


if __name__ == '__main__':
    main()
