#!/usr/bin/env python3
"""How much memory a server takes while eight clients ask it for everything, of several repositories.

    tools/memory.py SAPWOOD DIR NAMES [MEGABYTES] [SECONDS]

DIR holds the repositories NAMES (as f8,f8p); MEGABYTES is the server's -M. Prints memory now and at most, every six seconds.
"""
import os
import random
import subprocess
import sys
import threading
import time

import quiet

program, folder, names = sys.argv[1:4]
size = sys.argv[4] if len(sys.argv) > 4 else "256"
seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 60
server = quiet.Server("Sapwood", f"{program} svnserve -M {size}")
server.start(folder)
random.seed(5)
end = time.time() + seconds


def command():
    at = random.randrange(1000, 45000)
    url = f"svn://127.0.0.1:{server.port}/{random.choice(names.split(','))}"
    return random.choice([
        f"svnbench null-log -v -q {url}", f"svnbench null-export -q -r {at} {url}/trunk",
        f"svnbench null-blame -r {at} {url}/trunk/CHANGES", f"svn diff --summarize -r {at}:{at + 3000} {url}/trunk",
        f"svnbench null-list -R -q -r {at} {url}/trunk", f"svnbench null-log -q -v {url}/trunk/mod3",
        f"svnrdump dump -q --incremental -r {at}:{at + 100} {url}"])


def client():
    while time.time() < end:
        subprocess.run(command(), shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


clients = [threading.Thread(target=client) for _ in range(8)]
for thread in clients:
    thread.start()
while any(thread.is_alive() for thread in clients):
    time.sleep(6)
    print(f"{server.memory('VmRSS'):.0f} MB now, {server.memory():.0f} at most", flush=True)
server.stop()
