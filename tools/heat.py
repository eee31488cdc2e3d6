#!/usr/bin/env python3
"""The same request again and again to one server, with caches of several sizes: does less than is needed still help?

    tools/heat.py SAPWOOD REPOSITORY log|export|blame 30,60,128 [RUNS]

REPOSITORY is a path; for each size in MB it prints the server's CPU seconds and reads of each run. See tools/quiet.py
for how they are counted.
"""
import os
import sys

import quiet

COMMANDS = {"log": "svnbench null-log -v -q {u}", "export": "svnbench null-export -q {u}/trunk",
            "blame": "svnbench null-blame {u}/trunk/CHANGES"}

program, repository, name = sys.argv[1:4]
runs = int(sys.argv[5]) if len(sys.argv) > 5 else 15
parent, base = os.path.split(os.path.abspath(repository))
for size in sys.argv[4].split(","):
    server = quiet.Server("Sapwood", f"{program} svnserve -M {size}")
    server.start(parent)
    rows = [server.request(COMMANDS[name], base) for _ in range(runs)]
    print(f"{name} {base} -M {size}: " + "; ".join(f"CPU {row[1]:.3f} reads {row[2]}" for row in rows)
          + f"; peak {rows[-1][3]:.0f} MB", flush=True)
    server.stop()
