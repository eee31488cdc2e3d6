#!/usr/bin/env python3
"""Shows which value of `bulk-updates` is right: checkout and update over http://, on loopback and at a distance.

    tools/bulk_updates.py --sapwood target/release/sapwood --repo REPOSITORY [--delay 25] [--runs 3]

Run it as root in a network namespace of its own: `unshare -n tools/bulk_updates.py ...`. The distance is made with `tc netem` on its
loopback: `--delay` milliseconds each way. Without netem (a kernel that has none) a relay of our own holds back what passes. Clients: the
reference's svn with its defaults and ours. Figures are medians; the first
request to a server is a checkout by 1.14's client, so that its processor time is that of a new server.
"""
import argparse
import pathlib
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def pump(source, sink, delay):
    """Passes bytes on, each piece so late, without holding up the next."""
    waiting, open_ = [], True
    while open_ or waiting:
        left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        ready = select.select([source], [], [], left)[0] if open_ else (time.sleep(left or 0) or [])
        if ready:
            data = source.recv(1 << 16)
            open_ = bool(data)
            if data:
                waiting.append((time.monotonic() + delay, data))
        while waiting and waiting[0][0] <= time.monotonic():
            sink.sendall(waiting.pop(0)[1])
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(port, delay):
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", port))
            for s in (near, far):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((near, far), (far, near)):
                threading.Thread(target=quiet_pump, args=(*pair, delay), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def quiet_pump(*args):
    try:
        pump(*args)
    except OSError:
        pass


def run(command):
    begun = time.time()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr.decode()}")
    return time.time() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sapwood", required=True, type=pathlib.Path)
    parser.add_argument("--repo", required=True, type=pathlib.Path)
    parser.add_argument("--delay", type=float, default=25, help="milliseconds each way")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--path", default="trunk")
    args = parser.parse_args()
    args.sapwood, args.repo = args.sapwood.resolve(), args.repo.resolve()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    scratch = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm"))
    wc = scratch / "wc"
    youngest = int(subprocess.check_output(["svnlook", "youngest", args.repo]))
    clients = [("1.14", ["svn"]), ("ours", [args.sapwood, "svn"])]
    print("| distance | request | client | seconds: prefer | on | off | server CPU: prefer | on | off |\n|" + "---|" * 9)
    try:
        for delay in (0, args.delay):
            figures = {}
            how = ""
            if delay:
                netem = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", f"{delay}ms", "limit", "100000"]
                how = "netem" if subprocess.run(netem, stderr=subprocess.DEVNULL).returncode == 0 else "relay"
            for turn in range(args.runs):
                for word in ("prefer", "on", "off"):
                    port = free_port()
                    config = scratch / "serve.toml"
                    config.write_text(f"http-port = {port}\nbulk-updates = '{word}'\n[[location]]\nurl = '/'\n"
                                      f"folder = '{args.repo.parent}'\nlogin = 'never'\nanonymous = 'read'\n")
                    group = pathlib.Path(f"/sys/fs/cgroup/cpuacct/bulk-{port}")
                    group.mkdir()
                    server = subprocess.Popen(["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh",
                                               args.sapwood, "serve", "--config", config], stdout=subprocess.PIPE)
                    for line in server.stdout:
                        if b"Ctrl-C" in line:
                            break
                    # The server's threads write there.
                    threading.Thread(target=server.stdout.read, daemon=True).start()
                    at = relay(port, delay / 1000) if how == "relay" else port
                    url = f"http://127.0.0.1:{at}/{args.repo.name}/{args.path}"
                    for name, svn in clients:
                        for title, first, second in (
                            ("checkout", None, ["checkout", "-q", "--non-interactive", url, wc]),
                            ("update of the last 200 revisions",
                             ["checkout", "-q", "--non-interactive", f"{url}", "-r", str(youngest - 200), wc],
                             ["update", "-q", "--non-interactive", wc]),
                        ):
                            shutil.rmtree(wc, ignore_errors=True)
                            if first:
                                run(svn + first)
                            before = int((group / "cpuacct.usage").read_text())
                            wall = run(svn + second)
                            used = (int((group / "cpuacct.usage").read_text()) - before) / 1e9
                            figures.setdefault((title, name, word), []).append((wall, used))
                    server.terminate()
                    server.wait()
                    group.rmdir()
            place = f"{2 * delay:.0f} ms ({how})" if delay else "loopback"
            for title, name in dict.fromkeys((title, name) for title, name, _ in figures):
                cells = [f"{statistics.median(f[at] for f in figures[title, name, word]):.{2 + at}f}"
                         for at in (0, 1) for word in ("prefer", "on", "off")]
                print(f"| {place} | {title} | {name} | " + " | ".join(cells) + " |", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
