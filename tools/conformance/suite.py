#!/usr/bin/env python3
"""Runs Subversion's own command-line tests with a set of programs, and counts what passes.

    suite.py --src TREE --bin DIR --out DIR [--serve COMMAND] [--scheme http] [--files a_tests,b_tests] [-j N]
             [--extra OPTIONS] [--record VARIANT]

TREE   a built source tree of Subversion 1.14.x, outside this repository. Its tests and helper programs are used,
       nothing of it is copied.
DIR    (--bin) the programs: `sapwood install-links DIR`, with links to the reference's for what is not to be tested.
DIR    (--out) where logs go: FILE.log, summary.tsv (file, number, outcome) and missing.tsv (what passes with the
       reference's programs, by baseline.tsv beside this script, and not here).
--serve   a server in the foreground; %r is the folder to serve, %p a free port. Without it, file:// is used.
--scheme  what it speaks: svn unless said otherwise, http or https (what is expected is then http's; the suite wants
          `--extra '--ssl-cert FILE'`, and with Python 3 a copy whose svntest/main.py makes `trust_ssl_cert` hash bytes).
--record  adds the counts to docs/results/conformance.tsv under this name of a variant; tools/pages.py then makes
          docs/conformance.md.

Each test file has a folder and a server of its own. The last line counts; the exit code is 1 if anything is missing.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "docs/results/conformance.tsv"
# Experiments of the reference, which 1.14 promises nothing of: run when they are named.
LEFT_OUT = {"shelf_tests", "shelf2_tests", "svnmover_tests"}
# What these test files want in SVN_EXPERIMENTAL_COMMANDS.
EXPERIMENTS = {"shelf_tests": "shelf3", "shelf2_tests": "shelf2"}
HELPERS = ("entries-dump", "lock-helper", "atomic-ra-revprop-change")
LINE = re.compile(r"^(PASS|FAIL|SKIP|XFAIL|XPASS|WIMP|XWIMP):\s+(\S+)\.py (\d+):")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("src", "bin", "out"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--serve", default="")
    parser.add_argument("--scheme", default="svn", choices=("svn", "http", "https"))
    parser.add_argument("--files", default="")
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--extra", default="")
    parser.add_argument("--record")
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for one test file")
    given = parser.parse_args()
    given.src, given.bin, given.out = given.src.resolve(), given.bin.absolute(), given.out.resolve()
    return given


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def build_folder(given, name):
    """A folder that the suite takes for the one it was built in."""
    top = given.out / "work" / name
    shutil.rmtree(top, ignore_errors=True)
    tests = top / "subversion/tests/cmdline"
    tests.mkdir(parents=True)
    for helper in HELPERS:
        (tests / helper).symlink_to(given.src / "subversion/tests/cmdline" / helper)
    (tests.parent / "libsvn_wc").symlink_to(given.src / "subversion/tests/libsvn_wc")
    (top / "tools").symlink_to(given.src / "tools")
    (top / "subversion/svnfsfs").mkdir()
    (top / "subversion/svnfsfs/svnfsfs").symlink_to(given.bin / "svnfsfs")
    return top, tests


def serve(command, scheme, folder, log):
    port = free_port()
    words = shlex.split(command.replace("%r", str(folder)).replace("%p", str(port)))
    server = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server, f"{scheme}://127.0.0.1:{port}"
        except OSError:
            time.sleep(0.05)
    sys.exit(f"the server does not listen: {command}")


def run_file(given, name):
    top, tests = build_folder(given, name)
    words = [sys.executable, str(given.src / "subversion/tests/cmdline" / (name + ".py")), "--bin", str(given.bin)]
    words += ["--srcdir", str(given.src), "--tools-bin", str(given.bin), "--cleanup", *shlex.split(given.extra)]
    server, text, began = None, b"", time.time()
    with open(given.out / (name + ".server.log"), "wb") as log:
        try:
            if given.serve:
                server, url = serve(given.serve, given.scheme, tests, log)
                words += ["--url", url]
            environment = dict(os.environ, LC_ALL="C.UTF-8", SVN_EXPERIMENTAL_COMMANDS=EXPERIMENTS.get(name, ""))
            done = subprocess.run(words, cwd=tests, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=given.timeout)
            text = done.stdout
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"") + b"\n(killed: too late)\n"
        finally:
            if server:
                os.killpg(server.pid, signal.SIGTERM)
                server.wait()
    (given.out / (name + ".log")).write_bytes(text)
    shutil.rmtree(top, ignore_errors=True)
    found = (LINE.match(line) for line in text.decode("utf-8", "replace").splitlines())
    return name, [(m[2], int(m[3]), m[1]) for m in found if m], time.time() - began


def baseline(access):
    """What passes with the reference's programs."""
    lines = [line.rstrip("\n").split("\t") for line in open(HERE / "baseline.tsv") if not line.startswith("#")]
    column = lines[0].index(access)
    return {(row[0], int(row[1])) for row in lines[1:] if row[column] == "PASS"}


def commit():
    try:
        log = subprocess.run(["git", "log", "-1", "--format=%h %cs"], cwd=HERE, capture_output=True, text=True)
        return log.stdout.strip() or "unknown"
    except OSError:
        return "unknown"


def main():
    given = options()
    given.out.mkdir(parents=True, exist_ok=True)
    folder = given.src / "subversion/tests/cmdline"
    everything = sorted(path.stem for path in folder.glob("*_tests.py") if path.stem not in LEFT_OUT)
    files = given.files.split(",") if given.files else everything
    outcomes = {}
    with open(given.out / "summary.tsv", "w") as summary, concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        for name, rows, seconds in pool.map(lambda name: run_file(given, name), files):
            outcomes.update({(file, number): outcome for file, number, outcome in rows})
            summary.writelines(f"{file}\t{number}\t{outcome}\n" for file, number, outcome in rows)
            summary.flush()
            kinds = sorted({outcome for _, _, outcome in rows})
            counts = " ".join(f"{kind}={sum(row[2] == kind for row in rows)}" for kind in kinds)
            print(f"{name:32}{seconds:6.0f} s  {counts}", flush=True)
    access = given.scheme + "://" if given.serve else "file://"
    # What repositories in FSX can do, the reference has found out itself.
    kind = "fsx " if "--fs-type fsx" in given.extra or "--fs-type=fsx" in given.extra else ""
    wanted = {key for key in baseline(kind + access.replace("https", "http")) if key[0] in files}
    missing = sorted(key for key in wanted if outcomes.get(key) not in ("PASS", "XPASS"))
    with open(given.out / "missing.tsv", "w") as out:
        out.writelines(f"{file}\t{number}\t{outcomes.get((file, number), 'not run')}\n" for file, number in missing)
    passed = len(wanted) - len(missing)
    print(f"{access}: of {len(wanted)} that pass with the reference's programs, {passed} pass here")
    if given.record:
        which = "all" if len(files) == len(everything) else str(len(files))
        row = [commit(), access, given.record, which, str(len(wanted)), str(passed)]
        with open(RESULTS, "a") as results:
            results.write("\t".join(row) + "\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
