#!/usr/bin/env python3
"""What one server costs whose store has many repositories, of which a few are hot.

    tools/store_many.py SAPWOOD SCRATCH COUNT...

SAPWOOD is a program of this tree, SCRATCH a new folder for all of it. One repository is made by `sapwood svnadmin create` (without the samples
of hooks), brought into a store that is a folder, and attached; the others are written as its bytes with a name, a UUID and a log of their own, because
COUNT times `sapwood store create` is not what is measured here. `SAPWOOD store verify` looks at the last of them. Under tools/ceph.sh, and with
SAPWOOD_S3_BUCKET set, the logs go to the bucket (PUT by a pool of threads).

For each COUNT, one new `sapwood serve` over all of them:
- start: from the process to its first answer, ms;
- open: `svn info` of a repository that nothing has asked for yet, median of 40, ms; 'again' is the second time;
- hot: 5 repositories, a commit each in turn, median of 50, ms;
- list: the first page of the list of repositories over http, as it is and with a filter, and the first as values; median of 5, ms;
- metrics, status: the pages for who runs it, median of 5, ms;
- memory: resident, at the start, and after 200, 2,000 and 8,000 repositories were asked for, MB; open files and threads after them.
Prints a table for docs/results/store-many.tsv."""

import concurrent.futures
import hashlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
import uuid

ASKED = 200, 2000, 8000


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)


class Template:
    """One repository in a store and its folder, as bytes with the names of another in place of its own."""

    def __init__(self, program, scratch):
        plain, store, folder = (os.path.join(scratch, name) for name in ('plain', 'store-of-one', 'one'))
        run(program, 'svnadmin', 'create', plain)
        for name in os.listdir(os.path.join(plain, 'hooks')):
            os.remove(os.path.join(plain, 'hooks', name))
        write(os.path.join(plain, 'conf/svnserve.conf'), b'[general]\nanon-access = write\n')
        run(program, 'store', 'import', plain, 'file://' + store)
        run(program, 'store', 'attach', 'file://' + store, folder)
        self.entries = [read(os.path.join(store, 'log', name)) for name in sorted(os.listdir(os.path.join(store, 'log')))]
        self.files, self.folders = {}, []
        for above, names, files in os.walk(folder):
            self.folders += [os.path.relpath(os.path.join(above, name), folder) for name in names]
            for name in files:
                path = os.path.join(above, name)
                self.files[os.path.relpath(path, folder)] = read(path), os.stat(path).st_mode & 0o777
        self.files.pop('db/store-state', None)
        self.repository = re.search(rb'\nrepository ([0-9a-f]{32})\n', self.entries[0]).group(1)
        self.uuid = self.files['db/uuid'][0].split(b'\n')[0]

    def log(self, repository, own_uuid):
        """The entries with these names, each with the sums that follow."""
        before, entries = b'0' * 64, []
        for entry in self.entries:
            token, text = entry[:16], entry[16:-69]
            text = text.replace(self.repository, repository).replace(self.uuid, own_uuid)
            text = re.sub(rb'\nbefore [0-9a-f]{64}\n', b'\nbefore ' + before + b'\n', text, count=1)
            entry = token + text + b'sum ' + hashlib.sha256(text).hexdigest().encode() + b'\n'
            before = hashlib.sha256(entry).hexdigest().encode()
            entries.append(entry)
        return entries

    def folder(self, path, address, repository, own_uuid):
        os.mkdir(path)
        for name in self.folders:
            os.mkdir(os.path.join(path, name))
        sums = {old: hashlib.sha256(old_data.replace(self.uuid, own_uuid)).hexdigest().encode() for old, (old_data, _) in self.files.items()}
        for name, (data, mode) in self.files.items():
            if name == 'db/fs-type':
                data = b'sapwood-store\n' + address.encode() + b'\n' + repository + b'\n'
            elif name == 'db/uuid':
                data = data.replace(self.uuid, own_uuid)
            elif name == 'db/store-files':
                old = hashlib.sha256(self.files['db/uuid'][0]).hexdigest().encode()
                data = data.replace(old, sums['db/uuid'])
            target = os.path.join(path, name)
            write(target, data)
            if mode != 0o644:
                os.chmod(target, mode)


class Bucket:
    """The logs' place: a folder, or the bucket of tools/ceph.sh."""

    def __init__(self, scratch):
        self.name = os.environ.get('SAPWOOD_S3_BUCKET')
        self.base = f's3://{self.name}/many/{os.getpid()}' if self.name else 'file://' + os.path.join(scratch, 'store')
        if not self.name:
            os.mkdir(os.path.join(scratch, 'store'))

    def put(self, name, number, entry):
        if self.name:
            subprocess.run(
                ['curl', '-sf', '--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', 'AK:SK', '-X', 'PUT', '--data-binary', '@-', '-H',
                 'x-amz-content-sha256: ' + hashlib.sha256(entry).hexdigest(),
                 f'{os.environ["SAPWOOD_S3_ENDPOINT"]}/{self.name}/many/{os.getpid()}/{name}/log/{number:016x}'], input=entry, check=True)
            return
        folder = os.path.join(self.base[len('file://'):], name, 'log')
        os.makedirs(folder, exist_ok=True)
        write(os.path.join(folder, f'{number:016x}'), entry)


def make(template, bucket, root, first, count):
    def one(number):
        name, repository, own = f'r{number:06}', os.urandom(16).hex().encode(), str(uuid.uuid4()).encode()
        for slot, entry in enumerate(template.log(repository, own)):
            bucket.put(name, slot, entry)
        template.folder(os.path.join(root, name), f'{bucket.base}/{name}', repository, own)
    with concurrent.futures.ThreadPoolExecutor(8 if bucket.name else 1) as pool:
        list(pool.map(one, range(first, count)))


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, scratch, root):
        self.svn, self.http, self.metrics = free_port(), free_port(), free_port()
        config = os.path.join(scratch, 'sapwood.toml')
        write(config, f"path = '{root}'\nsvn-port = {self.svn}\nhttp-port = {self.http}\nmetrics-listen = '127.0.0.1:{self.metrics}'\n".encode())
        began = time.time()
        self.process = subprocess.Popen([program, 'serve', '--config', config], stdout=subprocess.PIPE, text=True)
        while 'Ctrl-C' not in self.process.stdout.readline():
            assert self.process.poll() is None
        self.info(0)
        self.start = 1000 * (time.time() - began)

    def url(self, number):
        return f'svn://127.0.0.1:{self.svn}/r{number:06}'

    def info(self, number):
        """Asks for one by a connection of its own: the greeting of a client, and what the server says of the repository."""
        began = time.time()
        with socket.create_connection(('127.0.0.1', self.svn)) as line:
            url = self.url(number).encode()
            line.sendall(b'( 2 ( edit-pipeline svndiff1 ) %d:%s 4:test ( ) ) ' % (len(url), url))
            line.sendall(b'( ANONYMOUS ( 0: ) ) ( get-latest-rev ( ) ) ')
            text = b''
            while text.count(b'( success ') < 5:
                more = line.recv(4096)
                assert more and b'failure' not in text, text
                text += more
        return 1000 * (time.time() - began)

    def get(self, port, path):
        began = time.time()
        request = urllib.request.Request(f'http://127.0.0.1:{port}{path}', headers={'Accept': 'text/html'})
        with urllib.request.urlopen(request) as reply:
            assert reply.read()
        return 1000 * (time.time() - began)

    def takes(self, what):
        for line in read(f'/proc/{self.process.pid}/status').decode().splitlines():
            if line.startswith(what + ':'):
                return int(line.split()[1])

    def end(self):
        self.process.terminate()
        self.process.wait()


def median(of, times):
    return statistics.median(of() for _ in range(times))


def figures(program, scratch, root, count):
    server = Server(program, scratch, root)
    table = {'start, ms': server.start, 'memory at the start, MB': server.takes('VmRSS') / 1024}
    numbers = [count - 1 - place * (count // 100) for place in range(40)]
    table['open, ms'] = statistics.median(server.info(number) for number in numbers)
    table['open again, ms'] = statistics.median(server.info(number) for number in numbers)
    text = os.path.join(scratch, 'text')
    write(text, b'text\n')
    # A hot one is used all the time, while all others are asked for.
    hot = iter(range(10 ** 9))

    def commit():
        number = next(hot)
        began = time.time()
        run('svnmucc', '-m', 'x', '-U', server.url(number % 5), 'put', text, f'f{number}')
        return 1000 * (time.time() - began)
    table['commit in a hot one, ms'] = median(commit, 50)
    for name, path in ('list', '/'), ('list with a filter', '/?q=r0007'), ('list as values', '/-/api/v1/repositories'):
        try:
            table[f'{name}, the first time, ms'] = server.get(server.http, path)
            table[f'{name}, ms'] = median(lambda: server.get(server.http, path), 5)
        except OSError as error:
            print(name, error, file=sys.stderr)
    table['metrics, the first time, ms'] = server.get(server.metrics, '/metrics')
    table['metrics, ms'] = median(lambda: server.get(server.metrics, '/metrics'), 5)
    asked = 0
    for most in ASKED:
        while asked < min(most, count):
            server.info(asked)
            if asked % 20 == 0:
                server.info(asked // 20 % 5)
            asked += 1
        table[f'memory after {most} were asked for, MB'] = server.takes('VmRSS') / 1024
    table['commit in a hot one after these, ms'] = median(commit, 50)
    table['open files'] = len(os.listdir(f'/proc/{server.process.pid}/fd'))
    table['threads'] = server.takes('Threads')
    server.end()
    return table


def main():
    program, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    counts = [int(count) for count in sys.argv[3:]]
    os.makedirs(scratch)
    os.environ['SAPWOOD_STORE_CACHE'] = os.path.join(scratch, 'cache')
    root = os.path.join(scratch, 'served')
    os.mkdir(root)
    template, bucket, tables, made = Template(program, scratch), Bucket(scratch), [], 0
    for count in counts:
        began = time.time()
        make(template, bucket, root, made, count)
        print(f'{count - made} more made in {time.time() - began:.0f} s', file=sys.stderr)
        made = count
        run(program, 'store', 'verify', f'{bucket.base}/r{count - 1:06}')
        tables.append(figures(program, scratch, root, count))
    print('what', *counts, sep='\t')
    for what in tables[0]:
        print(what, *(f'{table[what]:.1f}' if what in table else '-' for table in tables), sep='\t')
    print('load', *os.getloadavg(), file=sys.stderr)


if __name__ == '__main__':
    main()
