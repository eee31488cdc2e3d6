#!/usr/bin/env python3
"""What other users notice while a directory hangs for a minute under 500 clients, and while 500 clients guess passwords.

    tools/login_pressure.py [--seconds 60] [--clients 500] SAPWOOD FOLDER

The directory is a program that takes connections and questions and answers none. Others read a repository whose users are in a password
file, once every 20 ms. Prints for each part: replies by status, the others' times, and memory, threads and open files of the server before,
at most, and ten seconds after."""

import argparse
import asyncio
import base64
import collections
import os
import socket
import statistics
import subprocess
import threading
import time

CONFIG = """http-port = {port}
[[location]]
url = "/company"
folder = "{folder}/repos"
directory = "company"
[[location]]
url = "/own"
folder = "{folder}/repos"
users = "{folder}/users"
[[directory]]
name = "company"
servers = ["ldap://127.0.0.1:{directory}"]
base = "dc=example,dc=com"
bind-dn = "cn=reader,dc=example,dc=com"
bind-password-file = "{folder}/secret"
"""


def deaf_directory():
    """A listener whose connections stay open, and are read from."""
    listener = socket.create_server(('127.0.0.1', 0), backlog=2000)

    def read(connection):
        while connection.recv(4096):
            pass

    def accept():
        while True:
            connection = listener.accept()[0]
            threading.Thread(target=read, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def state(pid):
    with open(f'/proc/{pid}/status') as file:
        fields = dict(line.split(':', 1) for line in file)
    return int(fields['VmRSS'].split()[0]) // 1024, int(fields['Threads']), len(os.listdir(f'/proc/{pid}/fd'))


async def ask(port, path, user, password):
    """The status of one request on a connection of its own, and its milliseconds."""
    begun = time.perf_counter()
    login = base64.b64encode(f'{user}:{password}'.encode()).decode()
    try:
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        writer.write(f'GET {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {login}\r\nConnection: close\r\n\r\n'.encode())
        head = await reader.read(4096)
        writer.close()
        status = head.split(b' ')[1].decode() if head else 'closed'
    except OSError as error:
        status = type(error).__name__
    return status, (time.perf_counter() - begun) * 1000


async def part(port, pid, path, clients, seconds, name):
    """Clients that log in again and again, beside one that reads with a right password."""
    before, most = state(pid), state(pid)
    end, replies, others = time.monotonic() + seconds, collections.Counter(), []

    async def client(number):
        tries = 0
        while time.monotonic() < end:
            tries += 1
            status, _ = await ask(port, path, f'user{number}', f'guess {tries}')
            replies[status] += 1
            await asyncio.sleep(0.05)

    async def other():
        nonlocal most
        while time.monotonic() < end:
            others.append(await ask(port, '/own/repo/', 'ada', 'secret'))
            most = tuple(map(max, most, state(pid)))
            await asyncio.sleep(0.02)

    await asyncio.wait([asyncio.create_task(client(n)) for n in range(clients)] + [asyncio.create_task(other())], timeout=seconds + 30)
    await asyncio.sleep(10)
    times = sorted(taken for _, taken in others)
    wrong = sum(status != '200' for status, _ in others)
    print(f'{name}\treplies {dict(replies)}\tothers: {len(times)} requests, {wrong} not answered, median {statistics.median(times):.1f} ms, '
          f'99 of 100 within {times[len(times) * 99 // 100]:.1f} ms, slowest {times[-1]:.1f} ms\t'
          f'MiB, threads, files: before {before}, at most {most}, after {state(pid)}', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seconds', type=int, default=60)
    parser.add_argument('--clients', type=int, default=500)
    parser.add_argument('program')
    parser.add_argument('folder')
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    os.makedirs(f'{folder}/repos', exist_ok=True)
    subprocess.run(['svnadmin', 'create', f'{folder}/repos/repo'], check=True)
    with open(f'{folder}/users', 'w') as file:
        file.write('ada:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n')
    with open(f'{folder}/secret', 'w') as file:
        file.write('secret')
    port = free_port()
    with open(f'{folder}/config.toml', 'w') as file:
        file.write(CONFIG.format(port=port, folder=folder, directory=deaf_directory()))
    server = subprocess.Popen([os.path.abspath(args.program), 'serve', '--config', f'{folder}/config.toml'], stdout=subprocess.PIPE, text=True)
    try:
        while 'Ctrl-C' not in server.stdout.readline():
            assert server.poll() is None
        asyncio.run(part(port, server.pid, '/own/repo/', 0, 5, 'nothing else'))
        asyncio.run(part(port, server.pid, '/company/repo/', args.clients, args.seconds, 'the directory hangs'))
        asyncio.run(part(port, server.pid, '/own/repo/', args.clients, args.seconds, 'passwords are guessed'))
    finally:
        server.terminate()
        server.wait()


main()
