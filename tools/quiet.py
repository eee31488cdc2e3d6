#!/usr/bin/env python3
"""The whole comparison with the reference on a quiet machine: the tables of docs/results.

    tools/quiet.py --sapwood target/release/sapwood --repos DIR > tables.md

DIR holds the benchmark repositories f8, f8p, f6p (made by `sapwood-bench make-repo --profile ruby`; `p` is
packed). They are only read. Everything that is written goes to --scratch, which should be on a real disk and
have 12 GB free. Run it as root (cold runs drop the system's caches), with nothing else going on. About 15
minutes; --only hot,hot-authz,cold,cold-authz,admin,load,commit,large,compressions,crowd picks sections; `fsx`, which is measured only when it
is asked for, wants f8, fsx and fsxp in DIR, of one history (`sapwood convert f8 fsx --fs-type fsx`); --runs sets how often each is measured.

Servers and programs take turns; figures are medians. CPU is user and system time of the server (or of the
program), exact from a control group where there is one, else in ticks of 10 ms. Reads are read system calls
of the server. Progress goes to stderr.
"""
import argparse
import os
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time

FAST = "-M 1024 -c 0 --cache-revprops yes --client-speed 1000 --block-read yes"
CGROUP = "/sys/fs/cgroup/cpuacct"
HZ = os.sysconf("SC_CLK_TCK")

HOT = [
    ("log -v, all revisions", "svnbench null-log -v -q {u}"),
    ("log -v of trunk/mod3", "svnbench null-log -v -q {u}/trunk/mod3"),
    ("log of one file", "svnbench null-log -q {u}/trunk/CHANGES"),
    ("export of trunk", "svnbench null-export -q {u}/trunk"),
    ("list -R of trunk", "svnbench null-list -R -q {u}/trunk"),
    ("info -R of trunk", "svnbench null-info -R {u}/trunk"),
    ("blame of CHANGES", "svnbench null-blame {u}/trunk/CHANGES"),
    ("diff --summarize", "svn diff --summarize -r 40000:45000 {u}/trunk"),
    ("log -l 10, ten times", "for i in 1 2 3 4 5 6 7 8 9 10; do svn log -q -l 10 {u}/trunk/CHANGES; done"),
    ("cat, ten times", "for i in 1 2 3 4 5 6 7 8 9 10; do svn cat {u}/trunk/README; done"),
]
COLD = ["log -v, all revisions", "log -v of trunk/mod3", "export of trunk", "list -R of trunk", "blame of CHANGES",
        "diff --summarize"]


def note(*words):
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


def median(rows):
    return [statistics.median(column) for column in zip(*rows)]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")


class Server:
    """A server in the foreground, with what it used so far. Both servers are one process with threads."""

    def __init__(self, label, command):
        self.label, self.command, self.process, self.group = label, command, None, None

    def start(self, parent):
        self.port = free_port()
        if os.access(CGROUP, os.W_OK):
            self.group = f"{CGROUP}/quiet-{os.getpid()}-{self.port}"
            os.makedirs(self.group, exist_ok=True)
        line = f"{self.command} -d --foreground -r {parent} --listen-host 127.0.0.1 --listen-port {self.port}"
        self.process = subprocess.Popen(shlex.split(line), preexec_fn=self._join,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"{self.label}: did not start")

    def _join(self):
        if self.group:
            with open(self.group + "/tasks", "w") as f:
                f.write(str(os.getpid()))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        if self.group:
            os.rmdir(self.group)
            self.group = None

    def used(self):
        """CPU seconds, read calls."""
        if self.group:
            with open(self.group + "/cpuacct.usage") as f:
                cpu = int(f.read()) / 1e9
        else:
            with open(f"/proc/{self.process.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            cpu = (int(fields[11]) + int(fields[12])) / HZ
        with open(f"/proc/{self.process.pid}/io") as f:
            reads = dict(line.split(": ") for line in f.read().splitlines())["syscr"]
        return cpu, int(reads)

    def memory(self, field="VmHWM"):
        """MB."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith(field))

    def request(self, command, name):
        """Wall seconds, server CPU seconds, read calls, peak MB."""
        cpu, reads = self.used()
        begun = time.time()
        command = command.format(u=f"svn://127.0.0.1:{self.port}/{name}")
        done = subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wall = time.time() - begun
        if done.returncode:
            note(self.label, command, done.stderr.decode().splitlines()[:1])
        cpu_after, reads_after = self.used()
        return wall, cpu_after - cpu, reads_after - reads, self.memory()


def servers(sapwood, before=None, more=""):
    found = [Server("reference", f"/usr/bin/svnserve -T {more}"),
             Server("reference, fast", f"/usr/bin/svnserve -T {FAST} {more}"), Server("Sapwood", f"{sapwood} svnserve {more}")]
    return found + [Server("Sapwood before", f"{before} svnserve {more}")] if before else found


def path_rules(options, name):
    """The server's option for an authz file of some 300 sections, of which one in 15 hides its directory."""
    repository = f"{options.repos}/{name}"
    listed = subprocess.run(["svn", "list", "-R", f"file://{repository}/trunk"], capture_output=True, text=True, check=True)
    folders = [line.rstrip("/") for line in listed.stdout.splitlines() if line.endswith("/")]
    sections = ["[groups]", *(f"team{n} = user{n}, lead{n}, build" for n in range(20)), "[/]", "* = r", "@team0 = rw"]
    for at, folder in enumerate(folders[::max(1, len(folders) // 300)]):
        sections += [f"[/trunk/{folder}]", f"@team{at % 20} = rw"]
        # What is asked for stays open.
        if at % 15 == 7 and folder != "mod3":
            sections.append("* =")
    base = f"{options.scratch}/{name}"
    with open(f"{base}.authz", "w") as f:
        f.write("\n".join(sections) + "\n")
    with open(f"{base}.conf", "w") as f:
        f.write(f"[general]\nanon-access = read\nauthz-db = {base}.authz\n")
    return f"--config-file {base}.conf"


def youngest(options, name):
    return int(subprocess.run(["svnlook", "youngest", f"{options.repos}/{name}"], capture_output=True, check=True).stdout)


def requests(options, name, cold, rules=False):
    """One table of requests to all servers."""
    print(f"### {'Cold' if cold else 'Hot'}, {name}{', path rules' if rules else ''}\n")
    every = servers(options.sapwood, options.before, path_rules(options, name) if rules else "")
    rows = []
    for title, command in HOT:
        for old, new in options.names:
            title, command = title.replace(old, new), command.replace(old, new)
        if cold and title not in options.cold_titles or "45000" in command and youngest(options, name) < 45000:
            continue
        note("cold" if cold else "hot", name, title)
        taken = [[] for _ in every]
        if not cold:
            for server in every:
                server.start(options.repos)
                server.request(command, name)
        for _ in range(options.cold_runs if cold else options.runs):
            for server, rows_of in zip(every, taken):
                if cold:
                    server.start(options.repos)
                    if not options.keep_caches:
                        drop_caches()
                rows_of.append(server.request(command, name))
                if cold:
                    server.stop()
        if not cold:
            for server in every:
                server.stop()
        figures = [median(rows_of) for rows_of in taken]
        row = [title]
        for at, form in enumerate(["{:.3f}", "{:.3f}", "{:.0f}", "{:.0f}"]):
            row += [form.format(figure[at]) for figure in figures]
        rows.append(row)
    names = ["ref", "ref fast", "Sapwood", "before"][:len(every)]
    head = ["request"] + [f"{what}: {who}" for what in ("wall s", "server CPU s", "reads", "peak MB") for who in names]
    table(head, rows)


def program(command, stdin=None):
    """Wall seconds, CPU seconds and peak MB of a command that reads a file and whose output nobody wants."""
    begun = time.time()
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL
    process = subprocess.Popen(shlex.split(command), stdin=source, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.time() - begun
    if process.returncode:
        note("failed:", command)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def against(rows, title, reference, sapwood, runs, prepare=None, stdin=None, size=None):
    """A row of the table of programs: the same work by both, in turn."""
    note(title)
    taken = ([], [])
    sizes = ["", ""]
    for _ in range(runs):
        for at, command in enumerate((reference, sapwood)):
            if prepare:
                prepare()
            taken[at].append(program(command, stdin))
            if size:
                sizes[at] = f"{folder_size(size) / 1e6:.1f}"
    (rw, rc, rm), (sw, sc, sm) = median(taken[0]), median(taken[1])
    row = [title, f"{rw:.2f}", f"{sw:.2f}", f"{rw / sw:.1f}", f"{rc:.2f}", f"{sc:.2f}", f"{rc / max(sc, 0.01):.1f}",
           f"{rm:.0f}", f"{sm:.0f}"]
    rows.append(row + sizes)


PROGRAMS = ["work", "wall s: ref", "Sapwood", "x", "CPU s: ref", "Sapwood", "x", "peak MB: ref", "Sapwood",
            "result MB: ref", "Sapwood"]


def folder_size(path):
    return sum(os.path.getsize(os.path.join(base, f)) for base, _, files in os.walk(path) for f in files)


def admin(options):
    """Readers of whole repositories, and pack."""
    print("### svnadmin, hot files\n")
    rows = []
    ours, span = f"{options.sapwood} svnadmin", "-r 20000:30000"
    for name in ("f8p", "f8", "f6p"):
        for work in (f"dump -q --incremental {span}", f"dump -q --incremental --deltas {span}"):
            command = f"{work} {options.repos}/{name}"
            program(f"{ours} {command}")
            against(rows, f"{name}: {work}", f"svnadmin {command}", f"{ours} {command}", options.runs)
    for name in ("f8", "f6p"):
        # The metadata of f8 takes the reference minutes: the revisions' share is the same in both.
        command = f"verify -q -r 20000:24000 {options.repos}/{name}"
        against(rows, f"{name}: verify -r 20000:24000", f"svnadmin {command}", f"{ours} {command}", 1)
    source = f"{options.scratch}/small"
    make_small(options, source, 5000)
    target = f"{options.scratch}/packed"

    def prepare():
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", source, target], check=True)
        os.sync()
    against(rows, "pack of 5,000 revisions", f"svnadmin pack -q {target}", f"{ours} pack -q {target}", options.runs,
            prepare, size=target)
    table(PROGRAMS, rows)


def fsx(options):
    """The same history in FSX, packed or not, and in FSFS 8: requests, and what administrators do."""
    # The names of what `sapwood-bench make-repo --scale 0.15` makes.
    options.names = [("mod3", "dir50"), ("CHANGES", "ChangeLog"), ("README", "file00077.html")]
    options.cold_titles = [title.replace("mod3", "dir50").replace("CHANGES", "ChangeLog") for title in COLD]
    for name in ("f8", "fsx", "fsxp"):
        requests(options, name, False)
        if name != "f8":
            requests(options, name, False, True)
        requests(options, name, True)
    print("### FSX: svnadmin\n")
    rows = []
    ours = f"{options.sapwood} svnadmin"
    for name in ("fsx", "fsxp", "f8"):
        for work in ("dump -q", "verify -q"):
            command = f"{work} {options.repos}/{name}"
            against(rows, f"{name}: {work}", f"svnadmin {command}", f"{ours} {command}", options.runs)
    stream = f"{options.scratch}/fsx.dump"
    with open(stream, "wb") as out:
        subprocess.run([options.sapwood, "svnadmin", "dump", "-q", f"{options.repos}/fsx"], stdout=out, check=True)
    target = f"{options.scratch}/loaded"

    def make(kind):
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["svnadmin", "create", "--fs-type", kind, target], check=True)
        os.sync()
    for kind in ("fsx", "fsfs"):
        against(rows, f"load into {kind}", f"svnadmin load -q {target}", f"{ours} load -q {target}", options.runs,
                lambda: make(kind), stream, target)

    def copy():
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", f"{options.repos}/fsx", target], check=True)
        os.sync()
    against(rows, "pack fsx", f"svnadmin pack -q {target}", f"{ours} pack -q {target}", options.runs, copy, size=target)
    table(PROGRAMS, rows)


def dump_file(options, revisions):
    path = f"{options.scratch}/{revisions}.dump"
    if not os.path.exists(path):
        with open(path, "wb") as out:
            subprocess.run([options.sapwood, "svnadmin", "dump", "-q", "-r", f"0:{revisions}",
                            f"{options.repos}/f8p"], stdout=out, check=True)
    return path


def make_small(options, path, revisions):
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run(["svnadmin", "create", path], check=True)
    with open(dump_file(options, revisions), "rb") as stream:
        subprocess.run([options.sapwood, "svnadmin", "load", "-q", "--no-flush-to-disk", path], stdin=stream,
                       check=True)


def load(options):
    print("### svnadmin load, 4,000 revisions\n")
    rows = []
    stream = dump_file(options, 4000)
    target = f"{options.scratch}/loaded"

    def prepare():
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["svnadmin", "create", target], check=True)
        os.sync()
    for flag in ("--no-flush-to-disk", ""):
        against(rows, f"load {flag}".strip(), f"svnadmin load -q {flag} {target}",
                f"{options.sapwood} svnadmin load -q {flag} {target}", options.cold_runs, prepare, stream, target)
    table(PROGRAMS, rows)


def read_item(stream, where=""):
    """One item of the svn protocol: a list, a string, a number or a word. `where` names the stream when it ends."""
    byte = stream.read(1)
    while byte in b" \n":
        if not byte:
            raise EOFError(where)
        byte = stream.read(1)
    if byte == b"(":
        found = []
        while (part := read_item(stream, where)) is not None:
            found.append(part)
        if found[:1] == [b"failure"]:
            raise RuntimeError(found)
        return found
    if byte == b")":
        return None
    word = byte
    while (byte := stream.read(1)) not in b" \n:":
        word += byte
    return stream.read(int(word)) if byte == b":" else word


class Client:
    """Just enough of the protocol to commit changes of one file over one connection."""

    def __init__(self, port, name, number):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile("rb")
        self.file = f"f{number}"
        url = f"svn://127.0.0.1:{port}/{name}"
        self.item()
        self.socket.sendall(f"( 2 ( edit-pipeline svndiff1 depth log-revprops ) {len(url)}:{url} ) ".encode())
        self.item()
        self.socket.sendall(b"( ANONYMOUS ( 0: ) ) ")
        self.item()
        self.item()
        self.revision = 1

    def item(self):
        return read_item(self.input, self.file)

    def commit(self, text):
        def number(n):
            return (number(n >> 7)[:-1] + bytes([(n >> 7) & 127 | 128]) if n > 127 else b"") + bytes([n & 127])
        code = b"\x80" + number(len(text))
        delta = b"SVN\0" + number(0) * 2 + number(len(text)) + number(len(code)) + number(len(text)) + code + text
        self.socket.sendall(b"( commit ( 1:m ( ) false ( ) ) ) ")
        self.item()
        self.item()
        file, revision = self.file, self.revision
        path = f"d/{file}"
        self.socket.sendall(
            f"( open-root ( ( {revision} ) 2:d0 ) ) ( open-dir ( 1:d 2:d0 2:d1 ( {revision} ) ) ) "
            f"( open-file ( {len(path)}:{path} 2:d1 2:{file} ( {revision} ) ) ) "
            f"( apply-textdelta ( 2:{file} ( ) ) ) ( textdelta-chunk ( 2:{file} {len(delta)}:".encode() + delta +
            f" ) ) ( textdelta-end ( 2:{file} ) ) ( close-file ( 2:{file} ( ) ) ) ( close-dir ( 2:d1 ) ) "
            "( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ".encode())
        self.item()
        self.item()
        self.revision = int(self.item()[0])


def commits(options):
    """Small commits over connections that stay open, so that the servers are measured and not the clients."""
    print("### Small commits over svn://\n")
    rows = []
    root = f"{options.scratch}/commits"
    count = options.commits
    for clients in (1, 8):
        taken = {"ref": [], "Sapwood": []}
        for _ in range(options.runs):
            for label, command in (("ref", "/usr/bin/svnserve -T"), ("Sapwood", f"{options.sapwood} svnserve")):
                note("commits", clients, label)
                shutil.rmtree(root, ignore_errors=True)
                os.makedirs(f"{root}/tree/d")
                subprocess.run(["svnadmin", "create", f"{root}/r"], check=True)
                with open(f"{root}/r/conf/svnserve.conf", "w") as f:
                    f.write("[general]\nanon-access=write\n")
                for at in range(8):
                    with open(f"{root}/tree/d/f{at}", "w") as f:
                        f.write("line\n" * 200)
                subprocess.run(["svn", "import", "-q", "-m", "first", f"{root}/tree", f"file://{root}/r"], check=True)
                os.sync()
                server = Server(label, command)
                server.start(root)
                open_clients = [Client(server.port, "r", at) for at in range(clients)]

                def work(client):
                    for at in range(count // clients):
                        client.commit(b"line\n" * 200 + f"{at}\n".encode())
                cpu = server.used()[0]
                begun = time.time()
                threads = [threading.Thread(target=work, args=(client,)) for client in open_clients]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                wall = time.time() - begun
                taken[label].append((count / wall, 1000 * (server.used()[0] - cpu) / count))
                server.stop()
                youngest = subprocess.run(["svnlook", "youngest", f"{root}/r"], capture_output=True, text=True)
                if int(youngest.stdout) != 1 + count // clients * clients:
                    note("lost commits:", youngest.stdout)
        (rate, cpu), (our_rate, our_cpu) = median(taken["ref"]), median(taken["Sapwood"])
        rows.append([str(clients), f"{rate:.0f}", f"{our_rate:.0f}", f"{our_rate / rate:.2f}", f"{cpu:.2f}",
                     f"{our_cpu:.2f}"])
    table(["clients", "commits/s: ref", "Sapwood", "x", "server CPU ms a commit: ref", "Sapwood"], rows)
    shutil.rmtree(root, ignore_errors=True)


def compressions(options):
    """The same history under each `compression` of fsfs.conf: size, reading, commits."""
    print("### Compression\n")
    rows = []
    root = f"{options.scratch}/compressions"
    stream = dump_file(options, 3000)
    for kind in ("none", "lz4", "zlib-1", "zlib-5", "zlib-9"):
        note("compression", kind)
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        subprocess.run(["svnadmin", "create", f"{root}/r"], check=True)
        with open(f"{root}/r/db/fsfs.conf", "a") as f:
            f.write(f"\n[deltification]\ncompression = {kind}\n")
        with open(f"{root}/r/conf/svnserve.conf", "w") as f:
            f.write("[general]\nanon-access=write\n")
        loading = program(f"{options.sapwood} svnadmin load -q --no-flush-to-disk {root}/r", stream)
        size = folder_size(f"{root}/r/db/revs") / 1e6
        export = "svnbench null-export -q {u}/trunk"
        cold, hot = [], []
        for _ in range(options.runs):
            server = Server(kind, f"{options.sapwood} svnserve")
            server.start(root)
            drop_caches()
            cold.append(server.request(export, "r"))
            hot.append(server.request(export, "r"))
            server.stop()
        server = Server(kind, f"{options.sapwood} svnserve")
        server.start(root)
        address = f"svn://127.0.0.1:{server.port}/r"
        with open(f"{root}/text", "w") as f:
            f.writelines(f"line {at * 7919 % 10007} of a file that is changed\n" for at in range(2000))
        subprocess.run(["svnmucc", "-m", "f", "mkdir", f"{address}/d", "put", f"{root}/text", f"{address}/d/f0"], stdout=subprocess.DEVNULL,
                       check=True)
        client = Client(server.port, "r", 0)
        client.revision = int(subprocess.run(["svnlook", "youngest", f"{root}/r"], capture_output=True).stdout)
        with open(f"{root}/text", "rb") as f:
            text = f.read()
        cpu, begun = server.used()[0], time.time()
        for at in range(options.commits):
            client.commit(text + b"%d\n" % at)
        wall, cpu = time.time() - begun, server.used()[0] - cpu
        server.stop()
        cold, hot = median(cold), median(hot)
        rows.append([kind, f"{size:.1f}", f"{loading[1]:.2f}", f"{cold[0]:.3f}", f"{cold[1]:.3f}", f"{hot[0]:.3f}",
                     f"{hot[1]:.3f}", f"{1000 * wall / options.commits:.2f}", f"{1000 * cpu / options.commits:.2f}"])
    table(["compression", "MB of revs", "load, CPU s", "cold export, s", "server CPU s", "hot export, s",
           "server CPU s", "a commit of 72 KB, ms", "server CPU ms"], rows)
    shutil.rmtree(root, ignore_errors=True)


def large(options):
    print("### Commit of 1 GiB over svn:// (`svn import`)\n")
    rows = []
    root = f"{options.scratch}/large"
    for kind in ("random", "text"):
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(f"{root}/tree")
        with open(f"{root}/tree/file", "wb") as out:
            for block in range(1024):
                if kind == "random":
                    out.write(os.urandom(1 << 20))
                else:
                    lines = b"".join(b"%08d the quick brown fox %d jumps over it\n" % (at, at * block % 977)
                                     for at in range(block * 24000, (block + 1) * 24000))
                    out.write(lines[:1 << 20])
        figures = []
        for label, command in (("ref", "/usr/bin/svnserve -T"), ("Sapwood", f"{options.sapwood} svnserve")):
            note("large", kind, label)
            shutil.rmtree(f"{root}/r", ignore_errors=True)
            subprocess.run(["svnadmin", "create", f"{root}/r"], check=True)
            with open(f"{root}/r/conf/svnserve.conf", "w") as f:
                f.write("[general]\nanon-access=write\n")
            os.sync()
            server = Server(label, command)
            server.start(root)
            wall, cpu, _, peak = server.request(f"svn import -q -m large {root}/tree {{u}}", "r")
            server.stop()
            figures.append((f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.0f}", f"{folder_size(f'{root}/r/db/revs') / 1e6:.0f}"))
        rows.append([kind] + [figure for pair in zip(*figures) for figure in pair])
    table(["text"] + [f"{what}: {who}" for what in ("wall s", "server CPU s", "peak MB", "result MB")
                      for who in ("ref", "Sapwood")], rows)
    shutil.rmtree(root, ignore_errors=True)


def crowd(options):
    print("### 500 connected clients, 50 of them exporting trunk (f8p)\n")
    rows = []
    for server in (Server("reference", "/usr/bin/svnserve -T -M 256"), Server("Sapwood", f"{options.sapwood} svnserve -M 256")):
        note("crowd", server.label)
        server.start(options.repos)
        try:
            idle = [Client(server.port, "f8p", at) for at in range(450)]
        except (OSError, EOFError, RuntimeError) as error:
            note(server.label, "cannot hold 450 clients:", repr(error))
            idle = []
        connected = server.memory("VmRSS")
        cpu = server.used()[0]
        begun = time.time()
        command = ["svnbench", "null-export", "-q", f"svn://127.0.0.1:{server.port}/f8p/trunk"]
        working = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(50)]
        failed = sum(process.wait() != 0 for process in working)
        rows.append([server.label, str(len(idle)), f"{connected:.0f}", f"{time.time() - begun:.1f}",
                     f"{server.used()[0] - cpu:.1f}", f"{server.memory():.0f}", str(failed)])
        server.stop()
    table(["server", "idle clients", "MB with them", "wall s of 50 exports", "server CPU s", "peak MB", "failed"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sapwood", default="target/release/sapwood")
    parser.add_argument("--before", help="another build of Sapwood, which takes turns with the rest in hot and cold")
    parser.add_argument("--repos", default="/work/scratch/big")
    parser.add_argument("--scratch", default="/work/scratch/quiet")
    parser.add_argument("--only", default="hot,hot-authz,cold,cold-authz,admin,load,commit,large,compressions,crowd")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cold-runs", type=int, default=1)
    parser.add_argument("--commits", type=int, default=400)
    parser.add_argument("--keep-caches", action="store_true", help="cold is a new server, but the system's caches stay")
    options = parser.parse_args()
    options.sapwood = os.path.abspath(options.sapwood)
    os.makedirs(options.scratch, exist_ok=True)
    only = options.only.split(",")
    options.names, options.cold_titles = [], COLD
    begun = time.time()
    print(f"Made by `tools/quiet.py`, load {os.getloadavg()[0]:.1f} at the start.\n")
    sections = [
        ("hot", lambda: [requests(options, name, False) for name in ("f8", "f8p")]),
        ("hot-authz", lambda: [requests(options, name, False, True) for name in ("f8", "f8p")]),
        ("cold", lambda: [requests(options, name, True) for name in ("f8", "f8p")]),
        ("cold-authz", lambda: [requests(options, name, True, True) for name in ("f8p",)]),
        ("admin", lambda: admin(options)),
        ("load", lambda: load(options)),
        ("commit", lambda: commits(options)),
        ("large", lambda: large(options)),
        ("compressions", lambda: compressions(options)),
        ("crowd", lambda: crowd(options)),
        ("fsx", lambda: fsx(options)),
    ]
    for name, section in sections:
        if name in only:
            section()
    note(f"done in {(time.time() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
