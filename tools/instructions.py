#!/usr/bin/env python3
"""Instructions of a server for a request whose data it has in memory: 1.14's svnserve and Sapwood.

    tools/instructions.py SAPWOOD FOLDER REPO... > docs/results/instructions.tsv

FOLDER has the repositories (`tools/quiet.py --only fsx` says how they are made). Each server runs under cachegrind, which counts and
simulates nothing, and answers 1.14's svn over svn://: a request once and twice more. A second server answers it once; the half of the
difference is what one costs. The count does not depend on the machine."""

import re
import socket
import subprocess
import sys
import tempfile
import time

REQUESTS = (("log -v, newest 1,000", ["log", "-v", "--limit", "1000", "{}"]), ("list -R", ["ls", "-R", "{}/trunk"]),
            ("export", ["export", "-q", "--force", "{}/trunk", "{out}"]))


def counted(serve, port, name, request, times, scratch):
    """All instructions of a server that answered a request so often."""
    log = f"{scratch}/count"
    server = subprocess.Popen(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log}", *serve],
                              stdout=subprocess.DEVNULL)
    while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
        assert server.poll() is None, f"{serve} ended"
        time.sleep(0.1)
    url = f"svn://127.0.0.1:{port}/{name}"
    for _ in range(times):
        subprocess.run(["svn", *(part.format(url, out=f"{scratch}/out") for part in request)], check=True, stdout=subprocess.DEVNULL)
    server.terminate()
    server.wait()
    return int(re.search(r"I +refs: +([\d,]+)", open(log).read())[1].replace(",", ""))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    sapwood, folder, *repos = sys.argv[1:]
    print("work\tmillions of instructions: ref\tSapwood\tx", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in repos:
            for title, request in REQUESTS:
                costs = []
                for serve in (["svnserve", "-d", "--foreground", "-T", "-M", "256", "-r", folder, "--listen-port"],
                              [sapwood, "serve", "--no-http", "--folder", folder, "--port"]):
                    port = free_port()
                    once, thrice = (counted([*serve, str(port)], port, name, request, times, scratch) for times in (1, 3))
                    costs.append((thrice - once) / 2e6)
                print(f"{name}: {title}\t{costs[0]:.1f}\t{costs[1]:.1f}\t{costs[0] / costs[1]:.1f}", flush=True)


main()
