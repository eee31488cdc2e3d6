//! Commits: an editor whose calls become requests on the resources of a transaction (HTTPv2) or of
//! an activity (DeltaV), and a MERGE at the end.

mod lock_tokens;
mod replies;
mod route;

use std::collections::HashSet;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta, Version, write_svndiff};
use sapwood_wire_dav::propfind::Name;
use sapwood_wire_dav::proppatch::Change;
use sapwood_wire_dav::{headers, merge, multistatus};

use self::replies::{CREATED, ExpectedReply, ExpectedStatus};
use self::route::Route;
use super::client::{Call, element_of, expect_status};
use super::edits::Spool;
use super::request_queue::{Order, RequestQueue};
use super::session::HttpSession;
use super::transport::Payload;
use crate::session::{
    COMPATIBLE_VERSION, CommitEditor, CommitInfo, CommitRequest, Commits, LateFailure,
    TXN_CLIENT_VERSION, TXN_USER_AGENT,
};

/// How hard svndiff 1 is compressed.
const COMPRESSION: u8 = 5;

/// An open directory or file.
#[derive(Debug)]
struct Node {
    path: RelPathBuf,
    parent: Option<usize>,
    added: bool,
    copied: bool,
    base: Option<Revnum>,
    /// For DeltaV: where the node can be changed, once it was checked out.
    working: Option<String>,
    props: Vec<(String, Option<Vec<u8>>)>,
    /// The text delta, and the checksum of what it applies to.
    text: Option<(Spool, Option<Md5>)>,
}

impl Node {
    fn of(path: &RelPath, parent: Option<usize>, base: Option<Revnum>) -> Self {
        Self {
            path: path.to_owned(),
            parent,
            added: false,
            copied: false,
            base,
            working: None,
            props: Vec::new(),
            text: None,
        }
    }
}

/// The editor of a commit.
struct HttpCommit<'s> {
    session: &'s HttpSession,
    revprops: PropList,
    lock_tokens: Vec<(RelPathBuf, String)>,
    keep_locks: bool,
    /// `None` before the edit's root is opened.
    route: Option<Route>,
    nodes: Vec<Node>,
    deleted: HashSet<RelPathBuf>,
    /// Requests on the resources of a transaction, whose replies are not waited for one by one.
    queue: RequestQueue<ExpectedReply>,
    failed: Option<LateFailure>,
    info: Option<CommitInfo>,
    ended: bool,
}

fn out_of_order() -> SvnError {
    SvnError::new(ErrorCode::INCORRECT_PARAMS, "Editor commands out of order")
}

impl HttpSession {
    /// The best svndiff that the server reads.
    fn svndiff(&self) -> Version {
        self.client.delta_version(self.places.knows("svndiff1"), self.places.knows("svndiff2"))
    }
}

impl Commits for HttpSession {
    fn commit<'s>(&'s self, request: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>> {
        let mut revprops = request.revprops.clone();
        if self.places.knows("ephemeral-txnprops") {
            revprops.set(TXN_CLIENT_VERSION, COMPATIBLE_VERSION);
            revprops.set(TXN_USER_AGENT, self.client.agent());
        }
        Ok(Box::new(HttpCommit {
            session: self,
            revprops,
            lock_tokens: request.lock_tokens.to_vec(),
            keep_locks: request.keep_locks,
            route: None,
            nodes: Vec::new(),
            deleted: HashSet::new(),
            queue: RequestQueue::new(Order::Strict),
            failed: None,
            info: None,
            ended: false,
        }))
    }
}

fn changes(props: &[(String, Option<Vec<u8>>)]) -> Vec<Change> {
    props
        .iter()
        .map(|(name, value)| Change {
            name: Name::of_property(name),
            value: value.clone(),
            expected: None,
            is_xml: false,
        })
        .collect()
}

impl HttpCommit<'_> {
    fn node(&mut self, handle: Handle) -> SvnResult<&mut Node> {
        let at = usize::try_from(handle.0).map_err(|_| out_of_order())?;
        self.nodes.get_mut(at).ok_or_else(out_of_order)
    }

    fn push(&mut self, node: Node) -> Handle {
        self.nodes.push(node);
        Handle(sapwood_core::exact::len64(self.nodes.len().minus(1)))
    }

    fn copy(
        &mut self,
        path: &RelPath,
        parent: usize,
        (from, revision): (&str, Revnum),
        depth: &str,
    ) -> SvnResult<()> {
        let source = self.source(from, revision)?;
        let place = self.child_place(parent, path)?;
        let destination = format!("{}{place}", self.session.client.base);
        let call = Call::new("COPY", &source)
            .with("destination", destination)
            .with("depth", depth)
            .with("overwrite", "F");
        let call = self.with_tokens_below(call, path);
        self.request(call, Some(path), CREATED)
    }

    fn index(&mut self, handle: Handle) -> SvnResult<usize> {
        self.node(handle)?;
        usize::try_from(handle.0).map_err(|_| out_of_order())
    }

    fn change_prop(&mut self, node: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.node(node)?.props.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        Ok(())
    }

    /// Sends the changes of properties that were collected.
    fn send_props(&mut self, at: usize, is_file: bool) -> SvnResult<()> {
        let node = self.nodes.get_mut(at).ok_or_else(out_of_order)?;
        let props = std::mem::take(&mut node.props);
        if props.is_empty() {
            return Ok(());
        }
        let (path, base) = (node.path.clone(), node.base);
        let about = is_file.then_some(&*path);
        let place = self.place(at)?;
        let mut call = Call::new("PROPPATCH", &place);
        if let Some(base) = base {
            call = call.with(headers::VERSION_NAME, base.to_string());
        }
        let call = self.with_token(call, &path).xml(multistatus::proppatch(&changes(&props)));
        self.request(call, about, ExpectedStatus::Patched)
    }

    fn send_text(&mut self, at: usize, result: Option<Md5>) -> SvnResult<()> {
        let node = self.nodes.get_mut(at).ok_or_else(out_of_order)?;
        let (path, base) = (node.path.clone(), node.base);
        let is_new = node.added && !node.copied;
        let (media, payload, source) = match node.text.take() {
            Some((spool, source)) => (headers::SVNDIFF_TYPE, spool.into_payload()?, source),
            // A file without any text is an empty one.
            None if is_new => ("text/plain", Payload::None, None),
            None => return Ok(()),
        };
        let place = self.place(at)?;
        let mut call = Call::new("PUT", &place).carrying(media, payload);
        if let Some(base) = base {
            call = call.with(headers::VERSION_NAME, base.to_string());
        }
        if let Some(source) = source {
            call = call.with(headers::BASE_MD5, source.to_hex());
        }
        if let Some(result) = result {
            call = call.with(headers::RESULT_MD5, result.to_hex());
        }
        let call = self.with_token(call, &path);
        self.request(call, Some(&path), ExpectedStatus::Status(&[201, 204]))
    }

    /// Whether nothing can be at a new file's path: a parent is new, or was deleted.
    fn is_free(&self, path: &RelPath, parent: usize) -> bool {
        let new_parent = self.nodes.get(parent).is_some_and(|node| node.added && !node.copied);
        let mut above = path;
        while !above.is_root() {
            if self.deleted.contains(above) {
                return true;
            }
            above = above.parent();
        }
        new_parent
    }

    fn check_free(&mut self, path: &RelPath) -> SvnResult<()> {
        let target = self.session.public(path);
        self.request(Call::new("HEAD", &target), Some(path), ExpectedStatus::Absent)
    }

    /// Removes what was begun. That this may fail is no news: the server forgets it in time.
    fn give_up(&mut self) {
        self.ended = true;
        let target = match self.route.take() {
            Some(Route::Txn { txn, .. }) => txn,
            Some(Route::Activity(activity)) => activity,
            None => return,
        };
        let client = &self.session.client;
        self.queue.drain(client);
        let _ = client.run(&Call::new("DELETE", &target), &[200, 204, 404]);
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.begin()?;
        Ok(self.push(Node::of(RelPath::ROOT, None, base)))
    }

    fn delete(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        let parent = self.index(parent)?;
        let place = self.child_place(parent, path)?;
        let mut call = Call::new("DELETE", &place);
        if let Some(revision) = revision {
            call = call.with(headers::VERSION_NAME, revision.to_string());
        }
        let call = self.with_tokens_of_deleted(call, path);
        self.request(call, Some(path), ExpectedStatus::Status(&[204]))?;
        self.deleted.insert(path.to_owned());
        Ok(())
    }

    fn add(
        &mut self,
        kind: NodeKind,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let at = self.index(parent)?;
        match (copy_from, kind) {
            (Some(from), NodeKind::Dir) => self.copy(path, at, from, "infinity")?,
            (Some(from), NodeKind::File) => self.copy(path, at, from, "0")?,
            (None, NodeKind::Dir) => {
                let place = self.child_place(at, path)?;
                let call = self.with_tokens_below(Call::new("MKCOL", &place), path);
                self.request(call, Some(path), CREATED)?;
            }
            (None, NodeKind::File) if self.is_free(path, at) => {}
            (None, NodeKind::File) => self.check_free(path)?,
        }
        let node = Node::of(path, Some(at), None);
        Ok(self.push(Node { added: true, copied: copy_from.is_some(), ..node }))
    }

    fn open(&mut self, path: &RelPath, parent: Handle, base: Option<Revnum>) -> SvnResult<Handle> {
        let parent = self.index(parent)?;
        Ok(self.push(Node::of(path, Some(parent), base)))
    }

    /// Keeps a text until its file ends.
    fn keep_text(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let version = self.session.svndiff();
        let mut spool = Spool::new();
        write_svndiff(delta, version, COMPRESSION, &mut |bytes| spool.write(bytes))?;
        self.node(file)?.text = Some((spool, base));
        Ok(())
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        let at = self.index(dir)?;
        self.send_props(at, false)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        let at = self.index(file)?;
        self.send_text(at, text)?;
        self.send_props(at, true)
    }

    /// Makes a revision of what was sent.
    fn merge(&mut self) -> SvnResult<()> {
        let source = match self.route()? {
            Route::Txn { txn, .. } => txn.clone(),
            Route::Activity(activity) => activity.clone(),
        };
        let target = self.session.public(RelPath::ROOT);
        let body = merge::write(&source, &self.lock_tokens);
        let mut words = headers::options::NO_MERGE_RESPONSE.to_owned();
        if !self.keep_locks && !self.lock_tokens.is_empty() {
            words = format!("{words} {}", headers::options::RELEASE_LOCKS);
        }
        let call = Call::new("MERGE", &target).with(headers::OPTIONS, words).xml(body);
        let reply = self.last_request(call)?;
        let root = element_of(expect_status(reply, &target, &[200])?)?;
        self.ended = true;
        // The next commit of the session goes over the same connection. If that fails, it opens one.
        let queue = std::mem::replace(&mut self.queue, RequestQueue::new(Order::Strict));
        let _ = queue.end(&self.session.client);
        let reply = merge::read_reply(&root)?;
        self.info = Some(CommitInfo {
            revision: reply.revision,
            date: reply.date,
            author: reply.author,
            post_commit_error: reply.post_commit_error,
        });
        if let Some(Route::Activity(activity)) = self.route.take() {
            let _ = self.session.client.run(&Call::new("DELETE", &activity), &[200, 204, 404]);
        }
        Ok(())
    }
}

impl Drop for HttpCommit<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.give_up();
        }
    }
}

impl CommitEditor for HttpCommit<'_> {
    fn committed(&self) -> Option<&CommitInfo> {
        self.info.as_ref()
    }

    fn late_failure(&self) -> Option<&LateFailure> {
        self.failed.as_ref()
    }
}

impl StepEditor for HttpCommit<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(base) => return self.open_root(base),
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.add(kind, path, parent, copy_from);
            }
            EditStep::Open { path, parent, base, .. } => return self.open(path, parent, base),
            EditStep::Delete { path, revision, parent } => self.delete(path, revision, parent)?,
            EditStep::Prop { node, name, value, .. } => self.change_prop(node, name, value)?,
            EditStep::Text { file, base, delta } => self.keep_text(file, base, delta)?,
            EditStep::CloseDirectory(dir) => self.close_directory(dir)?,
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::CloseEdit => self.merge()?,
            EditStep::AbortEdit => self.give_up(),
            EditStep::TargetRevision(_) | EditStep::Absent { .. } => {}
        }
        Ok(Handle::NONE)
    }
}
