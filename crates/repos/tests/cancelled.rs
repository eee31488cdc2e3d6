//! Every walk that may be long looks at its cancel token: with one that is cancelled it ends with
//! E200015, whatever it was about to report. A walk that is added belongs here.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sapwood_core::RelPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{
    CancelToken, Depth, DirentFields, ErrorCode, NodeKind, Revnum, SvnError, SvnResult,
};
use sapwood_delta::{IgnoreAll, TextDelta};
use sapwood_fs::{Caches, OpenOptions, Root};
use sapwood_repos::change_tree::ChangeTree;
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_repos::dir_delta::{DirDelta, dir_delta};
use sapwood_repos::dump::{DumpOptions, dump};
use sapwood_repos::load::{LoadOptions, load};
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};
use sapwood_repos::{
    Everything, FileRev, FileRevReceiver, FileRevsRequest, Inherit, ListEntry, ListRequest,
    LogRequest, MergeinfoRequest, ReportWalk, Reporter, Repository, RevpropSelection,
    SegmentsRequest,
};
use sapwood_testkit::Shape;
use sapwood_testkit::fspath;

pub(crate) struct IgnoreRevs;

impl FileRevReceiver for IgnoreRevs {
    fn file_rev(&mut self, _: &FileRev<'_>, _: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        Ok(())
    }
}

/// The path of some file.
fn a_file(root: &Root) -> FsPathBuf {
    let mut dirs = vec![root.node(fspath("/")).unwrap()];
    while let Some(dir) = dirs.pop() {
        for entry in dir.entries().unwrap().iter() {
            let node = dir.child(entry.name).unwrap().unwrap();
            match entry.kind {
                NodeKind::File => return node.path().to_owned(),
                NodeKind::Dir => dirs.push(node),
            }
        }
    }
    panic!("no file in the whole repository");
}

fn ends(what: &str, result: Result<(), sapwood_repos::Error>) {
    let error = SvnError::from(result.expect_err(&format!("{what} goes on when it is cancelled")));
    assert_eq!(error.code(), ErrorCode::CANCELLED, "{what}: {error}");
}

#[test]
fn every_long_walk_ends_when_it_is_cancelled() {
    let made = sapwood_testkit::Repository::scripted(&Shape::new("1.10"));
    let caches = Caches::new(16 << 20);
    let repository = Repository::open(&made.path(), &caches, &OpenOptions::default()).unwrap();
    let fs = repository.fs();
    let youngest = fs.youngest().unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let all = &Everything;
    for paths in [&[fspath("/")][..], &[fspath("/trunk")], &[fspath("/trunk"), fspath("/branches")]]
    {
        for include_merged_revisions in [false, true] {
            for (start, end) in [(None, Some(Revnum(1))), (Some(Revnum(1)), None)] {
                let request = LogRequest {
                    paths,
                    start,
                    end,
                    limit: 0,
                    changed_paths: true,
                    strict_node_history: false,
                    include_merged_revisions,
                    revprops: RevpropSelection::All,
                };
                let log = sapwood_repos::log(&repository, &request, all, &cancel, &mut |_| Ok(()));
                ends(&format!("log of {paths:?}"), log);
            }
        }
    }
    let root = fs.revision_root(youngest).unwrap();
    for patterns in [None, Some(&["no such name"][..])] {
        let depth = Depth::Infinity;
        let request = ListRequest {
            path: fspath("/"),
            revision: None,
            patterns,
            depth,
            fields: DirentFields::default(),
        };
        ends(
            "list",
            sapwood_repos::list(&root, &request, all, &cancel, &mut |_: &ListEntry<'_>| Ok(())),
        );
    }
    let file = a_file(&root);
    let request = FileRevsRequest {
        path: fspath(&file),
        start: Some(Revnum(1)),
        end: None,
        include_merged_revisions: false,
    };
    ends(
        "file-revs",
        sapwood_repos::file_revs(&repository, &request, all, &cancel, &mut IgnoreRevs),
    );
    let revisions = [Revnum(1), youngest];
    let found =
        sapwood_repos::locations(&repository, fspath(&file), youngest, &revisions, all, &cancel);
    ends("locations", found.map(|_| ()));
    let request = SegmentsRequest { path: fspath(&file), peg: None, start: None, end: None };
    let found =
        sapwood_repos::location_segments(&repository, &request, all, &cancel, &mut |_| Ok(()));
    ends("location segments", found);
    let request = MergeinfoRequest {
        paths: &[fspath("/")],
        revision: None,
        inherit: Inherit::Inherited,
        include_descendants: true,
    };
    let found =
        sapwood_repos::mergeinfo_catalog(&repository, &request, all, &cancel, &mut |_, _| Ok(()));
    ends("mergeinfo", found);
    let request = sapwood_core::ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: true };
    let editor = &mut IgnoreAll;
    ends("replay", sapwood_repos::replay(&root, RelPath::ROOT, request, all, &cancel, editor));
    let request = ReportWalk {
        revision: youngest,
        anchor: fspath("/"),
        target: "",
        switch_to: None,
        text_deltas: true,
        depth: Depth::Infinity,
        ignore_ancestry: false,
        send_copyfrom_args: false,
    };
    let mut reporter = Reporter::new(&repository, &request, all, &cancel).unwrap();
    reporter.set_path("", Some(Revnum(1)), Depth::Infinity, true, None).unwrap();
    ends("report", reporter.finish(&mut IgnoreAll).map(|_| ()));
    let tree = ChangeTree::of(&root, Revnum(0), &cancel);
    ends("tree of changes", tree.map(|_| ()));
    let request = DirDelta {
        source: &fs.revision_root(Revnum(0)).unwrap(),
        source_parent: fspath("/"),
        source_entry: "",
        target: &root,
        target_path: fspath("/"),
        text_deltas: true,
        depth: Depth::Infinity,
        entry_props: true,
        ignore_ancestry: false,
        cancel: &cancel,
    };
    ends("difference", dir_delta(&request, all, &mut IgnoreAll));
    let kinds = root.node(fspath("/")).unwrap().entry_of_wrong_kind(&cancel);
    ends("kinds of entries", kinds.map(|_| ()).map_err(Into::into));
}

/// A repository whose only revision adds files with these texts.
fn of_one_revision(folder: &Path, texts: &[Vec<u8>]) -> Repository {
    create(folder, &RepositoryOptions::default()).unwrap();
    let mut stream = b"SVN-fs-dump-format-version: 2\n\nRevision-number: 1\n\
        Prop-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        .to_vec();
    for (n, text) in texts.iter().enumerate() {
        let len = text.len();
        let head = format!(
            "Node-path: file-{n:06}\nNode-kind: file\nNode-action: add\n\
             Text-content-length: {len}\nContent-length: {len}\n\n"
        );
        stream.extend_from_slice(head.as_bytes());
        stream.extend_from_slice(text);
        stream.extend_from_slice(b"\n\n");
    }
    let caches = Caches::new(1 << 20);
    let repository = Repository::open(folder, &caches, &OpenOptions::default()).unwrap();
    let input = Box::new(std::io::Cursor::new(stream));
    let options = LoadOptions { no_flush: true, ..LoadOptions::default() };
    load(&repository, input, options, &mut |_| Ok(()), &CancelToken::new()).unwrap();
    repository
}

/// What runs for long over one revision.
type Work = fn(&Repository, &CancelToken) -> Result<(), sapwood_repos::Error>;

fn dump_it(
    repository: &Repository,
    cancel: &CancelToken,
    incremental: bool,
    deltas: bool,
) -> Result<(), sapwood_repos::Error> {
    let options = DumpOptions {
        start: Some(Revnum(1)),
        end: None,
        incremental,
        deltas,
        changes: true,
        notices: false,
        filter: None,
        cancel,
        threads: 0,
    };
    dump(repository, &options, &mut std::io::sink(), &mut |_| ())
}

fn verify_it(
    repository: &Repository,
    cancel: &CancelToken,
    threads: usize,
) -> Result<(), sapwood_repos::Error> {
    let options = VerifyOptions {
        start: None,
        end: None,
        check_normalization: true,
        metadata_only: false,
        notices: true,
        cancel,
        threads,
    };
    verify(repository, &options, &mut |notice| match notice {
        VerifyNotice::Error(_, error) => Err(error),
        _ => Ok(()),
    })
}

/// With the looks at the token that each has for each file or piece of a text, at least.
const WORKS: [(&str, Work, u64); 6] = [
    ("dump of a tree", |r, c| dump_it(r, c, false, false), 1),
    ("dump of changes", |r, c| dump_it(r, c, true, false), 1),
    ("dump of deltas", |r, c| dump_it(r, c, true, true), 1),
    // The files; their texts; the tree and the records.
    ("verify", |r, c| verify_it(r, c, 0), 2),
    ("verify with threads", |r, c| verify_it(r, c, 2), 2),
    ("verify of a revision", |r, c| Ok(r.fs().verify_revision(Revnum(1), c)?), 1),
];

/// Whatever is long within one revision looks at the token for each entry of a directory and for
/// each piece of a text, and ends where it is cancelled.
fn ends_within(folder: &Path, texts: &[Vec<u8>], parts: u64) {
    /// A token asks what it watches once in so many looks.
    const LOOKS: u64 = 64;
    let repository = of_one_revision(folder, texts);
    for (what, work, least) in WORKS {
        let asked = |end_at: u64| {
            let count = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&count);
            let token = CancelToken::new()
                .or_when(move || counted.fetch_add(1, Ordering::Relaxed) + 1 >= end_at);
            (work(&repository, &token), count.load(Ordering::Relaxed))
        };
        let (done, all) = asked(u64::MAX);
        done.unwrap_or_else(|e| panic!("{what}: {}", SvnError::from(e)));
        assert!(
            (all + 1) * LOOKS > parts * least,
            "{what}: {all} times {LOOKS} looks, {parts} entries or pieces"
        );
        for end_at in [1, all / 2, all] {
            if end_at > 0 {
                ends(what, asked(end_at).0);
            }
        }
    }
}

#[test]
fn within_a_revision_with_many_files() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<Vec<u8>> = (0..2000).map(|n| format!("text {n}\n").into_bytes()).collect();
    ends_within(&dir.path().join("repo"), &texts, 2000);
}

#[test]
fn within_a_revision_with_a_large_text() {
    const WINDOW: usize = 102_400;
    const WINDOWS: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    let mut seed = 1_u64;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from(seed >> 56).unwrap_or_default()
    });
    let text: Vec<u8> = noise.take(WINDOW * WINDOWS).collect();
    ends_within(&dir.path().join("repo"), &[text], u64::try_from(WINDOWS).unwrap());
}
