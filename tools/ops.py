#!/usr/bin/env python3
"""Requests over connections that stay open: operations a second on one connection, and eight clients at once.

    tools/ops.py --sapwood target/release/sapwood --repos DIR --repo f8p > tables.md

Speaks the svn protocol itself and does nothing with the replies, so that the servers are measured and not a
client; a reply is over when what has come ends as replies to that request do. Servers take turns; figures are
medians. CPU is the server's, from its control group where there is one. The repository must have /trunk,
/trunk/README and /trunk/CHANGES, as those of `sapwood-bench make-repo --profile ruby` do.

With --one-processor servers and clients share one: then a request costs the server what it does for it, and not what
it takes to wake somebody on another processor, which on a virtual machine is two or three times as much and
differs from run to run.
"""
import argparse
import multiprocessing
import os
import sys
import time

import quiet


def text(words):
    return f"{len(words)}:{words}"


# How replies end.
DONE = b" done ( success ( ) ) "
EDIT = b"( close-edit ( ) ) "
ACCEPT = b"( success ( ) ) "


def small(rev):
    """Requests with short replies, and how these end."""
    changes, readme, trunk = text("trunk/CHANGES"), text("trunk/README"), text("trunk")
    fields = "kind size has-props created-rev time last-author"
    return {
        "log -l 10 of a file": (f"( log ( ( {changes} ) ( {rev} ) ( 1 ) false false 10 false revprops "
                                "( 10:svn:author 8:svn:date 7:svn:log ) ) ) ", DONE),
        "cat": (f"( get-file ( {readme} ( {rev} ) false true false ) ) ", b" 0: " + ACCEPT),
        "info": (f"( stat ( {readme} ( {rev} ) ) ) ", b") ) ) ) "),
        "ls of a folder": (f"( get-dir ( {trunk} ( {rev} ) false true ( {fields} ) false ) ) ", b") ) ) ) ) "),
        "props of a file": (f"( get-file ( {readme} ( {rev} ) true false false ) ) ", b") ) ) ) "),
        "latest revision": ("( get-latest-rev ( ) ) ", f"( success ( {rev} ) ) ".encode()),
    }


def mixed(rev):
    """What eight clients ask for, each in another order."""
    changes, trunk = text("trunk/CHANGES"), text("trunk")
    props = "( 10:svn:author 8:svn:date )"
    asked = list(small(rev).values()) * 3
    asked += [
        (f"( log ( ( 0: ) ( {rev} ) ( 0 ) true false 0 false revprops {props} ) ) ", DONE),
        (f"( log ( ( {changes} ) ( {rev} ) ( 1 ) true false 0 false revprops {props} ) ) ", DONE),
        (f"( get-file-revs ( {changes} ( 0 ) ( {rev} ) false ) ) ", DONE),
        (f"( list ( {trunk} ( {rev} ) infinity ( kind ) ) ) ", DONE),
        (f"( update ( ( {rev} ) {trunk} true infinity false false ) ) "
         f"( set-path ( 0: {rev} true ( ) infinity ) ) ( finish-report ( ) ) ", EDIT),
    ]
    return asked


class Client:
    def __init__(self, port, name):
        self.opened = quiet.Client(port, name, 0)
        self.socket = self.opened.socket
        self.buffer = bytearray(1 << 20)

    def receive(self):
        got = self.socket.recv_into(self.buffer)
        if not got:
            raise EOFError
        return got

    def until(self, end):
        """Takes what comes until it ends like this."""
        tail = b""
        while not tail.endswith(end):
            got = self.receive()
            tail = (tail + bytes(self.buffer[max(0, got - len(end)):got]))[-len(end):]

    def try_out(self, request, end):
        """Makes sure that a reply ends where it is taken to end, and lets the server's caches settle. Its length may
        change: a text that was kept meanwhile comes in other pieces."""
        for _ in range(4):
            self.ask(request, end)
            self.socket.settimeout(0.05)
            try:
                self.receive()
                sys.exit(f"more than the reply to {request}")
            except TimeoutError:
                self.socket.settimeout(60)

    def ask(self, request, end):
        self.socket.sendall(request)
        self.until(end)
        if end == EDIT:
            self.socket.sendall(ACCEPT)
            self.until(ACCEPT)


def single(server, options, request, end):
    """Operations a second, and microseconds of server CPU an operation."""
    client = Client(server.port, options.repo)
    client.try_out(request, end)
    for _ in range(50):
        client.ask(request, end)
    cpu, begun = server.used()[0], time.perf_counter()
    for _ in range(options.count):
        client.ask(request, end)
    wall = time.perf_counter() - begun
    return options.count / wall, (server.used()[0] - cpu) / options.count * 1e6


def together(server, options, requests):
    """Wall and server CPU seconds of eight clients that ask for everything, each in another order, and the
    server's reads."""
    clients = [Client(server.port, options.repo) for _ in range(8)]
    for request, end in requests:
        clients[0].try_out(request, end)
    for client in clients:
        client.socket.settimeout(60)

    def work(number):
        for turn in range(options.rounds):
            for at in range(len(requests)):
                clients[number].ask(*requests[(at * 5 + number * 3 + turn) % len(requests)])
    # Processes: threads of this language would wait for each other.
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work, args=[number]) for number in range(8)]
    (cpu, reads), begun = server.used(), time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wall = time.perf_counter() - begun
    if any(worker.exitcode for worker in workers):
        sys.exit(f"{server.label}: a client failed")
    cpu_after, reads_after = server.used()
    return wall, cpu_after - cpu, reads_after - reads


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
    parser.add_argument("--servers", default="ref,ref fast,Sapwood", help="the first takes minutes for the mixture")
    parser.add_argument("--one-processor", action="store_true")
    parser.add_argument("--floor", help="target/release/examples/floor (of crates/server): the youngest revision's row with a server that does nothing")
    options = parser.parse_args()
    if options.one_processor:
        # The servers that are started inherit it.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    known = dict(zip(["ref", "ref fast", "Sapwood"], quiet.servers(os.path.abspath(options.sapwood))))
    names = [name for name in known if name in options.servers.split(",")]
    servers = [known[name] for name in names]
    floor = quiet.Server("floor", options.floor) if options.floor else None
    for server in servers + ([floor] if floor else []):
        server.start(options.repos)
    try:
        if floor:
            request, end = small(options.rev)["latest revision"]
            rate, cpu = quiet.median([single(floor, options, request.encode(), end) for _ in range(options.runs)])
            print(f"A server that only receives and sends: {rate:.0f} operations/s, {cpu:.1f} µs of CPU each.\n")
        if "small" in options.only:
            print(f"### One connection, {options.repo}\n")
            rows = []
            for title, (request, end) in small(options.rev).items():
                quiet.note(title)
                taken = [[] for _ in servers]
                for _ in range(options.runs):
                    for server, of in zip(servers, taken):
                        of.append(single(server, options, request.encode(), end))
                figures = [quiet.median(of) for of in taken]
                rows.append([title] + [f"{f[0]:.0f}" for f in figures] + [f"{f[1]:.1f}" for f in figures])
            quiet.table(["request"] + [f"{what}: {who}" for what in ("operations/s", "server CPU µs") for who in names], rows)
        if "mixed" in options.only:
            quiet.note("eight clients")
            print(f"### Eight clients at once, {options.repo}\n")
            requests = [(request.encode(), end) for request, end in mixed(options.rev)]
            taken = [[] for _ in servers]
            for _ in range(options.runs):
                for server, of in zip(servers, taken):
                    of.append(together(server, options, requests))
            rows = []
            for who, of in zip(names, taken):
                wall, cpu, reads = quiet.median(of)
                rows.append([who, f"{wall:.2f}", f"{8 * options.rounds * len(requests) / wall:.0f}", f"{cpu:.2f}", f"{reads:.0f}"])
            quiet.table(["server", "wall s", "requests/s", "server CPU s", "reads"], rows)
    finally:
        for server in servers + ([floor] if floor else []):
            server.stop()


if __name__ == "__main__":
    main()
