//! Deltas that were computed ahead are used when the guess was right, and do no harm when it was
//! wrong.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sapwood_core::{CancelToken, Md5, Revnum, Sha1};
use sapwood_fs::txn::{DeltaAhead, KnownText, WriteOptions, Writer};
use sapwood_fs::{Caches, Filesystem, OpenOptions};
use sapwood_repos::Repository;
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_repos::load::{LoadOptions, load};
use sapwood_testkit::fspath;

fn open(path: &Path) -> Filesystem {
    Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

fn text(n: u32) -> Vec<u8> {
    (0..400)
        .map(|line| format!("line {line} {}\n", if line == n { n } else { 0 }))
        .collect::<String>()
        .into()
}

fn commit(writer: &Arc<Writer>, text: &[u8], delta: Option<DeltaAhead>) -> Revnum {
    let mut txn = writer.begin(writer.fs().youngest().unwrap()).unwrap();
    if txn.kind(fspath("/f")).unwrap().is_none() {
        txn.make_file(fspath("/f")).unwrap();
    }
    let known = KnownText { md5: Md5::of(text), sha1: Sha1::of(text), delta };
    txn.set_known_text(fspath("/f"), &mut &*text, Some(&known), None).unwrap();
    txn.commit().unwrap()
}

/// The revision files of a history in which each text is guessed `late` revisions before its turn.
fn history(late: usize) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
    let writer = Writer::new(&open(&path), options).unwrap();
    let mut guesses = std::collections::VecDeque::new();
    for n in 0..20u32 {
        guesses.push_back((n, writer.delta_ahead((n > 0).then_some(fspath("/f")), &text(n))));
        if guesses.len() > late {
            let (n, guess) = guesses.pop_front().unwrap();
            commit(&writer, &text(n), guess);
        }
    }
    for (n, guess) in guesses {
        commit(&writer, &text(n), guess);
    }
    // Read with other caches.
    let fs = open(&path);
    (1..=20u32)
        .map(|n| {
            let node = fs.revision_root(Revnum(n.into())).unwrap().node(fspath("/f")).unwrap();
            let mut found = Vec::new();
            node.contents().unwrap().read_to_end(&mut found).unwrap();
            assert_eq!(found, text(n - 1));
            std::fs::read(path.join(format!("db/revs/0/{n}"))).unwrap()
        })
        .collect()
}

#[test]
fn guesses_never_change_what_is_written() {
    let right = history(0);
    assert_eq!(history(3), right);
    // And they are deltas: the last revisions are much shorter than the text.
    assert!(right.last().unwrap().len() < text(0).len() / 4);
}

/// A stream whose drop blocks until the test sends a message.
struct Held(Cursor<Vec<u8>>, Receiver<()>);

impl Read for Held {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buf)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.1.recv_timeout(Duration::from_secs(20));
    }
}

#[test]
fn texts_can_be_shared_as_soon_as_a_load_is_through() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    let caches = Caches::new(4 << 20);
    let repository = Repository::open(&path, &caches, &OpenOptions::default()).unwrap();
    let props = "Prop-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
    let stream = format!(
        "SVN-fs-dump-format-version: 2\n\nRevision-number: 1\n{props}\
         Node-path: f\nNode-kind: file\nNode-action: add\nText-content-length: 5\n\
         Content-length: 5\n\ntext\n\n\n"
    );
    let (release, held) = channel();
    let input = Box::new(BufReader::new(Held(Cursor::new(stream.into_bytes()), held)));
    let options = LoadOptions::default();
    load(&repository, input, options, &mut |_| Ok(()), &CancelToken::default()).unwrap();
    let file = path.join("db/rep-cache.db");
    let rows = rusqlite::Connection::open(file)
        .unwrap()
        .query_row("SELECT COUNT(*) FROM rep_cache", [], |row| row.get::<_, i64>(0))
        .unwrap();
    release.send(()).unwrap();
    assert_eq!(rows, 1);
}
