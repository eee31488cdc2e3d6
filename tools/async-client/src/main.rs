//! Asks a server for all that the examples of the crate `svn` ask for, and prints the answers, a line each:
//! `async-client URL`, as `harry` with the password `secret`. What differs from one server to another by
//! right (tokens of locks, how texts are cut) is left out.
//!
//! The crate ends its items with ` ) \n`: white space that is nothing said.

use svn::{
    CommitBuilder, CommitOptions, Depth, DiffOptions, EditorEvent, EditorEventHandler, LockOptions,
    LogOptions, LogRevProps, MergeInfoInheritance, NodeKind, RaSvnClient, RaSvnSession,
    ReplayOptions, ReplayRangeOptions, Report, ReportCommand, StatusOptions, SvnError, SvnUrl,
    SwitchOptions, UnlockOptions, UpdateOptions,
};

/// The events of an edit. Of texts only that there is one: how they are cut is the server's choice.
#[derive(Default)]
struct Events(Vec<String>);

impl EditorEventHandler for Events {
    fn on_event(&mut self, event: EditorEvent) -> svn::Result<()> {
        match event {
            EditorEvent::TextDeltaChunk { file_token, .. } => {
                let line = format!("text of {file_token}");
                if self.0.last() != Some(&line) {
                    self.0.push(line);
                }
            }
            other => self.0.push(format!("{other:?}")),
        }
        Ok(())
    }
}

/// What was answered, in a form that is compared.
#[derive(Default)]
struct Answers(Vec<String>);

impl Answers {
    fn note<T: std::fmt::Debug>(&mut self, what: &str, answer: svn::Result<T>) -> Option<T> {
        self.0.push(format!("{what}: {answer:?}"));
        answer.ok()
    }

    /// An answer without which there is nothing more to ask.
    fn need<T: std::fmt::Debug>(&mut self, what: &str, answer: svn::Result<T>) -> svn::Result<T> {
        let missing = SvnError::Protocol(format!("{what} is not answered"));
        self.note(what, answer).ok_or(missing)
    }

    /// An edit. Changed properties of one node come in any order.
    fn edit(&mut self, what: &str, answer: svn::Result<()>, events: Events) {
        self.note(what, answer);
        let mut events = events.0;
        let is_property = |line: &String| line.starts_with("Change");
        events.chunk_by_mut(|a, b| is_property(a) && is_property(b)).for_each(<[_]>::sort);
        self.0.extend(events);
    }
}

/// A working copy that has `rev` or, with none, nothing.
fn report(rev: Option<u64>) -> Report {
    let mut report = Report::new();
    report.push(ReportCommand::SetPath {
        path: String::new(),
        rev: rev.unwrap_or(0),
        start_empty: rev.is_none(),
        lock_token: None,
        depth: Depth::Infinity,
    });
    report.finish();
    report
}

async fn read(url: &str, session: &mut RaSvnSession, answers: &mut Answers) -> svn::Result<()> {
    let head = answers.need("latest", session.get_latest_rev().await)?;
    answers.note("dated", session.get_dated_rev("2100-01-01T00:00:00.000000Z").await);
    let mut log = LogOptions::between(head, 1);
    log.target_paths = vec![String::new()];
    log.include_merged_revisions = true;
    let names = ["svn:author", "svn:date", "svn:log"];
    // The reference's server dies when all are asked for in the way of this client.
    log.revprops = LogRevProps::Custom(names.map(str::to_owned).to_vec());
    answers.note("log", session.log_with_options(&log).await);
    answers.note("list-dir", session.list_dir("", None).await);
    let all = answers.need("all", session.list_recursive("", Some(head)).await)?;
    for node in all.iter().step_by(3) {
        answers.note("stat", session.stat(&node.path, Some(head)).await);
        answers.note("proplist", session.proplist(&node.path, Some(head)).await);
        answers.note("iprops", session.inherited_props(&node.path, Some(head)).await);
        let mut locations = session.get_locations(&node.path, head, &[head, 1]).await;
        locations.iter_mut().for_each(|all| all.sort_by_key(|location| location.rev));
        answers.note("locations", locations);
        answers.note("segments", session.get_location_segments(&node.path, head, None, None).await);
        if node.kind == NodeKind::File {
            answers.note("text", session.get_file_bytes(&node.path, head, 1 << 24).await);
            let revisions = session.get_file_revs(&node.path, Some(1), Some(head), true).await;
            answers
                .note("revs", revisions.map(|all| all.iter().map(|r| r.rev).collect::<Vec<_>>()));
        }
    }
    let inherit = MergeInfoInheritance::Inherited;
    answers.note("mergeinfo", session.get_mergeinfo(&[String::new()], None, inherit, true).await);
    answers.note("rev-proplist", session.rev_proplist(head).await);
    answers.note("missing", session.stat("not/here", None).await);
    answers.note("no revision", session.list_dir("", Some(head + 9)).await);
    edits(url, session, answers, head).await;
    Ok(())
}

/// Those that failed when white space was taken for something said.
async fn edits(url: &str, session: &mut RaSvnSession, answers: &mut Answers, head: u64) {
    for from in [None, Some(head / 2)] {
        let mut events = Events::default();
        let options = UpdateOptions::new("", Depth::Infinity).with_rev(head);
        let done = session.update(&options, &report(from), &mut events).await;
        answers.edit("update", done, events);
        let mut events = Events::default();
        let options = SwitchOptions::new("", url, Depth::Infinity).with_rev(head - 1);
        let done = session.switch(&options, &report(from), &mut events).await;
        answers.edit("switch", done, events);
        let mut events = Events::default();
        let options = StatusOptions::new("", Depth::Infinity).with_rev(head);
        let done = session.status(&options, &report(from), &mut events).await;
        answers.edit("status", done, events);
    }
    let mut events = Events::default();
    let options = DiffOptions::new("", url, Depth::Infinity).with_rev(head);
    let done = session.diff(&options, &report(Some(1)), &mut events).await;
    answers.edit("diff", done, events);
    let mut events = Events::default();
    let done = session.replay(&ReplayOptions::new(head), &mut events).await;
    answers.edit("replay", done, events);
    let mut events = Events::default();
    let done = session.replay_range(&ReplayRangeOptions::new(1, head), &mut events).await;
    answers.edit("replay-range", done, events);
}

async fn write(session: &mut RaSvnSession, answers: &mut Answers) -> svn::Result<()> {
    let head = session.get_latest_rev().await?;
    let text = b"by a client in asynchronous Rust\n".to_vec();
    let builder = CommitBuilder::new().with_base_rev(head).put_file("asynchronous", text);
    let done = session.commit_with_builder(&CommitOptions::new("written"), &builder).await;
    answers.note("commit", done.map(|done| (done.new_rev - head, done.author)));
    answers.note("text", session.get_file_bytes("asynchronous", head + 1, 1 << 20).await);
    let lock = session.lock("asynchronous", &LockOptions::new().with_comment("mine")).await?;
    answers.note("lock", Ok((&lock.path, &lock.owner, &lock.comment)));
    let locks = session.get_locks("", Depth::Infinity).await;
    answers.note("locks", locks.map(|all| all.len()));
    let unlock = UnlockOptions::new().with_token(lock.token);
    answers.note("unlock", session.unlock("asynchronous", &unlock).await);
    answers.note("no hook", session.change_rev_prop(head, "svn:log", Some(b"x".to_vec())).await);
    Ok(())
}

async fn run(url: &str, answers: &mut Answers) -> svn::Result<()> {
    let named = |name: &str| Some(name.to_owned());
    let client = RaSvnClient::new(SvnUrl::parse(url)?, named("harry"), named("secret"));
    let mut session = client.open_session().await?;
    read(url, &mut session, answers).await?;
    write(&mut session, answers).await
}

fn main() -> svn::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut answers = Answers::default();
    let done = runtime.block_on(run(&url, &mut answers));
    answers.0.iter().for_each(|line| println!("{line}"));
    done
}
