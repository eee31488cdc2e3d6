//! Every walk that may be long looks at its cancel token: with one that is cancelled it ends with
//! E200015, whatever it was about to tell. A walk that is added belongs here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use sapwood_core::{CancelToken, Depth, ErrorCode, Md5, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta};
use sapwood_fsfs::{Caches, OpenOptions, Root};
use sapwood_repos::{
    Everything, FileRev, FileRevReceiver, FileRevsRequest, Inherit, ListEntry, ListRequest,
    LogRequest, MergeinfoRequest, ReplayRequest, ReportRequest, Reporter, Repository,
    RevpropSelection, SegmentsRequest,
};
use sapwood_testkit::Shape;

/// An editor that is told all of an edit and does nothing.
struct Ignore;

impl Editor for Ignore {
    sapwood_delta::ignore_absent!();
    sapwood_delta::nothing_to_abort!();

    fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }
    fn delete_entry(&mut self, _: &str, _: Option<Revnum>, _: Handle) -> SvnResult<()> {
        Ok(())
    }
    fn add_directory(&mut self, _: &str, _: Handle, _: Copy<'_>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }
    fn open_directory(&mut self, _: &str, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }
    fn change_dir_prop(&mut self, _: Handle, _: &str, _: Option<&[u8]>) -> SvnResult<()> {
        Ok(())
    }
    fn close_directory(&mut self, _: Handle) -> SvnResult<()> {
        Ok(())
    }
    fn add_file(&mut self, _: &str, _: Handle, _: Copy<'_>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }
    fn open_file(&mut self, _: &str, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }
    fn apply_textdelta(
        &mut self,
        _: Handle,
        _: Option<Md5>,
        _: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        Ok(())
    }
    fn change_file_prop(&mut self, _: Handle, _: &str, _: Option<&[u8]>) -> SvnResult<()> {
        Ok(())
    }
    fn close_file(&mut self, _: Handle, _: Option<Md5>) -> SvnResult<()> {
        Ok(())
    }
    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

/// Where something was copied from.
type Copy<'a> = Option<(&'a str, Revnum)>;

struct IgnoreRevs;

impl FileRevReceiver for IgnoreRevs {
    fn file_rev(&mut self, _: &FileRev<'_>, _: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        Ok(())
    }
}

/// The path of some file.
fn a_file(root: &Root) -> String {
    let mut dirs = vec![root.node("/").unwrap()];
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
    for paths in [&["/"][..], &["/trunk"], &["/trunk", "/branches"]] {
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
        let request = ListRequest { path: "/", patterns, depth, path_info_only: true };
        ends(
            "list",
            sapwood_repos::list(&root, &request, all, &cancel, &mut |_: &ListEntry<'_>| Ok(())),
        );
    }
    let file = a_file(&root);
    let request = FileRevsRequest {
        path: &file,
        start: Some(Revnum(1)),
        end: None,
        include_merged_revisions: false,
    };
    ends(
        "file-revs",
        sapwood_repos::file_revs(&repository, &request, all, &cancel, &mut IgnoreRevs),
    );
    let revisions = [Revnum(1), youngest];
    let found = sapwood_repos::locations(&repository, &file, youngest, &revisions, all, &cancel);
    ends("locations", found.map(|_| ()));
    let request = SegmentsRequest { path: &file, peg: None, start: None, end: None };
    let found =
        sapwood_repos::location_segments(&repository, &request, all, &cancel, &mut |_| Ok(()));
    ends("location segments", found);
    let request = MergeinfoRequest {
        paths: &["/"],
        revision: None,
        inherit: Inherit::Inherited,
        include_descendants: true,
    };
    let found =
        sapwood_repos::mergeinfo_catalog(&repository, &request, all, &cancel, &mut |_, _| Ok(()));
    ends("mergeinfo", found);
    let request = ReplayRequest { base_path: "", low_water_mark: None, send_deltas: true };
    let editor = &mut Ignore;
    ends("replay", sapwood_repos::replay(&root, &request, all, &cancel, editor));
    let request = ReportRequest {
        revision: youngest,
        anchor: "/",
        target: "",
        switch_to: None,
        text_deltas: true,
        depth: Depth::Infinity,
        ignore_ancestry: false,
        send_copyfrom_args: false,
    };
    let mut reporter = Reporter::new(&repository, &request, all, &cancel).unwrap();
    reporter.set_path("", Some(Revnum(1)), Depth::Infinity, true, None).unwrap();
    ends("report", reporter.finish(&mut Ignore).map(|_| ()));
}
