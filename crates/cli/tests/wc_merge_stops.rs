//! A merge is stopped at a moment, the working copy is cleaned up, and the same merge is made again: the
//! working copy ends as that of a merge that was not stopped, and no change comes twice.
//!
//! The stop is a look of the merge at its cancel token: each place where it can be stopped is one. Some moments
//! of each scenario are tried each day; `SAPWOOD_LONG=1` tries all of them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sapwood_client::cleanup::{Cleanup, cleanup};
use sapwood_client::merge::{MergeOptions, TwoSources, merge_peg, merge_reintegrate, merge_two};
use sapwood_client::{Context, Range, Revision};
use sapwood_core::config::{Case, Config};
use sapwood_core::notify::{Action, Notify};
use sapwood_core::{CancelToken, ErrorCode, SvnResult};
use sapwood_ra::auth::{AuthOptions, Authenticator};
use sapwood_ra::{FileCaches, Settings};

/// How many moments of a scenario are tried each day.
const MOMENTS: u32 = 12;

/// A trunk `T` and its branch `B`, with changes of all kinds on both, in slices: parts of `B` have mergeinfo
/// of their own.
const HISTORY: &str = r"
mkdir -p T/a/deep T/b T/c T/gone T/old
for f in a/one a/two a/deep/three b/four b/five c/six gone/x gone/y old/z top; do seq 9 > T/$f; done
svn add -q T; svn ci -qm 1; svn up -q
svn cp -q T B; svn ci -qm 2; svn up -q
sed -i 2s/$/here/ B/top; sed -i 5s/$/ours/ B/b/five; svn rm -q B/old/z
svn ci -qm 3; svn up -q
sed -i 1s/$/r4/ T/a/one; sed -i 1s/$/r4/ T/b/four; svn ps -q p 4 T/a; svn ci -qm 4
sed -i 2s/$/r5/ T/a/two; sed -i 8s/$/r5/ T/a/one; svn ci -qm 5
mkdir -p T/n/m; for f in n/1 n/2 n/m/3 a/4; do seq 3 > T/$f; done; svn add -q T/n T/a/4; svn ci -qm 6
svn rm -q T/gone; sed -i 3s/$/r7/ T/c/six; svn ps -q q 7 T/c/six; svn ci -qm 7; svn up -q
sed -i 4s/$/r8/ T/a/deep/three; svn cp -q T/a/deep T/n/copied; svn ci -qm 8; svn up -q
svn rm -q T/b/four; mkdir T/b/four; seq 2 > T/b/four/in; svn add -q T/b/four; svn ci -qm 9; svn up -q
sed -i 9s/$/r10/ T/top; sed -i 9s/$/r10/ T/n/1; svn ps -q p 10 T/n/m; svn ci -qm 10; svn up -q
";

/// What gives parts of `B` mergeinfo of their own, so that ranges are merged in slices.
const PARTS: &str = r"
svn merge -q --record-only -c5 ^/T/a B/a; svn ci -qm 11; svn up -q
svn merge -q -c8 ^/T/a/deep B/a/deep; svn ci -qm 12; svn up -q
svn ps -q svn:mergeinfo '/T/c:4*' B/c; svn ci -qm 13; svn up -q
";

/// What leaves conflicts.
const CONFLICTS: &str = r"
sed -i 5s/$/theirs/ T/b/five; sed -i 1s/$/t/ T/old/z; sed -i 2s/$/more/ T/a/two; svn ci -qm c; svn up -q
sed -i 2s/$/mine/ B/a/two; svn ci -qm d; svn up -q
sed -i 6s/$/last/ T/c/six; svn ci -qm e; svn up -q
";

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(steps: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.shell("svnadmin create repo; svn co -q file://$PWD/repo wc", Path::new(""));
        place.shell(&format!("set -e{HISTORY}"), Path::new("wc"));
        place.shell(&format!("set -e\n{steps}"), Path::new("wc"));
        place
    }

    fn shell(&self, line: &str, at: &Path) -> String {
        let mut command = Command::new("sh");
        sapwood_testkit::programs::environment(&mut command);
        command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
        let output = command.args(["-c", line]).current_dir(self.folder.path().join(at));
        let output = output.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{line}\n{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn url(&self, below: &str) -> String {
        format!("file://{}/repo/{below}", self.folder.path().display())
    }

    /// A fresh copy of the working copy.
    fn copy(&self, name: &str) -> PathBuf {
        self.shell(&format!("rm -rf {name}; cp -a wc {name}"), Path::new(""));
        self.folder.path().join(name)
    }

    /// What the reference sees in a working copy, and all files.
    fn state(&self, name: &str) -> String {
        let line = "svn st; svn pl -vR .; svn info -R | grep -A9 -i conflict; find . -name .svn -prune \
                    -o -type f -print | sort | xargs -r md5sum; ls .svn/tmp";
        self.shell(line, Path::new(name)).replace(&format!("/{name}"), "/WC")
    }
}

/// A merge, by its caller and the place that it is made in.
type Work<'w> = &'w dyn Fn(&Context, &Place, &MergeOptions) -> SvnResult<()>;

/// What a run told of nodes, and the error that it ended with.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    changes: Vec<String>,
    went_on: bool,
    error: Option<ErrorCode>,
}

fn context(here: &Path, cancel: CancelToken, told: &Rc<RefCell<Told>>) -> Context {
    let empty = Arc::new(Config::new(Case::INSENSITIVE));
    let auth = Authenticator::new(AuthOptions::default(), Arc::clone(&empty), None);
    let settings = Settings {
        config: Arc::clone(&empty),
        servers: empty,
        auth: Arc::new(auth),
        variable: |_| None,
        system_user: None,
        caches: Arc::new(FileCaches::new(1 << 20)),
        http_clients: sapwood_ra::http::HttpClients::default(),
        svn_connections: sapwood_ra::svn::IdleConnections::default(),
        open_options: sapwood_fs::OpenOptions::default(),
        client_name: None,
        cancel,
    };
    let mut ctx = Context::new(settings, here.to_owned());
    ctx.wc.wait_for_tick = false;
    let (told, here) = (Rc::clone(told), format!("{}/", here.display()));
    let elided = RefCell::new(false);
    ctx.notify = Some(Rc::new(move |value: &Notify<'_>| {
        let elision = elided.replace(value.action == Action::MergeElideInfo);
        let mut told = told.borrow_mut();
        match value.action {
            Action::MergeGoesOn => told.went_on = true,
            Action::UpdateUpdate if elision => {}
            Action::UpdateAdd
            | Action::UpdateDelete
            | Action::UpdateReplace
            | Action::UpdateUpdate
            | Action::TreeConflict
            | Action::MergeWarning => told.changes.push(format!(
                "{:?} {} {:?} {:?}",
                value.action,
                value.path.replace(&here, ""),
                value.content,
                value.props
            )),
            _ => {}
        }
    }));
    ctx
}

/// One run.
fn merge(place: &Place, wc: &Path, cancel: CancelToken, work: Work<'_>) -> Told {
    let told = Rc::new(RefCell::new(Told::default()));
    let ctx = context(wc, cancel, &told);
    let result = work(&ctx, place, &MergeOptions::default());
    let mut told = told.take();
    told.error = result.err().map(|error| error.code());
    told
}

/// Stops a merge at many moments.
fn stops(steps: &str, work: Work<'_>) {
    let place = Place::new(steps);
    let looks = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&looks);
    let counting = CancelToken::at_look(move |look| {
        seen.store(look, Ordering::Relaxed);
        false
    });
    let mut want = merge(&place, &place.copy("whole"), counting, work);
    let looks = looks.load(Ordering::Relaxed);
    assert!(looks > MOMENTS && want.changes.len() > 4, "{looks} {want:?}");
    let state = place.state("whole");
    want.changes.sort();
    let step = if sapwood_testkit::long() { 1 } else { looks / MOMENTS };
    let mut went_on = 0;
    for moment in (1..=looks).step_by(usize::try_from(step).unwrap()) {
        let wc = place.copy("broken");
        let first = merge(&place, &wc, CancelToken::at_look(move |look| look == moment), work);
        let mut again = Told::default();
        if first.error == Some(ErrorCode::CANCELLED) {
            let told = Rc::new(RefCell::new(Told::default()));
            let how = Cleanup { mend: true, ..Cleanup::default() };
            cleanup(&context(&wc, CancelToken::new(), &told), "", &how).unwrap();
            again = merge(&place, &wc, CancelToken::new(), work);
        } else {
            again.error = first.error;
        }
        went_on += u32::from(again.went_on);
        let mut changes = [first.changes.clone(), again.changes.clone()].concat();
        changes.sort();
        let at = format!("moment {moment} of {looks}: {first:?}\nthen {again:?}");
        assert_eq!(changes, want.changes, "{at}");
        assert_eq!(again.error, want.error, "{at}");
        assert_eq!(place.state("broken"), state, "{at}");
    }
    assert!(went_on * 4 > looks / step, "{went_on} of {}", looks / step);
}

fn ranges(list: &[(u64, u64)]) -> Vec<Range> {
    list.iter()
        .map(|(start, end)| Range {
            start: Revision::Number((*start).into()),
            end: Revision::Number((*end).into()),
        })
        .collect()
}

#[test]
fn a_merge_of_everything() {
    stops(PARTS, &|ctx, place, options| {
        merge_peg(ctx, &place.url("T"), Revision::Head, None, "B", options)
    });
}

#[test]
fn a_merge_that_meets_conflicts() {
    stops(&format!("{PARTS}{CONFLICTS}"), &|ctx, place, options| {
        merge_peg(ctx, &place.url("T"), Revision::Head, None, "B", options)
    });
}

#[test]
fn picked_revisions_and_revisions_taken_back() {
    stops(PARTS, &|ctx, place, options| {
        let list = ranges(&[(3, 4), (5, 7), (8, 9)]);
        merge_peg(ctx, &place.url("T"), Revision::Head, Some(&list), "B", options)
    });
    stops("", &|ctx, place, options| {
        let list = ranges(&[(10, 7), (6, 3)]);
        merge_peg(ctx, &place.url("T"), Revision::Head, Some(&list), "T", options)
    });
}

#[test]
fn a_branch_that_goes_back() {
    const BRANCH: &str = r"
svn merge -q ^/T B; svn ci -qm 11; svn up -q
for f in a/one c/six n/1 top; do echo branch >> B/$f; done; svn rm -q B/n/2; mkdir B/k
seq 4 > B/k/l; svn add -q B/k; svn ps -q p b B/a; svn ci -qm 12; svn up -q
";
    stops(BRANCH, &|ctx, place, options| {
        merge_peg(ctx, &place.url("B"), Revision::Head, None, "T", options)
    });
    stops(BRANCH, &|ctx, place, options| {
        merge_reintegrate(ctx, &place.url("B"), Revision::Head, "T", options)
    });
}

#[test]
fn two_sources_and_files() {
    stops("", &|ctx, place, options| {
        let (left, right) = (place.url("T"), place.url("T"));
        let sources = TwoSources {
            left: &left,
            left_revision: Revision::Number(3.into()),
            right: &right,
            right_revision: Revision::Number(9.into()),
        };
        let options =
            MergeOptions { ignore_mergeinfo: true, ignore_ancestry: true, ..options.clone() };
        merge_two(ctx, sources, "B", &options)
    });
}

/// Revisions that came since are merged after what was stopped.
#[test]
fn a_source_that_has_grown_since() {
    let place = Place::new(PARTS);
    let work: Work<'_> =
        &|ctx, place, options| merge_peg(ctx, &place.url("T"), Revision::Head, None, "B", options);
    let wc = place.copy("broken");
    let first = merge(&place, &wc, CancelToken::at_look(|look| look == 90), work);
    assert_eq!(first.error, Some(ErrorCode::CANCELLED), "{first:?}");
    assert!(!first.changes.is_empty(), "{first:?}");
    place.shell("echo more >> T/top; svn ci -qm more T", Path::new("wc"));
    let again = merge(&place, &wc, CancelToken::new(), work);
    assert!(again.went_on && again.error.is_none(), "{again:?}");
    let whole = place.copy("whole");
    place.shell("svn up -q -r13 .", Path::new("whole"));
    let want = merge(&place, &whole, CancelToken::new(), work);
    assert_eq!(want.error, None, "{want:?}");
    assert_eq!(place.state("broken"), place.state("whole"));
}

/// What was taken back is not left out of the same merge again.
#[test]
fn what_was_reverted_begins_anew() {
    let place = Place::new(PARTS);
    let work: Work<'_> =
        &|ctx, place, options| merge_peg(ctx, &place.url("T"), Revision::Head, None, "B", options);
    let want = merge(&place, &place.copy("whole"), CancelToken::new(), work);
    let wc = place.copy("broken");
    let first = merge(&place, &wc, CancelToken::at_look(|look| look == 90), work);
    assert_eq!(first.error, Some(ErrorCode::CANCELLED), "{first:?}");
    place.shell("svn revert -qR --remove-added .", Path::new("broken"));
    let mut again = merge(&place, &wc, CancelToken::new(), work);
    assert!(!again.went_on, "{again:?}");
    again.changes.retain(|line| !line.starts_with("MergeWarning"));
    assert_eq!(again.changes, want.changes);
    assert_eq!(place.state("broken"), place.state("whole"));
}
