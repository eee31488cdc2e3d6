//! The reference and we make the same deltas, and read each other's. Needs
//! `svnadmin` (`cargo xtask packages` installs it).

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_delta::{ApplyReader, ComputedDelta, StoredDelta, Version, write_svndiff};

/// A small generator of numbers, the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    fn bytes(&mut self, len: usize, kinds: usize) -> Vec<u8> {
        (0..len).map(|_| u8::try_from(self.below(kinds)).unwrap()).collect()
    }
}

fn pair(random: &mut Random, number: usize) -> (Vec<u8>, Vec<u8>) {
    let len = [20, 300, 5_000, 60_000, 260_000][number % 5];
    let len = random.below(len) + 1;
    let kinds = [2, 4, 30, 256][number / 5 % 4];
    let source = match number % 3 {
        0 => random.bytes(len, kinds),
        _ => {
            let lines = random.below(50) + 2;
            let mut text = Vec::new();
            while text.len() < len {
                let line =
                    format!("{} line of some text, number {}\n", number, random.below(lines));
                text.extend_from_slice(line.as_bytes());
            }
            text
        }
    };
    let mut target = source.clone();
    for _ in 0..random.below(8) {
        let from = random.below(target.len() + 1);
        match random.below(3) {
            0 => {
                let to = (from + random.below(500)).min(target.len());
                target.drain(from..to);
            }
            1 => {
                let count = random.below(300);
                target.splice(from..from, random.bytes(count, kinds));
            }
            _ => {
                let a = random.below(source.len());
                let b = (a + random.below(2_000)).min(source.len());
                target.splice(from..from, source[a..b].iter().copied());
            }
        }
    }
    if target == source {
        target.push(b'!');
    }
    (source, target)
}

/// A dump stream of two revisions that add and then change the files.
fn dump(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"SVN-fs-dump-format-version: 2\n\n".to_vec();
    for (revision, action) in [(1, "add"), (2, "change")] {
        let header = format!(
            "Revision-number: {revision}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        );
        out.extend_from_slice(header.as_bytes());
        for (number, (source, target)) in pairs.iter().enumerate() {
            let text = if revision == 1 { source } else { target };
            let len = text.len();
            let header = format!(
                "Node-path: f{number:04}\nNode-kind: file\nNode-action: {action}\n\
                 Text-content-length: {len}\nContent-length: {len}\n\n"
            );
            out.extend_from_slice(header.as_bytes());
            out.extend_from_slice(text);
            out.extend_from_slice(b"\n\n");
        }
    }
    out
}

fn run(args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("svnadmin")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| {
            panic!("svnadmin is not installed: run `cargo xtask packages` as root: {e}")
        });
    let mut stdin = child.stdin.take().unwrap();
    let mut output = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    });
    assert!(child.wait().unwrap().success(), "svnadmin {args:?}");
    output
}

/// The text blocks of a dump stream, in order.
fn texts(mut dump: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(end) = dump.iter().position(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(&dump[..end]).into_owned();
        dump = &dump[end + 1..];
        let number = |name: &str| line.strip_prefix(name).and_then(|n| n.parse::<usize>().ok());
        if let Some(len) = number("Text-content-length: ") {
            let body = dump.windows(2).position(|w| w == b"\n\n").unwrap() + 2;
            found.push(dump[body..body + len].to_vec());
            dump = &dump[body + len..];
        } else if number("Prop-content-length: ").is_some() {
            let body = dump.windows(10).position(|w| w == b"PROPS-END\n").unwrap() + 10;
            dump = &dump[body..];
        }
    }
    found
}

#[test]
fn same_deltas_as_the_reference() {
    let directory = std::env::temp_dir().join(format!("sapwood-delta-{}", std::process::id()));
    let repository = directory.join("r");
    let path = repository.to_str().unwrap();
    std::fs::create_dir_all(&directory).unwrap();
    run(&["create", path], b"");
    let mut random = Random(2026);
    let pairs: Vec<_> = (0..120).map(|number| pair(&mut random, number)).collect();
    run(&["load", "-q", path], &dump(&pairs));
    let deltas = run(&["dump", "-q", "--deltas", "--incremental", "-r2", path], b"");
    cleanup(&directory);
    let deltas = texts(&deltas);
    assert_eq!(deltas.len(), pairs.len());
    for (number, (theirs, (source, target))) in deltas.iter().zip(&pairs).enumerate() {
        let mut made = Vec::new();
        ApplyReader::new(StoredDelta::new(&theirs[..]), &source[..])
            .read_to_end(&mut made)
            .unwrap();
        assert!(made == *target, "applying the reference's delta of text {number}");
        let mut ours = Vec::new();
        let mut delta = ComputedDelta::new(&source[..], &target[..]);
        write_svndiff(&mut delta, Version::V0, 5, &mut |bytes| {
            ours.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        assert!(
            ours == *theirs,
            "text {number}: {} and {} bytes, ours {}, theirs {}",
            source.len(),
            target.len(),
            ours.len(),
            theirs.len()
        );
    }
}

fn cleanup(directory: &Path) {
    std::fs::remove_dir_all(directory).unwrap();
}
