#!/usr/bin/env python3
"""Start-up of a tunnel server, as svn+ssh starts one for every connection.

    tools/tunnel.py --sapwood target/release/sapwood --repo REPO [--runs 20] [--cold]

Starts `svnserve -t` and speaks to it through pipes: milliseconds from the start to the greeting, to the end of
the first exchange (authentication, repository opened, get-latest-rev answered), and to the end of `log` of the
ten youngest revisions. Both programs in turn; medians. With --cold (as root) the system's caches of files are
dropped before each start, the program files read again first: what is cold is the repository.
"""
import argparse
import os
import statistics
import subprocess
import time

import quiet


class Tunnel:
    def __init__(self, command, url):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.input = self.process.stdout
        self.item()
        self.greeting = time.perf_counter() - self.begun
        self.send(f"( 2 ( edit-pipeline svndiff1 depth log-revprops ) {len(url)}:{url} ) ")
        self.item()
        self.send("( EXTERNAL ( 0: ) ) ")
        self.item()
        self.item()
        self.send("( get-latest-rev ( ) ) ")
        self.item()
        self.youngest = int(self.item()[1][0])
        self.first = time.perf_counter() - self.begun

    def log(self):
        last = self.youngest
        self.send(f"( log ( ( 0: ) ( {last} ) ( {last - 9} ) true false 10 false revprops ( ) ) ) ")
        self.item()
        while self.item() != b"done":
            pass
        self.item()
        return time.perf_counter() - self.begun

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def item(self):
        return quiet.read_item(self.input)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sapwood", default="target/release/sapwood")
    parser.add_argument("--repo", default="/work/scratch/big/f8p")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    repo = os.path.realpath(options.repo)
    programs = {"reference": ["/usr/bin/svnserve", "-t", "-r", os.path.dirname(repo)],
                "Sapwood": [os.path.abspath(options.sapwood), "svnserve", "-t", "-r", os.path.dirname(repo)]}
    taken = {name: [] for name in programs}
    for _ in range(options.runs):
        for name, command in programs.items():
            if options.cold:
                os.sync()
                with open("/proc/sys/vm/drop_caches", "w") as f:
                    f.write("3")
            # The program itself is in use all the time where svn+ssh is.
            subprocess.run([*command[:-3], "--version", "-q"], stdout=subprocess.DEVNULL, check=False)
            tunnel = Tunnel(command, f"svn+ssh://host/{os.path.basename(repo)}")
            log = tunnel.log()
            tunnel.close()
            taken[name].append((tunnel.greeting, tunnel.first, log))
    print("| program | greeting ms | first reply ms | log of ten revisions ms |\n|---|---|---|---|")
    for name, rows in taken.items():
        print(f"| {name} | " + " | ".join(f"{1000 * statistics.median(column):.1f}" for column in zip(*rows)) + " |")


if __name__ == "__main__":
    main()
