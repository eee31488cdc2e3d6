#!/usr/bin/env python3
"""Which share of a hot log's instructions the metrics take.

    tools/metrics_cost.py SAPWOOD FOLDER

Serves a repository of 500 revisions under callgrind, lets 1.14's svn read its log twenty times, and counts the next forty: over svn:// and
over http, the whole log and the newest ten revisions. What counts for the metrics is all that is done within `RequestSeries::record`,
`Metrics::connection` and the end of that: nothing else is done for each request or connection. Needs valgrind, and a program with line tables."""

import os
import re
import socket
import subprocess
import sys
import time

OURS = ('RequestSeries::record', 'Metrics::connection', 'OpenConnection as core::ops::drop::Drop')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def make(repo):
    subprocess.run(['svnadmin', 'create', repo], check=True)
    url = f'file://{repo}'
    for number in range(500):
        subprocess.run(['svnmucc', '-m', f'Change {number} of the repository.', '-U', url, 'mkdir', f'folder{number}'], check=True, stdout=subprocess.DEVNULL)


def measured(program, repo, protocol, limit, folder):
    port = free_port()
    out = os.path.join(folder, f'callgrind.{protocol}{len(limit)}')
    ports = ['--port', str(port), '--no-http'] if protocol == 'svn' else ['--http-port', str(port)]
    serve = [program, 'serve', *ports, '--folder', os.path.dirname(repo)]
    server = subprocess.Popen(['valgrind', '-q', '--tool=callgrind', '--instr-atstart=no', f'--callgrind-out-file={out}', *serve], stdout=subprocess.PIPE, text=True)
    while 'Ctrl-C' not in server.stdout.readline():
        assert server.poll() is None
    log = ['svn', 'log', '-v', *limit, f'{protocol}://127.0.0.1:{port}/repo']
    read = lambda: subprocess.run(log, check=True, stdout=subprocess.DEVNULL)
    for _ in range(20):
        read()
    subprocess.run(['callgrind_control', '-i', 'on', str(server.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(40):
        read()
    time.sleep(1)
    subprocess.run(['callgrind_control', '-i', 'off', str(server.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.terminate()
    server.wait()
    command = ['callgrind_annotate', '--inclusive=yes', '--threshold=100', '--auto=no', out]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    number = lambda line: int(re.match(r'\s*([\d,]+)', line)[1].replace(',', ''))
    total = next(number(line) for line in lines if 'PROGRAM TOTALS' in line)
    ours, seen = 0, set()
    for line in lines:
        name = next((name for name in OURS if name in line), None)
        # A function that is there for several threads or cycles is listed once with all of it first.
        if name and name not in seen and '{{closure}}' not in line:
            seen.add(name)
            ours += number(line)
    assert len(seen) == len(OURS), seen
    return total // 40, ours // 40


def main():
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    repo = os.path.join(folder, 'served', 'repo')
    if not os.path.exists(repo):
        os.makedirs(os.path.dirname(repo))
        make(repo)
    print('log\tinstructions\tof metrics\tshare %')
    for protocol in ('svn', 'http'):
        for limit in ([], ['-l10']):
            total, ours = measured(program, repo, protocol, limit, folder)
            what = f'{protocol}, {"the newest 10 revisions" if limit else "500 revisions"}'
            print(f'{what}\t{total}\t{ours}\t{100 * ours / total:.2f}', flush=True)


main()
