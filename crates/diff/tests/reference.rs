//! The reference's `svnlook diff` and we print the same bytes. Needs `svnadmin`
//! and `svnlook` (`cargo xtask packages` installs them).

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "also in the helpers of tests"
)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use sapwood_core::{PropList, hashdump};
use sapwood_diff::{EQUAL_LINE, Options, props, unified, write_header};

/// A small generator of numbers, the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// Access labels only when asked for: the reference does not know them where its read buffer
    /// ends within one, so they are for short texts.
    fn line(&mut self, kinds: usize, odd: bool, labels: bool) -> Vec<u8> {
        let mut line = match self.below(kinds) {
            0 => Vec::new(),
            1 if odd => b"  spaced   out".to_vec(),
            2 if odd => b" spaced out ".to_vec(),
            3 => b"int function(void)".to_vec(),
            4 if odd => {
                "\u{e4}\u{f6}\u{fc} function with a long name, longer than fifty bytes".into()
            }
            5 if labels => b"public: x".to_vec(),
            n => format!("{}{n}", [" ", "\t", "_", "$", "x"][n % 5]).into_bytes(),
        };
        line.extend_from_slice(if odd {
            [&b"\n"[..], b"\r\n", b"\r"][self.below(3)]
        } else {
            b"\n"
        });
        line
    }
}

struct Pair {
    old: Vec<u8>,
    new: Vec<u8>,
}

fn pair(random: &mut Random, number: usize) -> Pair {
    let lines = [3, 8, 30, 120, 400][number % 5];
    let kinds = [4, 8, 20, 500][number / 5 % 4];
    let odd = number.is_multiple_of(3);
    let labels = odd && lines < 100;
    let count = random.below(lines);
    let mut old: Vec<Vec<u8>> = (0..count).map(|_| random.line(kinds, odd, labels)).collect();
    let mut new = old.clone();
    for _ in 0..random.below(7) {
        let at = random.below(new.len() + 1);
        match random.below(4) {
            0 => {
                let end = (at + random.below(lines / 3 + 1)).min(new.len());
                new.drain(at..end);
            }
            1 => {
                let some = (0..random.below(lines / 3 + 1))
                    .map(|_| random.line(kinds, odd, labels))
                    .collect::<Vec<_>>();
                new.splice(at..at, some);
            }
            2 if !old.is_empty() => {
                let from = random.below(old.len());
                let to = (from + random.below(5)).min(old.len());
                new.splice(at..at, old[from..to].to_vec());
            }
            _ if at < new.len() => new[at] = random.line(kinds, odd, labels),
            _ => {}
        }
    }
    for text in [&mut old, &mut new] {
        if random.below(6) == 0 {
            text.push(b"no newline"[..random.below(10)].to_vec());
        }
    }
    Pair { old: old.concat(), new: new.concat() }
}

fn run(program: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| {
            panic!("{program} is not installed: run `cargo xtask packages` as root: {e}")
        });
    let mut stdin = child.stdin.take().unwrap();
    let mut output = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    });
    assert!(child.wait().unwrap().success(), "{program} {args:?}");
    output
}

fn properties(value: &[u8]) -> PropList {
    let mut list = PropList::new();
    if !value.is_empty() {
        list.set("p", value);
    }
    list
}

/// A dump stream of two revisions; file `n` goes from the old text of pair `n` to its new text, its
/// property from that of pair `n + 1` to its new text.
fn dump(pairs: &[Pair]) -> Vec<u8> {
    let mut out = b"SVN-fs-dump-format-version: 2\n\n".to_vec();
    for (revision, action) in [(1, "add"), (2, "change")] {
        let header = format!(
            "Revision-number: {revision}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        );
        out.extend_from_slice(header.as_bytes());
        for (number, pair) in pairs.iter().enumerate() {
            let other = &pairs[(number + 1) % pairs.len()];
            let (text, value) =
                if revision == 1 { (&pair.old, &other.old) } else { (&pair.new, &other.new) };
            let mut block = Vec::new();
            hashdump::write(&mut block, &properties(value), Some(hashdump::PROPS_END));
            let header = format!(
                "Node-path: f{number:04}\nNode-kind: file\nNode-action: {action}\n\
                 Prop-content-length: {}\nText-content-length: {}\nContent-length: {}\n\n",
                block.len(),
                text.len(),
                text.len() + block.len()
            );
            out.extend_from_slice(header.as_bytes());
            out.extend_from_slice(&block);
            out.extend_from_slice(text);
            out.extend_from_slice(b"\n\n");
        }
    }
    out
}

/// What `svnlook diff` prints for file `number`.
fn expected(pairs: &[Pair], number: usize, options: &Options) -> Vec<u8> {
    let Pair { old, new } = &pairs[number];
    let other = &pairs[(number + 1) % pairs.len()];
    let path = format!("f{number:04}");
    let no_date = " ".repeat(23);
    let label = |revision| format!("{path}\t{no_date} (rev {revision})");
    let mut out = Vec::new();
    let mut hunks = Vec::new();
    let changed = unified(options, old, new, &mut hunks);
    if changed {
        out.extend_from_slice(format!("Modified: {path}\n{EQUAL_LINE}\n").as_bytes());
        write_header(&mut out, &label(1), &label(2));
        out.extend_from_slice(&hunks);
        out.push(b'\n');
    }
    let (old, new) = (properties(&other.old), properties(&other.new));
    if old != new {
        if !changed {
            out.extend_from_slice(format!("Index: {path}\n{EQUAL_LINE}\n").as_bytes());
            write_header(&mut out, &label(1), &label(2));
        }
        props::write_heading(&mut out, &path);
        props::write_changes(&mut out, &old, &new, false, 3);
    }
    out
}

#[test]
fn same_output_as_svnlook_diff() {
    let count =
        std::env::var("SAPWOOD_DIFF_PAIRS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let seed = std::env::var("SAPWOOD_DIFF_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(2026);
    let directory = std::env::temp_dir().join(format!("sapwood-diff-{}", std::process::id()));
    let repository = directory.join("r");
    let path = repository.to_str().unwrap();
    std::fs::create_dir_all(&directory).unwrap();
    run("svnadmin", &["create", path], b"");
    let mut random = Random(seed);
    let pairs: Vec<_> = (0..count).map(|number| pair(&mut random, number)).collect();
    run("svnadmin", &["load", "-q", path], &dump(&pairs));
    for args in
        ["", "-b", "-w", "--ignore-eol-style", "-p", "-U0", "-pwU1", "-U 7 -b --ignore-eol-style"]
    {
        let list: Vec<&str> = args.split_whitespace().collect();
        let options = Options::parse(&list).unwrap();
        let theirs = run("svnlook", &["diff", "-r2", "-x", args, path], b"");
        let mut rest = &theirs[..];
        for number in 0..pairs.len() {
            let ours = expected(&pairs, number, &options);
            if !rest.starts_with(&ours) {
                let theirs = &rest[..rest.len().min(ours.len() + 200)];
                panic!(
                    "pair {number}, options {args:?}\n--- ours\n{}\n--- theirs\n{}",
                    String::from_utf8_lossy(&ours),
                    String::from_utf8_lossy(theirs)
                );
            }
            rest = &rest[ours.len()..];
        }
        assert!(rest.is_empty());
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
