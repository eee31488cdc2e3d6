#!/usr/bin/env python3
"""Makes the pages that say what was measured and what is missing, out of the files that hold it.

    pages.py            writes docs/benchmarks.md, docs/conformance.md, docs/STATUS.md and SHORTCOMINGS.md
    pages.py --check    writes nothing; fails if one of them is not what would be written (CI does this)

The figures come from docs/results/*.tsv: first lines `# name: value` (commit, machine, command), then a table.
docs/status.tsv has the state of every feature; shortcomings are its rows with limits. Prose is in this file.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
MADE = "<!-- Made by tools/pages.py. Change that, or docs/results, and run it. -->\n"


def result(name):
    head, rows = {}, []
    for line in (RESULTS / name).read_text().splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            head[key] = value
        elif line:
            rows.append(line.split("\t"))
    return head, rows


def markdown(rows):
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(row) + " |" for row in rows[1:]]
    return "\n".join(lines) + "\n"


def times(before, after):
    try:
        return f"{float(before) / float(after):.1f}"
    except (ValueError, ZeroDivisionError):
        return ""


def requests(title, name):
    """One table of requests: the better of the reference's two settings beside ours."""
    head, rows = result(name)
    at = {column: number for number, column in enumerate(rows[0])}
    out = [["request", "wall s: reference", "Sapwood", "times", "server CPU s: reference", "Sapwood", "times",
            "reads: reference", "Sapwood"]]

    def best(row, what):
        return min((row[at[f"{what}: ref"]], row[at[f"{what}: ref fast"]]), key=float)

    for row in rows[1:]:
        line = [row[0]]
        for what in ("wall s", "server CPU s"):
            ours = row[at[f"{what}: Sapwood"]]
            line += [best(row, what), ours, times(best(row, what), ours)]
        out.append(line + [best(row, "reads"), row[at["reads: Sapwood"]]])
    return f"### {title}\n\n{source(head)}\n\n{markdown(out)}"


def source(head):
    return f"{head['commit']}; {head['machine']}; {head['repository']}. `{head['command']}`."


def plain(title, name):
    head, rows = result(name)
    return f"### {title}\n\n{source(head)}\n\n{markdown(rows)}"


BENCHMARKS = """# Benchmarks

{made}
Sapwood's programs beside the reference's (1.14.2, Debian 12): the same repository and requests, in turn, in one run.
The reference's column is the better of two servers: with its defaults, and with the settings that make it fastest
(`-M 1024 -c 0 --cache-revprops yes --client-speed 1000 --block-read yes`). Sapwood runs with its defaults.

To repeat: `cargo build --release`, then the command that stands above each table, with `--sapwood target/release/sapwood
--repos DIR`; `tools/quiet.py --help` says what DIR holds. Cold figures drop the caches of the whole machine, which takes root and slows
everything else on it for a while. On another machine: `sapwood-bench matrix` ([bench.md](bench.md)).

## Requests

{hot}
## Requests to a new server, nothing in the system's caches

{cold}
## Over http

Sapwood's http: beside Apache httpd 2.4 (event MPM) with mod_dav_svn 1.14.2, and beside Sapwood's own svn:, of one process. Clients are the
reference's, but for the checkout of the large tree, which is by Sapwood's `svn`. `httpd` has 1 GB of cache, `SVNCacheRevProps` and
`SVNBlockRead` on and no compression; `httpd, Prefer` also `SVNCacheFullTexts On` and `SVNAllowBulkUpdates Prefer`. Sapwood runs with its
defaults. The machine was busy with other work: the ratios of processor time say most. httpd has several processes, and one with an empty cache may
answer the third time, too; the null-export of a hot server is therefore the median of the third to the ninth.

{http}
## Everyday work on a working copy

Sapwood's `svn` beside the reference's and git, on the same files, each with a repository and a working copy of its own. Calls are those
of the system, counted by `strace` in one run, and do not depend on the machine.

{working}
## Every command

Each command once, ours beside the reference's, in turn; each on a repository and working copies of its own that begin equal.
The rows, what the marks mean and how to repeat it: [bench.md](bench.md#every-command). The memory of `verify`, `dump`, `load` and `svnsync` is
mostly their caches (`-M`).

{commands}
## Merges

Both clients at both servers, over a tunnel, on the same branches; the processor time is the client's alone, and the ratios are of
Subversion's client to ours at the same server. Requests are counted by the server's log and do not depend on the machine.

{merging}
## Administration and commits

{other}
## Web pages, logins, metrics

{service}
## FSX

One history in FSX (1.14's experiment), packed and not, and in FSFS 8; `tools/quiet.py --only fsx` with `--repos DIR`, where DIR holds `f8`
(`sapwood-bench make-repo --profile ruby --scale 0.15 f8`), `fsx` (`sapwood convert f8 fsx --fs-type fsx`) and `fsxp` (a copy, packed).

Which to choose: FSFS 8. With a warm server the two cost the same, every program since 1.9 knows it,
and 1.14 calls FSX an experiment whose format may change. What FSX has is size: the 6,900 revisions take 13.5 MB packed where FSFS takes 22.2, because the texts of
one path share their parts. Who has an FSX repository can stay, and need not wait for a new server as with 1.14 (2.9 seconds of processor time for a first `log -v` of the packed one with its
defaults, here 0.06). To leave it, while it is used: `sapwood convert OLD NEW`.

`dump` and `verify` cache up to 256 MB unless `-M` names another size (other commands 32 MB). What they take beside it is at most 33 MB: see the table of memory.

{fsx}"""


COMMANDS = [("20,000 files, files of 200 MiB, file:", "commands.tsv"),
            ("20,000 files, files of 200 MiB, svn:// and http://", "commands-wires.tsv"),
            ("100,000 files, file:", "commands-100k.tsv"),
            ("10,000 files, what is run less often, file:", "commands-more.tsv"),
            ("One binary file of 4 GiB, file:", "commands-4g.tsv")]


def benchmarks():
    hot = [requests("Format 8, not packed", "hot-f8.tsv"), requests("Format 8, packed", "hot-f8p.tsv")]
    cold = [requests("Format 8, not packed, cold", "cold-f8.tsv"), requests("Format 8, packed, cold", "cold-f8p.tsv")]
    working = [plain("40,908 files in 5,334 directories", "working-copy.tsv"),
               plain("System calls, 2,100 files in 270 directories", "working-copy-calls.tsv"),
               plain("System calls, 5,000 files in 650 directories", "working-copy-calls-5000.tsv")]
    fsx = [requests("Hot: FSX, not packed", "fsx-hot.tsv"), requests("Hot: FSX, packed", "fsx-hot-packed.tsv"),
           requests("Hot: FSFS 8", "fsx-hot-f8.tsv"), requests("Hot, path rules: FSX, packed", "fsx-authz.tsv"),
           requests("A new server: FSX, not packed", "fsx-new.tsv"), requests("A new server: FSX, packed", "fsx-new-packed.tsv"),
           requests("A new server: FSFS 8", "fsx-new-f8.tsv"), plain("svnadmin", "fsx-admin.tsv"),
           plain("Instructions of the server, svn://, hot", "instructions.tsv"),
           plain("Memory: peak of dump and verify by size of the cache, MB", "fsx-memory.tsv"),
           plain("Convert: 47,191 revisions", "convert.tsv"),
           plain("Convert: 47,191 revisions, killed again and again", "convert-killed.tsv"),
           plain("Convert: 13,800 revisions", "convert-short.tsv")]
    other = [plain("Size of the program by how it is built", "program-size.tsv"), plain("What pays for its lines", "what-pays.tsv"), plain("svnadmin", "admin.tsv"), plain("Commits", "commits.tsv"), plain("500 clients", "crowd.tsv"),
             plain("Logins by SASL and a tunnel beside svn:", "logins.tsv"), plain("A repository in an object store", "store.tsv"),
             plain("Commits to a repository in an object store", "store-commits.tsv"),
             plain("Many repositories in one store", "store-many.tsv"), plain("Many repositories in a bucket", "store-many-ceph.tsv"),
             plain("What is forwarded between servers, without and with TLS", "forwarded.tsv"),
             plain("Three servers of one store, while all fails", "cluster.tsv")]
    service = [plain("Web pages of a large repository", "web.tsv"), plain("Metrics: their share of a hot log", "metrics.tsv"), plain("A directory that hangs, and guessed passwords", "login-pressure.tsv")]
    http = [plain("Server's processor time, third time, s", "http-hot.tsv"),
            plain("The same of 25 November, by quick builds, with update, lists and blame", "http-hot-more.tsv"),
            plain("Server's processor time, new server, s", "http-new.tsv"),
            plain("Server's processor time, new server, files in no cache, s", "http-cold.tsv"),
            plain("Memory, MiB", "http-memory.tsv"), plain("Memory of 25 November, MiB, by quick builds", "http-idle.tsv"), plain("Commits over http", "http-commits.tsv"),
            plain("Checkout of 40,908 files by Sapwood's svn", "http-checkout.tsv"),
            plain("`bulk-updates`, at a distance and not", "http-bulk.tsv")]
    return BENCHMARKS.format(made=MADE, http="\n".join(http), service="\n".join(service), hot="\n".join(hot), cold="\n".join(cold), other="\n".join(other), fsx="\n".join(fsx),
                             working="\n".join(working), commands="\n".join(plain(title, name) for title, name in COMMANDS), merging=plain("2,000 files, 500 revisions", "merge.tsv") + "\n"
                             + plain("Conflicts, a patch, an upgrade, a difference", "merge-release.tsv"))


CONFORMANCE = """# Conformance: Subversion's own test suite

{made}
The command-line tests of Subversion 1.14.5, with the reference's `svn` and `svnversion` and ours for everything else, unless a row says
otherwise. "Expected" is what passes with the reference's own programs in the same variant; what the reference fails or skips
itself is not counted.

## Format by access

Of the tests that are expected, how many pass: the latest run of each, and of how many test files ("all": 59).

{matrix}
## How to run it

A built source tree of Subversion 1.14 outside this repository, and a folder of programs:

    sapwood install-links DIR         # then replace with links to the reference's what is not to be tested
    tools/conformance/suite.py --src TREE --bin DIR --out OUT                                        # file://
    tools/conformance/suite.py --src TREE --bin DIR --out OUT \\
        --serve 'DIR/svnserve -d --foreground -r %r --listen-host 127.0.0.1 --listen-port %p'        # svn://

`--extra` passes options on: `--fs-type=fsfs --fsfs-version 6`, `--server-minor-version 9` (format 7), `--fsfs-packing --fsfs-sharding 2`.
`--files shelf_tests,shelf2_tests` runs the tests of shelves, which "all" leaves out (the reference itself expects 8 of them to fail).
Over http:// with `--scheme http --serve 'tools/suite-http-server %r %p'`, which says how variants of the server and https are had; over
https:// with `--scheme https` (`suite.py` says what the suite wants for it).
For the reference's `svn` on working copies that ours made, `svn` of the folder is a link to
[tools/conformance/svn-in-turns](../tools/conformance/svn-in-turns), beside `sapwood` and `reference-svn`. For repositories in a store of
objects, `svnadmin` is a link to [tools/conformance/svnadmin-in-a-store](../tools/conformance/svnadmin-in-a-store), and `STORE` the address;
with Ceph's gateway: `tools/ceph.sh FOLDER 7490 env STORE=s3://sapwood/suite tools/conformance/suite.py ...`.

Of those that pass on files, these 22 of the run in Ceph's gateway did not, beside the five of getopt_tests that ask for Subversion's own help and version: what
reads or damages files below `db` by hand, or with 1.14's own library (svnadmin_tests 13, 18, 20, 32, 33, 43, 70, 71, 74, svnfsfs_tests 2, lock_tests 53); `hotcopy`
compared with a folder in which `conf` was changed without `store push`, or a link made (svnadmin_tests 8, 22); `freeze` (41, 47); hooks that run `svnlook` or `svnauthz` while keys are in
variables of the server alone (svnlook_tests 12, svnauthz_tests 3, 10: they pass with keys for hooks); and `hotcopy --incremental` out of a store (27, 28, 44, 45).

`--record VARIANT` adds the counts to [results/conformance.tsv](results/conformance.tsv), from which `tools/pages.py` makes this page.
[tools/conformance/baseline.tsv](../tools/conformance/baseline.tsv) holds what the reference reaches: test file, number, outcome.
"""


def conformance():
    _, rows = result("conformance.tsv")
    best = {}
    for build, access, variant, files, expected, passed in rows[1:]:
        # Later runs count, but a run of a few files does not hide one of all.
        key = (variant, access)
        if key not in best or int(expected) >= int(best[key][1]):
            best[key] = (files, expected, passed, build)
    out = [["variant", "access", "test files", "expected", "passed", "build"]]
    for (variant, access), (files, expected, passed, build) in sorted(best.items()):
        builds = ", ".join(f"`{word}`" for word in build.split() if not re.match(r"\d+-", word))
        out.append([variant, access, files, expected, passed, builds])
    return CONFORMANCE.format(made=MADE, matrix=markdown(out))


STATUS = """# Status

{made}
What Subversion 1.14 has, and how far Sapwood has it: **yes**, **part** or **no**, the limits, and the tests that show it.
`xtask/tests/status.rs` checks that every test exists.

Tests are named `crate/path/file::function`, below `crates/` and without `.rs`; `interop/` stands for `cli/tests/interop/`. The
comparisons in `interop` run Subversion's programs and ours on the same repositories and compare output, exit code and trees: in
`cargo xtask test` on at most nine shapes of repository, with `SAPWOOD_LONG=1` on all 44. Subversion's own test suite:
[conformance.md](conformance.md).
"""

SHORTCOMINGS = """# Shortcomings

{made}
What is missing, and where Sapwood differs from Subversion 1.14. [docs/STATUS.md](docs/STATUS.md) lists everything else, with tests.
"""


def status_rows():
    """Lines of docs/status.tsv as ("heading", text), ("prose", text) or ("row", [item, state, limits, evidence])."""
    for number, line in enumerate((ROOT / "docs/status.tsv").read_text().splitlines(), 1):
        if line.startswith("## "):
            yield "heading", line[3:]
        elif line.startswith("> "):
            yield "prose", line[2:]
        elif line and not line.startswith("# "):
            row = line.split("\t")
            if len(row) != 4 or row[1] not in ("yes", "part", "no") or (row[1] != "yes" and row[2] == "-"):
                sys.exit(f"docs/status.tsv:{number}: wants item, state, limits, evidence; a state that is not yes needs limits")
            yield "row", row


def status():
    text, before = STATUS.format(made=MADE), ""
    for kind, value in status_rows():
        if kind == "heading":
            text += f"\n## {value}\n"
        elif kind == "prose":
            text += f"{value}\n" if before == "prose" else f"\n{value}\n"
        else:
            if before != "row":
                text += "\n| item | state | limits | tests |\n|---|---|---|---|\n"
            item, state, limits, evidence = ("" if cell == "-" else cell for cell in value)
            text += f"| {item} | {state} | {limits} | {evidence} |\n"
        before = kind
    return text


def shortcomings():
    text, heading = SHORTCOMINGS.format(made=MADE), ""
    for kind, value in status_rows():
        if kind == "heading":
            heading = value
        elif kind == "row" and value[2] != "-":
            if heading:
                text += f"\n## {heading}\n\n"
                heading = ""
            text += f"- **{value[0]}**: {value[2]}\n"
    return text


PAGES = {"docs/benchmarks.md": benchmarks, "docs/conformance.md": conformance, "docs/STATUS.md": status,
         "SHORTCOMINGS.md": shortcomings}


def main():
    wrong = []
    for name, make in PAGES.items():
        path, text = ROOT / name, make()
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(name)
    if wrong:
        sys.exit(f"not what tools/pages.py makes, run it: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
