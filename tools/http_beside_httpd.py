#!/usr/bin/env python3
"""http:// beside httpd with mod_dav_svn, and beside our own svn://: the tables of docs/results/http-*.md.

    tools/http_beside_httpd.py --sapwood target/release/sapwood --repo REPOSITORY --scratch DIR > tables.md

REPOSITORY is one of `sapwood-bench make-repo --profile ruby --pack`, in a folder of its own that everybody may read; it is only read.
DIR is for working copies and for repositories that are committed to, on the disk that is to be measured.
Run it as root: httpd then serves as user 65534. Servers take turns within each repetition; figures are medians. Processor time is user
and system time of all processes of a server, exact, from a control group. --only picks sections: requests, memory, commits,
checkout. The clients are the reference's, but for `checkout`, which is ours. --states picks those of a server that is asked: new, hot, and
cold (new, and the files of the repository taken out of the system's cache, those of nothing else; it has to be on a disk for that). With
--tls requests are by https, with a certificate made for it.

Servers: `Sapwood` is one `sapwood serve FOLDER` with its defaults, asked over svn: and http:. `httpd` is the event MPM with 1 GB of cache,
SVNCacheRevProps and SVNBlockRead on, no compression (the settings of the measurements of 2014); `httpd, Prefer` has
SVNCacheFullTexts on and SVNAllowBulkUpdates Prefer, too, which makes 1.14's clients ask for texts in one reply.
"""
import argparse
import http.client
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time

MODULES = "/usr/lib/apache2/modules"
GROUPS = pathlib.Path("/sys/fs/cgroup/cpuacct")
FAST = ["SVNInMemoryCacheSize 1048576", "SVNCompressionLevel 0"]
PLACE = ["SVNCacheRevProps On", "SVNBlockRead On"]
MORE = ["SVNCacheFullTexts On", "SVNAllowBulkUpdates Prefer"]


def note(*words):
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def forget(folder):
    """Takes files out of the system's cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def certificate(args):
    """Files of a certificate that signs itself, and of its key."""
    files = args.scratch / "certificate.pem", args.scratch / "key.pem"
    if not files[0].exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                        "-subj", "/CN=localhost", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children(pid):
    found, todo = [], [pid]
    while todo:
        at = todo.pop()
        found.append(at)
        for task in pathlib.Path(f"/proc/{at}/task").glob("*/children"):
            todo += [int(word) for word in task.read_text().split()]
    return found


class Server:
    def __init__(self, name, command, port):
        self.name, self.port = name, port
        self.group = GROUPS / f"http-bench-{port}"
        self.group.mkdir()
        # It is in the group before it starts another process.
        self.child = subprocess.Popen(["sh", "-c", f'echo $$ >{self.group}/cgroup.procs && exec "$@"', "sh", *command],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.01)
        raise SystemExit(f"{name} does not answer")

    def cpu(self):
        return int((self.group / "cpuacct.usage").read_text()) / 1e9

    def memory(self, what="Pss:"):
        """MiB, each shared page counted once. `Pss_Anon:` is that without the pages of programs and libraries."""
        total = 0
        for pid in children(self.child.pid):
            try:
                lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += next(int(line.split()[1]) for line in lines if line.startswith(what))
        return total / 1024

    def end(self):
        self.child.terminate()
        self.child.wait()
        time.sleep(0.2)
        try:
            self.group.rmdir()
        except OSError:
            pass


def sapwood(args, root):
    http_port, svn_port = free_port(), free_port()
    conf = args.scratch / "svnserve.conf"
    conf.write_text("[general]\nanon-access = write\n")
    web = ["--http-port", str(http_port)]
    if args.tls:
        web = ["--https-port", str(http_port), "--tls-certificate", certificate(args)[0], "--tls-key", certificate(args)[1]]
    server = Server("Sapwood", [args.sapwood, "serve", "--folder", root, "--listen", "127.0.0.1", "--port", str(svn_port),
                                "--config-file", conf, *web], http_port)
    server.svn = f"svn://127.0.0.1:{svn_port}"
    return server


def httpd(args, root, more):
    port = free_port()
    folder = args.scratch / f"httpd-{port}"
    folder.mkdir()
    folder.chmod(0o755)
    modules = ["mpm_event", "authn_core", "authz_core", "authz_host", "dav", "dav_svn", "authz_svn"]
    lines = [f"LoadModule {m}_module {MODULES}/mod_{m}.so" for m in modules]
    lines += ['User "#65534"', 'Group "#65534"', f"Listen 127.0.0.1:{port}", "ServerName localhost", f"PidFile {folder}/pid",
              f"ErrorLog {folder}/error", f"DocumentRoot {folder}", "StartServers 1", "ServerLimit 4", "ThreadsPerChild 64",
              "MaxRequestWorkers 256", "KeepAlive On", "KeepAliveTimeout 60", "MaxKeepAliveRequests 0", "LimitXMLRequestBody 0"]
    if args.tls:
        lines.insert(0, f"LoadModule ssl_module {MODULES}/mod_ssl.so")
        lines += ["SSLEngine on", "SSLCertificateFile %s" % certificate(args)[0], "SSLCertificateKeyFile %s" % certificate(args)[1]]
    lines += FAST + ["<Location />", "DAV svn", f"SVNParentPath {root}"] + PLACE + (MORE if more else [])
    lines += ["Require all granted", "</Location>"]
    (folder / "conf").write_text("\n".join(lines) + "\n")
    name = "httpd, Prefer" if more else "httpd"
    return Server(name, ["/usr/sbin/apache2", "-DFOREGROUND", "-f", folder / "conf"], port)


def run(command, may_fail=False):
    begun = time.time()
    done = subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode and not may_fail:
        raise SystemExit(f"{command}: {done.stderr.decode()}")
    return time.time() - begun


def requests(args):
    root, name = args.repo.parent, args.repo.name
    youngest = int(subprocess.check_output(["svnlook", "youngest", args.repo]))
    old = youngest - youngest // 20
    wc = args.scratch / "wc"
    options = f"--non-interactive --config-dir {args.scratch}/none"
    if args.tls:
        options += " --trust-server-cert-failures unknown-ca,cn-mismatch,expired,not-yet-valid,other"
    wanted = [
        ("null-log -v", f"svnbench null-log -v -q {options} {{u}}", None),
        ("log -v", f"svn log -v {options} {{u}}", None),
        ("null-export", f"svnbench null-export -q {options} {{u}}/trunk", None),
        ("export", f"svn export -q --force {options} {{u}}/trunk {wc}", f"rm -rf {wc}"),
        ("checkout", f"svn checkout -q {options} {{u}}/trunk {wc}", f"rm -rf {wc}"),
        ("update", f"svn update -q {options} {wc}", f"rm -rf {wc}; svn checkout -q -r {old} {options} {{u}}/trunk {wc}"),
        ("null-list -R", f"svnbench null-list -q -R {options} {{u}}/trunk", None),
        ("list -v", f"svn list -v {options} {{u}}/trunk", None),
        ("null-blame", f"svnbench null-blame {options} {{u}}/trunk/ChangeLog", None),
    ]
    titles = {"new": "New server, files in the system cache", "cold": "New server, files in no cache", "hot": "Third time"}
    ways = ["Sapwood svn", "Sapwood http", "httpd", "httpd, Prefer"]
    for state in args.states.split(","):
        figures = {}
        for title, command, ready in wanted:
            if args.requests and title not in args.requests.split(","):
                continue
            if state != "hot" and title in ("update", "checkout", "export", "log -v", "list -v"):
                continue
            for turn in range(args.runs):
                order = ways if turn % 2 == 0 else ways[::-1]
                for way in order:
                    if state == "cold":
                        forget(args.repo)
                    server = sapwood(args, root) if way.startswith("Sapwood") else httpd(args, root, "Prefer" in way)
                    base = server.svn if way == "Sapwood svn" else f"{'https' if args.tls else 'http'}://127.0.0.1:{server.port}"
                    url = f"{base}/{name}"
                    for go in range(3 if state == "hot" else 1):
                        if ready:
                            run(ready.replace("{u}", url))
                        before = server.cpu()
                        wall = run(command.replace("{u}", url))
                        used = server.cpu() - before
                    figures.setdefault((title, way), []).append((used, wall))
                    server.end()
            note(state, title, *(f"{way} {statistics.median(c for c, _ in figures[title, way]):.4f}" for way in ways))
        for what, at in (("Processor time of the server, s", 0), ("Time by the clock, s", 1)):
            print(f"### {titles[state]}: {what.lower()}\n")
            rows = []
            for title, _, _ in wanted:
                if (title, ways[0]) not in figures:
                    continue
                of = {way: statistics.median(f[at] for f in figures[title, way]) for way in ways}
                ours = of["Sapwood http"]
                rows.append([title] + [f"{of[way]:.4f}" for way in ways]
                            + [f"{of['httpd'] / ours:.1f}", f"{of['httpd, Prefer'] / ours:.1f}", f"{ours / of['Sapwood svn']:.2f}"])
            table(["request"] + ways + ["httpd / ours", "Prefer / ours", "our http / svn"], rows)


def memory(args):
    root, name = args.repo.parent, args.repo.name
    rows = []
    for make in (lambda: sapwood(args, root), lambda: httpd(args, root, False), lambda: httpd(args, root, True)):
        server = make()
        fresh = server.memory()
        idle = []
        for _ in range(100):
            c = http.client.HTTPConnection("127.0.0.1", server.port)
            c.request("OPTIONS", f"/{name}")
            c.getresponse().read()
            idle.append(c)
        # Idle is who asks for nothing for some seconds.
        time.sleep(6)
        with_idle, own = server.memory(), server.memory("Pss_Anon:")
        command = f"svnbench null-export -q --non-interactive http://127.0.0.1:{server.port}/{name}/trunk"
        clients = [subprocess.Popen(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(50)]
        most = 0
        while any(c.poll() is None for c in clients):
            most = max(most, server.memory())
            time.sleep(0.05)
        failed = sum(1 for c in clients if c.wait() != 0)
        rows.append([server.name, f"{fresh:.1f}", f"{with_idle:.1f}", f"{own:.1f}", f"{most:.0f}", f"{server.memory():.0f}", failed])
        note(*rows[-1])
        for c in idle:
            c.close()
        server.end()
    print("### Memory in MiB (proportional set size, all processes)\n")
    table(["server", "new", "100 idle connections", "of that no program's pages", "and 50 exports at a time (most)", "after", "failed"], rows)


def commit(connection, base, path, text):
    def ask(method, place, body=b"", **headers):
        connection.request(method, place, body, {k.replace("_", "-"): v for k, v in headers.items()})
        reply = connection.getresponse()
        data = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {place}: {reply.status} {data[:300]}")
        return reply
    skel = b"( create-txn-with-props ( 7 svn:log 1 x ) )"
    name = ask("POST", f"{base}/!svn/me", skel, Content_Type="application/vnd.svn-skel").headers["SVN-Txn-Name"]
    ask("PUT", f"{base}/!svn/txr/{name}/{path}", text)
    body = (f'<D:merge xmlns:D="DAV:"><D:source><D:href>{base}/!svn/txn/{name}</D:href></D:source><D:no-auto-merge/>'
            "<D:no-checkout/><D:prop><D:checked-in/></D:prop></D:merge>").encode()
    ask("MERGE", f"{base}/", body, X_SVN_Options="no-merge-response", Content_Type="text/xml")


def commits(args):
    rows = []
    figures = {}
    for turn in range(args.runs):
        for which in ("Sapwood", "httpd"):
            for clients in (1, 8):
                root = args.scratch / "commits"
                shutil.rmtree(root, ignore_errors=True)
                root.mkdir()
                root.chmod(0o755)
                subprocess.check_call(["svnadmin", "create", root / "repo"])
                names = [f"f{n}" for n in range(clients)]
                for n in names:
                    subprocess.check_call(["svnmucc", "-U", f"file://{root}/repo", "-m", "x", "put", "/etc/hostname", n],
                                          stdout=subprocess.DEVNULL)
                subprocess.check_call(["chown", "-R", "65534:65534", root / "repo"])
                server = sapwood(args, root) if which == "Sapwood" else httpd(args, root, False)
                count = [0] * clients
                before, begun = server.cpu(), time.time()

                def work(number):
                    connection = http.client.HTTPConnection("127.0.0.1", server.port)
                    while time.time() - begun < args.seconds:
                        commit(connection, "/repo", names[number], os.urandom(600).hex().encode())
                        count[number] += 1

                threads = [threading.Thread(target=work, args=(n,)) for n in range(clients)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                took = time.time() - begun
                made = int(subprocess.check_output(["svnlook", "youngest", root / "repo"])) - clients
                assert made == sum(count), (made, count)
                figures.setdefault((which, clients), []).append((made / took, (server.cpu() - before) / made * 1000))
                server.end()
    print("### Commits over http\n")
    for clients in (1, 8):
        of = {which: [statistics.median(f[at] for f in figures[which, clients]) for at in (0, 1)] for which in ("Sapwood", "httpd")}
        rows.append([clients, f"{of['Sapwood'][0]:.0f}", f"{of['httpd'][0]:.0f}", f"{of['Sapwood'][0] / of['httpd'][0]:.1f}",
                     f"{of['Sapwood'][1]:.2f}", f"{of['httpd'][1]:.2f}", f"{of['httpd'][1] / of['Sapwood'][1]:.1f}"])
    table(["clients", "commits a second: Sapwood", "httpd", "times", "server ms a commit: Sapwood", "httpd", "times"], rows)


def checkout(args):
    """Our client with our server, over svn: and http:, of a large tree."""
    root = args.scratch / "large"
    if not root.exists():
        root.mkdir()
        root.chmod(0o755)
        run(f"{args.sapwood.with_name('sapwood-bench')} make-tree {args.scratch}/tree")
        run(f"svnadmin create {root}/repo")
        run(f"svn import -q -m x {args.scratch}/tree file://{root}/repo/trunk")
    figures = {}
    wc = args.scratch / "wc"
    server = sapwood(args, root)
    for turn in range(args.runs + 1):
        ways = [("svn", server.svn), ("http", f"http://127.0.0.1:{server.port}")]
        for way, base in ways if turn % 2 else ways[::-1]:
            shutil.rmtree(wc, ignore_errors=True)
            before, began = server.cpu(), os.times()
            wall = run(f"{args.sapwood} svn checkout -q {base}/repo/trunk {wc}")
            ended = os.times()
            client = ended.children_user + ended.children_system - began.children_user - began.children_system
            if turn:
                figures.setdefault(way, []).append((wall, client, server.cpu() - before))
    server.end()
    of = {way: [statistics.median(f[at] for f in figures[way]) for at in range(3)] for way in figures}
    print("### Checkout of 40,908 files by our client from our server\n")
    table(["", "svn:", "http:", "http / svn"],
          [[title, f"{of['svn'][at]:.2f}", f"{of['http'][at]:.2f}", f"{of['http'][at] / of['svn'][at]:.2f}"]
           for at, title in enumerate(["by the clock, s", "client's processor time, s", "server's processor time, s"])]
          + [["both's processor time, s"] + [f"{of[w][1] + of[w][2]:.2f}" for w in ("svn", "http")]
             + [f"{(of['http'][1] + of['http'][2]) / (of['svn'][1] + of['svn'][2]):.2f}"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sapwood", required=True, type=pathlib.Path)
    parser.add_argument("--repo", type=pathlib.Path)
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of each run of commits")
    parser.add_argument("--states", default="new,hot", help="of requests: new, hot, cold")
    parser.add_argument("--requests", help="titles of some, as 'update,list -v'; all without it")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--only", default="requests,memory,commits,checkout")
    args = parser.parse_args()
    args.sapwood = args.sapwood.resolve()
    args.scratch.mkdir(parents=True, exist_ok=True)
    args.scratch = args.scratch.resolve()
    args.scratch.chmod(0o755)
    if args.repo:
        args.repo = args.repo.resolve()
    print(f"Load of the machine at the start: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors.\n")
    for section in args.only.split(","):
        {"requests": requests, "memory": memory, "commits": commits, "checkout": checkout}[section](args)


if __name__ == "__main__":
    main()
