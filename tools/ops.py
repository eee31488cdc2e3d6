#!/usr/bin/env python3
"""Requests over connections that stay open: operations a second on one connection, and eight clients at once.

    tools/ops.py --sapwood target/release/sapwood --repos DIR --repo f8p > tables.md

Speaks the svn protocol itself and does nothing with the replies, so that the servers are measured and not a
client. How a reply ends is found out first, by waiting until nothing more comes; after that a reply is over when
its end has come. Servers take turns; figures are medians. CPU is the server's, from its control group
where there is one. The repository must have /trunk, /trunk/README and /trunk/CHANGES, as those of
docs/benchmarks.md do.
"""
import argparse
import os
import re
import socket
import statistics
import sys
import threading
import time

import quiet


def text(words):
    return f"{len(words)}:{words}"


def small(rev):
    """Requests with short replies."""
    changes, readme, trunk = text("trunk/CHANGES"), text("trunk/README"), text("trunk")
    fields = "kind size has-props created-rev time last-author"
    return {
        "log -l 10 of a file": f"( log ( ( {changes} ) ( {rev} ) ( 1 ) false false 10 false revprops "
                               "( 10:svn:author 8:svn:date 7:svn:log ) ) ) ",
        "cat": f"( get-file ( {readme} ( {rev} ) false true false ) ) ",
        "info": f"( stat ( {readme} ( {rev} ) ) ) ",
        "ls of a folder": f"( get-dir ( {trunk} ( {rev} ) false true ( {fields} ) false ) ) ",
        "props of a file": f"( get-file ( {readme} ( {rev} ) true false false ) ) ",
        "latest revision": "( get-latest-rev ( ) ) ",
    }


def mixed(rev):
    """What eight clients ask for, each in another order."""
    changes, trunk = text("trunk/CHANGES"), text("trunk")
    props = "( 10:svn:author 8:svn:date )"
    asked = list(small(rev).values()) * 3
    asked += [
        f"( log ( ( 0: ) ( {rev} ) ( 0 ) true false 0 false revprops {props} ) ) ",
        f"( log ( ( {changes} ) ( {rev} ) ( 1 ) true false 0 false revprops {props} ) ) ",
        f"( get-file-revs ( {changes} ( 0 ) ( {rev} ) false ) ) ",
        f"( list ( {trunk} ( {rev} ) infinity ( kind ) ) ) ",
        f"( update ( ( {rev} ) {trunk} true infinity false false ) ) "
        f"( set-path ( 0: {rev} true ( ) infinity ) ) ( finish-report ( ) ) ",
    ]
    return asked


# How much of the end of a reply tells that it is over; what ends an edit, and the client's answer to that.
TAIL = 64
EDIT = b"( close-edit ( ) ) "
ACCEPT = b"( success ( ) ) "


class Client:
    def __init__(self, port, name):
        opened = quiet.Client(port, name, 0)
        self.socket = opened.socket
        self.opened = opened
        self.buffer = bytearray(1 << 20)
        self.tails = {}

    def collect(self, wait):
        """The end of what comes until nothing does for a while."""
        tail = b""
        self.socket.settimeout(wait)
        try:
            while True:
                tail = self.receive(tail)
        except TimeoutError:
            pass
        self.socket.settimeout(60)
        # Not what may come in another order each time.
        return re.search(rb"(?: (?:[()]|done|success|close-edit))* $", tail).group()

    def receive(self, tail):
        got = self.socket.recv_into(self.buffer)
        if not got:
            raise EOFError
        end = self.buffer[max(0, got - TAIL):got]
        return bytes(end if got >= TAIL else (tail + end)[-TAIL:])

    def learn(self, request, wait):
        """Finds out how the reply to a request ends, and lets the server's caches settle."""
        before = []
        for _ in range(8):
            self.socket.sendall(request)
            tails = [self.collect(wait)]
            if tails[0].endswith(EDIT):
                self.socket.sendall(ACCEPT)
                tails.append(self.collect(wait))
            if b"failure" in tails[-1]:
                sys.exit(f"failed: {request} {tails}")
            if tails == before:
                self.tails[request] = tails
                return
            before = tails
        sys.exit(f"the reply to {request} ends differently each time")

    def take(self, wanted):
        tail = b""
        while not tail.endswith(wanted):
            tail = self.receive(tail)

    def ask(self, request):
        self.socket.sendall(request)
        first, *rest = self.tails[request]
        self.take(first)
        for wanted in rest:
            self.socket.sendall(ACCEPT)
            self.take(wanted)


def single(server, options, request):
    """Operations a second, and microseconds of server CPU an operation."""
    client = Client(server.port, options.repo)
    client.learn(request, 0.4)
    for _ in range(50):
        client.ask(request)
    cpu, begun = server.used()[0], time.perf_counter()
    for _ in range(options.count):
        client.ask(request)
    wall = time.perf_counter() - begun
    return options.count / wall, (server.used()[0] - cpu) / options.count * 1e6


def together(server, options, requests):
    """Wall and server CPU seconds of eight clients that ask for everything, each in another order."""
    clients = [Client(server.port, options.repo) for _ in range(8)]
    for request in requests:
        clients[0].learn(request, 0.8)
    for client in clients:
        client.tails = clients[0].tails

    def work(number):
        for turn in range(options.rounds):
            for at in range(len(requests)):
                clients[number].ask(requests[(at * 5 + number * 3 + turn) % len(requests)])
    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    cpu, begun = server.used()[0], time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun, server.used()[0] - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sapwood", default="target/release/sapwood")
    parser.add_argument("--repos", default="/work/scratch/big")
    parser.add_argument("--repo", default="f8p")
    parser.add_argument("--rev", type=int, default=50000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="small,mixed")
    options = parser.parse_args()
    servers = quiet.servers(os.path.abspath(options.sapwood))
    names = ["ref", "ref fast", "Sapwood"]
    for server in servers:
        server.start(options.repos)
    try:
        if "small" in options.only:
            print(f"### One connection, {options.repo}\n")
            rows = []
            for title, request in small(options.rev).items():
                quiet.note(title)
                taken = [[] for _ in servers]
                for _ in range(options.runs):
                    for server, of in zip(servers, taken):
                        of.append(single(server, options, request.encode()))
                figures = [quiet.median(of) for of in taken]
                rows.append([title] + [f"{f[0]:.0f}" for f in figures] + [f"{f[1]:.1f}" for f in figures])
            quiet.table(["request"] + [f"{what}: {who}" for what in ("operations/s", "server CPU µs") for who in names], rows)
        if "mixed" in options.only:
            quiet.note("eight clients")
            print(f"### Eight clients at once, {options.repo}\n")
            requests = [request.encode() for request in mixed(options.rev)]
            taken = [[] for _ in servers]
            for _ in range(options.runs):
                for server, of in zip(servers, taken):
                    of.append(together(server, options, requests))
            rows = []
            for who, of in zip(names, taken):
                wall, cpu = quiet.median(of)
                rows.append([who, f"{wall:.2f}", f"{8 * options.rounds * len(requests) / wall:.0f}", f"{cpu:.2f}"])
            quiet.table(["server", "wall s", "requests/s", "server CPU s"], rows)
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
