#!/usr/bin/env python3
"""How long web pages and searches take in a large repository: 50,000 revisions, 40,000 files.

    tools/web_figures.py [--program target/release/sapwood] [--viewvc FOLDER] FOLDER

Makes the repository in FOLDER (by 1.14's svnadmin load, some minutes; it is used again if it is there), serves it, and asks for each page
first by a server that has just started, then twenty times: the median of these is "hot". The system has the files in memory all the time.
Writes lines as docs/results/web.tsv has them. With --viewvc, a checkout of ViewVC is asked for the same pages where it has them."""

import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import time
import urllib.request

REVISIONS = 50_000
FILES = 40_000
IN_ONE_FOLDER = 5_000
CHANGES = 4_000
PATHS = 10_000


def words(rng, count):
    return ' '.join(WORDS[min(int(rng.expovariate(1 / 300)), len(WORDS) - 1)] for _ in range(count))


def vocabulary():
    rng = random.Random(1)
    parts = ['ba', 'co', 'di', 'fu', 'ge', 'ha', 'il', 'ko', 'lu', 'me', 'no', 'or', 'pa', 'ri', 'su', 'te', 'un', 'va', 'we', 'zo']
    return [''.join(rng.choices(parts, k=rng.randint(2, 4))) for _ in range(5_000)]


WORDS = vocabulary()


def record(headers, props, text):
    body = b''
    if props is not None:
        for name, value in props.items():
            body += f'K {len(name)}\n{name}\nV {len(value)}\n{value}\n'.encode()
        body += b'PROPS-END\n'
    head = ''.join(f'{name}: {value}\n' for name, value in headers.items())
    if props is not None:
        head += f'Prop-content-length: {len(body)}\n'
    if text is not None:
        head += f'Text-content-length: {len(text)}\n'
        body += text
    if props is not None or text is not None:
        head += f'Content-length: {len(body)}\n'
    return head.encode() + b'\n' + body + b'\n'


def node(path, action, text=None, kind='file'):
    headers = {'Node-path': path, 'Node-kind': kind, 'Node-action': action}
    return record(headers, {} if action == 'add' else None, text) + b'\n'


def revision(number, message):
    props = {'svn:log': message, 'svn:author': f'user{number % 40}', 'svn:date': time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime(1_500_000_000 + number * 3_000))}
    return record({'Revision-number': number}, props, None)


def names():
    for at in range(IN_ONE_FOLDER):
        yield f'trunk/big/file{at:05}.txt'
    for at in range(FILES - IN_ONE_FOLDER):
        yield f'trunk/d{at // 100:03}/file{at:05}.c'


def dump(out):
    rng = random.Random(2)
    out.write(b'SVN-fs-dump-format-version: 2\n\n')
    out.write(revision(1, 'The folders.'))
    for folder in ['trunk', 'branches', 'tags', 'trunk/big'] + [f'trunk/d{at:03}' for at in range((FILES - IN_ONE_FOLDER) // 100)]:
        out.write(node(folder, 'add', kind='dir'))
    out.write(revision(2, 'All files.'))
    files = list(names())
    text = lambda: ''.join(words(rng, 8) + '\n' for _ in range(12)).encode()
    for path in files:
        out.write(node(path, 'add', text()))
    lines = [f'line {at} {words(rng, 2)}' for at in range(600)]
    out.write(node('trunk/blamed.c', 'add', ('\n'.join(lines) + '\n').encode()))
    out.write(node('trunk/log.txt', 'add', b'0\n'))
    for number in range(3, REVISIONS + 1):
        out.write(revision(number, f'{words(rng, 12)} #{number}'))
        out.write(node('trunk/log.txt', 'change', f'{number}\n{words(rng, 10)}\n'.encode()))
        if number % (REVISIONS // CHANGES) == 0:
            lines[rng.randrange(len(lines))] = f'line of {number} {words(rng, 2)}'
            out.write(node('trunk/blamed.c', 'change', ('\n'.join(lines) + '\n').encode()))
        elif number == REVISIONS // 2:
            for path in files[:PATHS]:
                out.write(node(path, 'change', text()))
        elif number % 5 == 0:
            out.write(node(rng.choice(files[PATHS:]), 'change', text()))


def make(repo):
    if os.path.exists(repo):
        return
    subprocess.run(['svnadmin', 'create', repo], check=True)
    load = subprocess.Popen(['svnadmin', 'load', '-q', '--no-flush-to-disk', repo], stdin=subprocess.PIPE)
    dump(load.stdin)
    load.stdin.close()
    assert load.wait() == 0
    subprocess.run(['svnadmin', 'pack', '-q', repo], check=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    """A server of the repository, with an index folder or none."""

    def __init__(self, program, folder, search):
        self.port = free_port()
        config = os.path.join(folder, 'figures.toml')
        line = f'search-folder = "{search}"\n' if search else ''
        with open(config, 'w') as file:
            file.write(f'http-port = {self.port}\n{line}[[location]]\nurl = "/svn"\nfolder = "{folder}/repos"\nanonymous = "read"\n')
        self.child = subprocess.Popen([program, 'serve', '--config', config], stdout=subprocess.PIPE, text=True)
        while 'Ctrl-C' not in self.child.stdout.readline():
            assert self.child.poll() is None

    def get(self, page):
        begun = time.perf_counter()
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/svn/repo/-{page}') as reply:
            body = reply.read()
        return (time.perf_counter() - begun) * 1000, body

    def memory(self):
        with open(f'/proc/{self.child.pid}/status') as file:
            return next(int(line.split()[1]) // 1024 for line in file if line.startswith('VmHWM'))

    def end(self):
        self.child.terminate()
        self.child.wait()


PAGES = {
    f'directory of {IN_ONE_FOLDER:,} entries': '/tree/trunk/big',
    f'blame of a file with {CHANGES:,} changes': '/blame/trunk/blamed.c',
    f'log of a path with {REVISIONS:,} revisions': '/log/trunk/log.txt',
    f'log of it, from the middle on': f'/log/trunk/log.txt?p={REVISIONS // 2}',
    f'revision with {PATHS:,} paths': f'/rev/{REVISIONS // 2}',
    'the same as JSON, differences': f'/api/v1/diff/{REVISIONS // 2}',
    'file': '/tree/trunk/blamed.c',
}


def hot(server, page):
    return statistics.median(server.get(page)[0] for _ in range(20))


def pages(program, folder):
    for what, page in PAGES.items():
        server = Server(program, folder, None)
        before = server.memory()
        first, body = server.get(page)
        print(f'{what}\t{first:.0f}\t{hot(server, page):.1f}\t{len(body) // 1024}\t{before}\t{server.memory()}', flush=True)
        server.end()


def searches(program, folder):
    index = os.path.join(folder, 'indexes')
    begun = time.perf_counter()
    server = Server(program, folder, index)
    ask = lambda question: json.loads(server.get(f'/api/v1/search?q={question}')[1])
    times = {}
    while len(times) < 2:
        time.sleep(0.5)
        try:
            state = ask('a')
        except urllib.error.HTTPError:
            continue
        now = time.perf_counter() - begun
        if state['index'] == REVISIONS:
            times.setdefault('names, messages, texts', now)
        if state.get('history') == 1:
            times.setdefault('changed lines of all revisions', now)
    size = sum(os.path.getsize(os.path.join(index, name)) for name in os.listdir(index))
    for what, seconds in times.items():
        print(f'index: {what}\t{seconds:.0f} s\t\t\t\t')
    print(f'index: size\t{size >> 20} MiB\t\t\t\t')
    rare, common = WORDS[2_500], WORDS[0]
    for what, question in {
        'search everywhere, a rare word': rare,
        'search everywhere, a common word': common,
        'search for two words in texts': f'{WORDS[40]}+{WORDS[700]}&in=texts',
        'search in log messages': f'%23{REVISIONS // 3}&in=revisions',
        'search for a name': 'file04711',
        'search in changed lines, a rare word': f'{rare}&in=changes',
        'search in changed lines, a line of blamed.c': f'"line+of+{REVISIONS // 24 // 12 * 12 * 12}"&in=changes'.replace('"', '%22'),
        'search for a word that is nowhere': 'xyzzyqq',
    }.items():
        page = f'/api/v1/search?q={question}'
        first, body = server.get(page)
        print(f'{what}\t{first:.0f}\t{hot(server, page):.1f}\t{len(body) // 1024}\t\t{server.memory()}', flush=True)
    server.end()


def viewvc(checkout, folder):
    """ViewVC's own server, with its settings as they come but for the repository."""
    port = free_port()
    script = os.path.join(checkout, 'bin', 'standalone.py')
    child = subprocess.Popen(['/usr/bin/python3', script, '-r', f'{folder}/repos/repo', '-p', str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(3)
    top = f'http://127.0.0.1:{port}/viewvc/Development'
    for what, page in {
        f'directory of {IN_ONE_FOLDER:,} entries': '/trunk/big/',
        f'blame of a file with {CHANGES:,} changes': '/trunk/blamed.c?view=annotate',
        f'log of a path with {REVISIONS:,} revisions': '/trunk/log.txt?view=log',
        f'revision with {PATHS:,} paths': f'?view=revision&revision={REVISIONS // 2}',
        'file': '/trunk/blamed.c?view=markup',
    }.items():
        took = []
        for _ in range(4):
            begun = time.perf_counter()
            with urllib.request.urlopen(top + page) as reply:
                size = len(reply.read())
            took.append((time.perf_counter() - begun) * 1000)
        print(f'ViewVC: {what}\t{took[0]:.0f}\t{statistics.median(took[1:]):.1f}\t{size // 1024}\t\t', flush=True)
    child.terminate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--program', default='target/release/sapwood')
    parser.add_argument('--viewvc')
    parser.add_argument('folder')
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    os.makedirs(f'{folder}/repos', exist_ok=True)
    begun = time.perf_counter()
    make(f'{folder}/repos/repo')
    print(f'# made in {time.perf_counter() - begun:.0f} s')
    print('what\tfirst ms\thot ms\tKiB\tMiB before\tMiB peak', flush=True)
    pages(os.path.abspath(args.program), folder)
    searches(os.path.abspath(args.program), folder)
    if args.viewvc:
        viewvc(args.viewvc, folder)


main()
