#!/usr/bin/env python3
"""How large builds of the program are, and how many instructions everyday commands and requests take with each.

    tools/program_size.py NAME=SAPWOOD... > docs/results/program-size.tsv

Each program is stripped, and run under cachegrind, which counts and simulates nothing: the count does not depend on the machine.
4,000 files of 1 to 5 KB in 80 directories are imported, checked out, changed and merged; a server answers this program over svn://
and http://, and 1.14's svn. The first build is the one that others are compared with."""

import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

FILES = 4000
CHANGED = range(0, FILES, 4)


def counted(args, log):
    return ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log}", *args]


def instructions(log):
    """Millions of instructions."""
    return int(re.search(r"I +refs: +([\d,]+)", open(log).read())[1].replace(",", "")) / 1e6


def name(number):
    return f"d{number // 50:03}/f{number:05}.txt"


def make_tree(folder):
    rng = random.Random(5)
    words = ["".join(rng.choice("abcdefghijklmnop") for _ in range(rng.randint(2, 9))) for _ in range(500)]
    for number in range(FILES):
        path = f"{folder}/trunk/{name(number)}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        lines = (" ".join(rng.choice(words) for _ in range(8)) for _ in range(rng.randint(5, 120)))
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")


class Site:
    """A folder with the tree, a repository and working copies, for one program."""

    def __init__(self, sapwood, scratch):
        self.sapwood, self.scratch, self.found = sapwood, scratch, {}
        self.svn, self.url = [sapwood, "svn"], f"file://{scratch}/repos/r"
        os.makedirs(f"{scratch}/repos")
        make_tree(f"{scratch}/tree")
        self.plain([sapwood, "svnadmin", "create", f"{scratch}/repos/r"])

    def plain(self, args):
        subprocess.run(args, check=True, stdout=subprocess.DEVNULL)

    def measure(self, title, *args):
        log = f"{self.scratch}/client"
        self.plain(counted([*self.svn, *args], log))
        self.found[title] = instructions(log)

    def local(self):
        wc, old, branch = (f"{self.scratch}/{each}" for each in ("wc", "old", "branch"))
        self.measure("import", "import", "-q", "-m", "x", f"{self.scratch}/tree", self.url)
        self.plain([*self.svn, "cp", "-q", "-m", "b", f"{self.url}/trunk", f"{self.url}/branch"])
        self.measure("checkout, file:", "co", "-q", f"{self.url}/trunk", wc)
        # Times of files count as known when their second is over.
        time.sleep(1.1)
        self.measure("status", "status", wc)
        for number in CHANGED:
            with open(f"{wc}/{name(number)}", "a") as file:
                file.write("more text\n")
        self.measure("diff", "diff", wc)
        self.measure("commit", "ci", "-q", "-m", "y", wc)
        self.plain([*self.svn, "co", "-q", "-r2", f"{self.url}/trunk", old])
        self.measure("update", "up", "-q", old)
        self.plain([*self.svn, "co", "-q", f"{self.url}/branch", branch])
        self.measure("merge", "merge", "-q", "^/trunk", branch)
        self.measure("log -v", "log", "-v", self.url)

    def served(self, title, scheme, request, client=None):
        ports = free_port(), free_port()
        log = f"{self.scratch}/server"
        serve = [self.sapwood, "serve", "--folder", f"{self.scratch}/repos", "--port", str(ports[0]), "--http-port", str(ports[1])]
        server = subprocess.Popen(counted(serve, log), stdout=subprocess.DEVNULL)
        while any(socket.socket().connect_ex(("127.0.0.1", port)) for port in ports):
            assert server.poll() is None, f"{serve} ended"
            time.sleep(0.1)
        url = f"{scheme}://127.0.0.1:{ports[scheme == 'http']}/r"
        args = [part.format(url) for part in request]
        if client:
            self.measure(client, *args)
        else:
            self.plain(["svn", *args])
        server.terminate()
        server.wait()
        self.found[f"server: {title}"] = instructions(log)

    def remote(self):
        self.served("checkout, svn:", "svn", ["co", "-q", "{}/trunk", f"{self.scratch}/wc-svn"], "checkout, svn:")
        self.served("checkout, http:", "http", ["co", "-q", "{}/trunk", f"{self.scratch}/wc-http"], "checkout, http:")
        self.served("export, http:", "http", ["export", "-q", "{}/trunk", f"{self.scratch}/export"])
        self.served("list -R, http:", "http", ["ls", "-R", "{}"])
        self.served("log -v, http:", "http", ["log", "-v", "{}"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    builds = dict(each.split("=", 1) for each in sys.argv[1:])
    columns = {}
    for title, sapwood in builds.items():
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["HOME"] = scratch
            subprocess.run(["strip", "-o", f"{scratch}/stripped", sapwood], check=True)
            size = os.path.getsize(f"{scratch}/stripped") / 1e6
            site = Site(os.path.abspath(sapwood), scratch)
            site.local()
            site.remote()
            columns[title] = {"stripped program, MB": size, **{f"{row}, million instructions": value for row, value in site.found.items()}}
    print("\t".join(["what", *columns]))
    for row in next(iter(columns.values())):
        print("\t".join([row, *(f"{column[row]:.1f}" for column in columns.values())]))


main()
