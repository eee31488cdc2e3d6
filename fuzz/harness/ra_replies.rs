//! A hostile server: whatever it says to whichever request, the client ends with an answer or an
//! error. The first byte chooses the requests, the rest is what the server says.

use std::io::Cursor;
use std::sync::Arc;

use sapwood_core::config::{Case, Config};
use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{CancelToken, Depth, PropList, Revnum, SvnResult};
use sapwood_delta::{IgnoreAll, TextDelta, ReportEntry};
use sapwood_ra::auth::{AuthOptions, Authenticator};
use sapwood_ra::svn::{ClientSettings, IdleConnections, SvnSession};
use sapwood_ra::svn::transport::Transport;
use sapwood_ra::{
    CommitRequest, DirentFields, FileRev, FileRevReceiver, FileRevsRequest, Inherit,
    ListRequest, LogRequest, MergeinfoRequest, ReplayReceiver, ReplayRequest, ReplayedEdit,
    ReportKind, ReportRequest, RevpropSelection, Session,
};

/// Takes everything, keeps nothing.
struct Nothing;

impl FileRevReceiver for Nothing {
    fn file_rev(&mut self, _: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        if let Some(delta) = delta {
            while delta.next_window()?.is_some() {}
        }
        Ok(())
    }
}

impl ReplayReceiver for Nothing {
    fn revision(&mut self, _: Revnum, _: &PropList, edit: &mut dyn ReplayedEdit) -> SvnResult<()> {
        edit.drive(&mut IgnoreAll)
    }
}

fn settings() -> ClientSettings {
    let config = Arc::new(Config::new(Case::INSENSITIVE));
    let given = AuthOptions {
        username: Some("jo".to_owned()),
        password: Some("secret".to_owned()),
        non_interactive: true,
        ..AuthOptions::default()
    };
    ClientSettings {
        auth: Arc::new(Authenticator::new(given, Arc::clone(&config), None)),
        config,
        variable: |_| None,
        idle: IdleConnections::default(),
        client_name: None,
        cancel: CancelToken::new(),
    }
}

/// One request; its number is a byte of the input.
fn ask(session: &dyn Session, request: u8) -> SvnResult<()> {
    let path = RelPath::trusted("a");
    let (zero, three) = (Revnum(0), Revnum(3));
    match request % 16 {
        0 => session.latest_revnum().map(drop),
        1 => {
            let request = LogRequest {
                paths: &[path],
                start: None,
                end: Some(zero),
                limit: 2,
                changed_paths: true,
                strict_node_history: false,
                include_merged_revisions: true,
                revprops: RevpropSelection::All,
            };
            session.log(&request, &mut |_| Ok(()))
        }
        2 => session.get_dir(path, None, Some(DirentFields::ALL), true).map(drop),
        3 => session.get_file(path, None, Some(&mut std::io::sink()), true).map(drop),
        4 => session.stat(path, None).map(drop),
        5 => {
            let kind = ReportKind::Update { send_copyfrom: false, ignore_ancestry: false };
            let request =
                ReportRequest { revision: None, target: "", depth: Depth::Infinity, kind };
            let mut nothing = IgnoreAll;
            let mut report = session.report(&request, &mut nothing)?;
            let entry = ReportEntry::new(RelPath::ROOT, three, Depth::Infinity);
            report.entry(&entry.starting_empty())?;
            report.finish()
        }
        6 => {
            let request =
                FileRevsRequest { path, start: None, end: None, include_merged_revisions: false };
            session.file_revs(&request, &mut Nothing)
        }
        7 => {
            let request = ReplayRequest { low_water_mark: zero, send_deltas: true };
            session.replay_range(zero, three, &request, &mut Nothing)
        }
        8 => {
            let request = ListRequest {
                path: RelPath::ROOT,
                revision: None,
                patterns: None,
                depth: Depth::Infinity,
                fields: DirentFields::ALL,
            };
            session.list(&request, &mut |_, _| Ok(()))
        }
        9 => {
            let request = MergeinfoRequest {
                paths: &[path],
                revision: None,
                inherit: Inherit::Explicit,
                include_descendants: true,
            };
            session.mergeinfo(&request).map(drop)
        }
        10 => session.get_locks(RelPath::ROOT, Depth::Infinity).map(drop),
        11 => session.lock(&[(path.to_owned(), None)], None, false, &mut |_, _| Ok(())),
        12 => {
            let revprops = PropList::new();
            let request =
                CommitRequest { revprops: &revprops, lock_tokens: &[], keep_locks: false };
            let mut editor = session.commit(&request)?;
            let root = editor.open_root(None)?;
            editor.close_directory(root)?;
            editor.close_edit()
        }
        13 => session.locations(path, three, &[zero]).map(drop),
        14 => session.location_segments(path, None, None, None, &mut |_| Ok(())),
        _ => session.inherited_props(path, None).map(drop),
    }
}

/// Opens a session with a server that says `data`, and asks it things.
pub fn run(data: &[u8]) {
    let Some((first, said)) = data.split_first() else { return };
    let transport = Transport::Recorded(Cursor::new(said.to_vec()));
    let url = if first & 0x80 == 0 { "svn://h/r" } else { "svn+ssh://h/r" };
    let Ok(session) = SvnSession::over(transport, Url::trusted(url), &settings()) else { return };
    let session: &dyn Session = &session;
    // The same request again, and others after it: an error must not leave it stuck.
    for step in 0..4 {
        let _ = ask(session, first.wrapping_add(step));
    }
    let _ =
        (session.bytes_transferred(), session.reparent(Url::trusted("svn://h/r/x")), session.url());
}
