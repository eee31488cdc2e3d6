#!/usr/bin/env python3
"""What requests ask of the file system, for judging repositories on network file systems.

    tools/operations.py --sapwood target/release/sapwood --repos DIR [--names f8,f8p] > table.md

For each request a server is started anew, so that its own caches are empty, and traced with strace: opens,
reads with their bytes, looks at metadata (stat and the like), listings of folders, and hints (fadvise: bytes
that the system may fetch without being waited for), counted only for files of the repository. On a network
file system each open, look and listing is a round trip or may become one; reads are as many as there are
pages not yet in the client's cache.
"""
import argparse
import collections
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

REQUESTS = [
    ("log -v, all revisions", "svnbench null-log -v -q {u}"),
    ("log -v of trunk/mod3", "svnbench null-log -v -q {u}/trunk/mod3"),
    ("export of trunk", "svnbench null-export -q {u}/trunk"),
    ("list -R of trunk", "svnbench null-list -R -q {u}/trunk"),
    ("info -R of trunk", "svnbench null-info -R {u}/trunk"),
    ("blame of CHANGES", "svnbench null-blame {u}/trunk/CHANGES"),
    ("diff --summarize", "svn diff --summarize -r 40000:45000 {u}/trunk"),
    ("log -l 10 of a file", "svn log -q -l 10 {u}/trunk/CHANGES"),
    ("cat of a file", "svn cat {u}/trunk/README"),
]
TRACED = "open,openat,read,pread64,readv,preadv,stat,lstat,fstat,newfstatat,statx,access,faccessat2,getdents64,fadvise64"
CALL = re.compile(r"^(\d+)\s+(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+)\s+<\.\.\. \w+ resumed>(.*)$")


def lines_of(log):
    """Whole calls: those that strace cut in two are put together."""
    cut = {}
    for line in log:
        line = line.rstrip("\n")
        resumed = RESUMED.match(line)
        if resumed:
            yield cut.pop(resumed[1], f"{resumed[1]} unknown(") + resumed[2]
        elif line.endswith("<unfinished ...>"):
            cut[line.split(None, 1)[0]] = line[:-len("<unfinished ...>")]
        else:
            yield line


def count(log, root):
    found = collections.Counter()
    for line in lines_of(log):
        call = CALL.match(line)
        if not call or root not in line:
            continue
        name, rest = call[2], call[3]
        result = rest.rsplit(" = ", 1)[-1].split()[0].split("<")[0] if " = " in rest else "-1"
        if name.startswith("open"):
            found["opens"] += 1
        elif "read" in name:
            found["reads"] += 1
            found["bytes"] += max(int(result), 0) if result.lstrip("-").isdigit() else 0
        elif name.startswith("getdents"):
            found["listings"] += 1
        elif name.startswith("fadvise"):
            found["hints"] += 1
        else:
            found["looks"] += 1
    return found


def trace(command, repos, name, request):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    line = f"{command} -d --foreground -r {repos} --listen-host 127.0.0.1 --listen-port {port}"
    server = subprocess.Popen(line.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as log:
        tracer = None
        try:
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            tracer = subprocess.Popen(["strace", "-f", "-y", "-s", "0", "-e", f"trace={TRACED}", "-o", log.name,
                                       "-p", str(server.pid)], stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            url = f"svn://127.0.0.1:{port}/{name}"
            subprocess.run(request.format(u=url), shell=True, stdout=subprocess.DEVNULL, check=True)
        finally:
            if tracer:
                tracer.send_signal(signal.SIGINT)
                tracer.wait()
            server.terminate()
            server.wait()
        return count(log, os.path.join(repos, name) + "/")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sapwood", default="target/release/sapwood")
    parser.add_argument("--repos", default="/work/scratch/big")
    parser.add_argument("--names", default="f8,f8p")
    parser.add_argument("--only", default="", help="words; requests whose title has one of them")
    options = parser.parse_args()
    servers = [("reference", "/usr/bin/svnserve -T"), ("Sapwood", f"{os.path.abspath(options.sapwood)} svnserve")]
    kinds = ["opens", "reads", "bytes", "looks", "listings", "hints"]
    for name in options.names.split(","):
        print(f"### Operations, {name}: reference / Sapwood\n")
        print("| request | opens | reads | MB read | looks | listings | hints |\n|---|---|---|---|---|---|---|")
        for title, request in REQUESTS:
            if options.only and not any(word in title for word in options.only.split(",")):
                continue
            print(time.strftime("%H:%M:%S"), name, title, file=sys.stderr)
            ref, ours = (trace(command, os.path.realpath(options.repos), name, request) for _, command in servers)
            form = {"bytes": lambda n: f"{n / 1e6:.2f}"}
            cells = [" / ".join(form.get(kind, str)(found[kind]) for found in (ref, ours)) for kind in kinds]
            print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
