//! Commands about the node at a path: files, directories, properties, mergeinfo.

use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::path::skip_ancestor;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Depth, DirentFields, Inherit, PropList, Revnum, SvnResult};
use sapwood_fs::{Node, Root};
use sapwood_repos::inherited_props;
use sapwood_repos::nodes::{Entries, Entry, EntryDetails, EntryProps};
use sapwood_repos::{
    ListEntry, ListReceiver, ListRequest, MergeinfoRequest, Protocol, StoredDirent,
};
use sapwood_wire_svn::data::{
    DirentWords, read_dirent_fields, write_dir_entry, write_dirent, write_list_entry, write_props,
};
use sapwood_wire_svn::encode::LARGE_STRING;
use sapwood_wire_svn::{Encode as _, Error as WireError, Sink as _, Tuple};

use super::{full_paths, or_youngest, strings};
use crate::common::access::Action;
use crate::common::operation_log::Operation;
use crate::svn::auth::{must_have_access, trivial_auth};
use crate::svn::connection::Connection;
use crate::svn::session::{CommandResult, Fail, Session};

/// What is sent for a missing date where the protocol requires one.
const EPOCH: &str = "1970-01-01T00:00:00.000000Z";

/// Writes a reply; when that fails halfway, removes the part that was written.
fn all_or_nothing<'s>(
    session: &mut Session<'s>,
    write: impl FnOnce(&mut Session<'s>) -> CommandResult,
) -> CommandResult {
    let mark = session.conn.mark();
    let result = write(session);
    if let Err(Fail::Command(error)) = &result {
        session.conn.take_back(mark, error);
    }
    result
}

/// Appends the properties that `get-file` and `get-dir` send: those of the node, and those of its
/// last change.
fn write_node_props(session: &mut Session<'_>, root: &Root, node: &Node) -> CommandResult {
    let props = node.props()?;
    let entry_props = EntryProps::of(&mut root.fs().revprops_snapshot(), node, &session.uuid)?;
    let out = session.conn.out();
    write_props(out, props.iter());
    write_props(out, entry_props.iter());
    Ok(())
}

/// Appends inherited properties, without the list around them.
fn write_inherited(
    session: &mut Session<'_>,
    inherited: &[(String, std::sync::Arc<PropList>)],
) -> SvnResult<()> {
    for (path, props) in inherited {
        let out = session.conn.out();
        out.open();
        out.text(path);
        out.open();
        write_props(out, props.iter());
        out.raw(b") ) ");
        session.conn.flush_if_large()?;
    }
    Ok(())
}

/// The common parameters of `get-file` and `get-dir`.
struct NodeRequest {
    path: FsPathBuf,
    rev: Option<Revnum>,
    want_props: bool,
    want_contents: bool,
}

impl NodeRequest {
    /// The parameters up to where the two commands differ.
    fn read(session: &Session<'_>, params: &mut Tuple<'_>) -> Result<Self, WireError> {
        Ok(Self {
            path: session.full_path(&params.relpath()?),
            rev: params.bracketed_rev()?,
            want_props: params.bool()?,
            want_contents: params.bool()?,
        })
    }

    /// Finds the node, after authentication and the log line.
    fn find(
        self,
        session: &mut Session<'_>,
        is_file: bool,
        want_inherited: bool,
    ) -> Result<FoundNode, Fail> {
        let Self { path, rev, want_props, want_contents } = self;
        must_have_access(session, Action::Read, Some(&path), false)?;
        let rev = or_youngest(session, rev)?;
        let (text, props, revision) = (want_contents, want_props, rev);
        session.log_command(&match is_file {
            true => Operation::GetFile { path: &path, revision, text, props },
            false => Operation::GetDir { path: &path, revision, text, props },
        });
        let root = session.root(rev)?;
        let node = root.node(&path)?;
        let inherited = match want_inherited {
            true => Some(inherited_props(&root, &path, None, &session.access, &session.cancel)?),
            false => None,
        };
        Ok(FoundNode { rev, want_props, root, node, inherited })
    }
}

/// The node that `get-file` or `get-dir` asks for.
struct FoundNode {
    rev: Revnum,
    want_props: bool,
    root: Root,
    node: Node,
    inherited: Option<Vec<(String, std::sync::Arc<PropList>)>>,
}

impl FoundNode {
    /// Appends revision and properties.
    fn write_start(&self, session: &mut Session<'_>) -> CommandResult {
        let out = session.conn.out();
        out.rev(self.rev);
        out.open();
        if self.want_props {
            write_node_props(session, &self.root, &self.node)?;
        }
        session.conn.out().close();
        Ok(())
    }

    /// Appends inherited properties, when asked for, and the end of the reply.
    fn write_end(&self, session: &mut Session<'_>) -> CommandResult {
        if let Some(inherited) = &self.inherited {
            session.conn.out().open();
            write_inherited(session, inherited)?;
            session.conn.out().close();
        }
        session.conn.out().raw(b") ) ");
        Ok(())
    }
}

/// `get-file`
pub(super) fn get_file(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let request = NodeRequest::read(session, &mut params)?;
    let want_contents = request.want_contents;
    let want_inherited = params.opt_bool()?.unwrap_or(false);
    let found = request.find(session, true, want_inherited)?;
    let md5 = found.node.md5()?;
    let contents = if want_contents { Some(found.node.contents()?) } else { None };
    all_or_nothing(session, |session| {
        let out = session.conn.out();
        out.raw(b"( success ( ( ");
        out.text(&md5.to_hex());
        out.close();
        found.write_start(session)?;
        found.write_end(session)
    })?;
    match contents {
        Some(contents) => send_contents(session, contents),
        None => Ok(()),
    }
}

fn send_contents(session: &mut Session<'_>, mut contents: sapwood_fs::Contents) -> CommandResult {
    let result = loop {
        match contents.next_piece() {
            Ok(Some(piece)) => session.conn.put_string(piece)?,
            Ok(None) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    // The empty string ends the contents, complete or not; then the result follows.
    session.conn.out().string(b"");
    result?;
    session.conn.success();
    Ok(())
}

/// `get-dir`
pub(super) fn get_dir(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let request = NodeRequest::read(session, &mut params)?;
    let want_contents = request.want_contents;
    let fields = read_dirent_fields(params.opt_list()?)?;
    let want_inherited = params.opt_bool()?.unwrap_or(false);
    let found = request.find(session, false, want_inherited)?;
    let entries = if want_contents { Some(Entries::of(&found.root, &found.node)?) } else { None };
    all_or_nothing(session, |session| {
        session.conn.out().raw(b"( success ( ");
        found.write_start(session)?;
        session.conn.out().open();
        if let Some(entries) = entries {
            let Session { conn, access, cancel, .. } = session;
            entries.each(fields.into(), access, cancel, |entry| send_entry(conn, entry, fields))?;
        }
        session.conn.out().close();
        found.write_end(session)
    })
}

fn send_entry(conn: &mut Connection, entry: &mut Entry<'_>, fields: DirentFields) -> CommandResult {
    let EntryDetails { size, has_props, committed } = entry.details(fields)?;
    let dirent = DirentWords {
        kind: fields.kind.then_some(entry.kind()),
        size: size.unwrap_or(0),
        has_props,
        created_rev: committed.as_ref().map_or(Revnum::ZERO, |info| info.revision),
        date: Some(committed.as_ref().and_then(|info| info.date()).unwrap_or(EPOCH)),
        author: committed.as_ref().and_then(|info| info.date_author.author()),
    };
    write_dir_entry(conn.out(), entry.name(), &dirent);
    Ok(conn.flush_if_large()?)
}

/// `check-path`
pub(super) fn check_path(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let rev = params.bracketed_rev()?;
    let path = session.full_path(&relative);
    must_have_access(session, Action::Read, Some(&path), false)?;
    let rev = or_youngest(session, rev)?;
    session.log_command(&Operation::CheckPath { path: &path, revision: rev });
    let kind = session.root(rev)?.kind(&path)?;
    let out = session.conn.out();
    out.raw(b"( success ( ");
    out.kind(kind);
    out.raw(b") ) ");
    Ok(())
}

/// A date in the format that clients parse: the stored date if it has that format already.
fn wire_date(stored: Option<&str>) -> SvnResult<std::borrow::Cow<'_, str>> {
    let Some(stored) = stored else { return Ok(EPOCH.into()) };
    if stored.len() == EPOCH.len() && stored.ends_with('Z') {
        return Ok(stored.into());
    }
    Ok(Timestamp::parse(stored.as_bytes())?.to_string().into())
}

fn wire_dirent<'a>(dirent: &'a StoredDirent, date: &'a str) -> DirentWords<'a> {
    DirentWords {
        kind: Some(dirent.kind),
        // The reference's "no length" is -1.
        size: dirent.size.unwrap_or(u64::MAX),
        has_props: dirent.has_props,
        created_rev: dirent.committed.revision,
        date: Some(date),
        author: dirent.committed.date_author.author(),
    }
}

/// `stat`
pub(super) fn stat(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let rev = params.bracketed_rev()?;
    let path = session.full_path(&relative);
    must_have_access(session, Action::Read, Some(&path), false)?;
    let rev = or_youngest(session, rev)?;
    session.log_command(&Operation::Stat { path: &path, revision: rev });
    let root = session.root(rev)?;
    let Some(dirent) = sapwood_repos::stat(&root, &path)? else {
        session.conn.out().raw(b"( success ( ( ) ) ) ");
        return Ok(());
    };
    let date = wire_date(dirent.committed.date())?;
    let out = session.conn.out();
    out.raw(b"( success ( ( ( ");
    write_dirent(out, &wire_dirent(&dirent, &date));
    out.raw(b") ) ) ) ");
    Ok(())
}

/// Writes the entries of a `list`.
struct ListWriter<'c> {
    conn: &'c mut Connection,
    fields: DirentFields,
}

impl ListWriter<'_> {
    fn write(&self, entry: &ListEntry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        match entry.dirent {
            Some(dirent) => {
                let date = wire_date(dirent.committed.date())?;
                write_list_entry(out, entry.path, &wire_dirent(dirent, &date), self.fields);
            }
            None => {
                let dirent = DirentWords {
                    kind: Some(entry.kind),
                    size: 0,
                    has_props: false,
                    created_rev: Revnum::ZERO,
                    date: None,
                    author: None,
                };
                write_list_entry(out, entry.path, &dirent, self.fields);
            }
        }
        Ok(())
    }
}

impl ListReceiver for ListWriter<'_> {
    fn entry(&mut self, entry: &ListEntry<'_>) -> SvnResult<()> {
        let mut out = std::mem::take(self.conn.out());
        let result = self.write(entry, &mut out);
        *self.conn.out() = out;
        result.and_then(|()| self.conn.flush_if_large())
    }

    fn form(&self) -> Option<(Protocol, DirentFields)> {
        let DirentFields { time, last_author, .. } = self.fields;
        (!time && !last_author).then_some((Protocol::Svn, self.fields))
    }

    fn encode(&self, entry: &ListEntry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        self.write(entry, out)
    }

    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        if entries.len() >= LARGE_STRING {
            return self.conn.write_through(entries);
        }
        self.conn.out().raw(entries);
        self.conn.flush_if_large()
    }
}

/// `list`
pub(super) fn list(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let rev = params.bracketed_rev()?;
    let depth = Depth::from_word(params.word()?.as_bytes());
    let fields = read_dirent_fields(params.opt_list()?)?;
    let patterns = params.opt_list()?;
    let path = session.full_path(&relative);
    must_have_access(session, Action::Read, Some(&path), false)?;
    // There may be many: they are read only when it is clear that the client may read.
    let patterns = patterns.map(|list| strings(list, "Pattern field not a string").collect());
    let patterns: Option<Vec<&str>> = patterns.transpose()?;
    let rev = or_youngest(session, rev)?;
    session.log_command(&Operation::List {
        path: &path,
        revision: rev,
        depth,
        patterns: patterns.as_deref(),
    });
    let root = session.root(rev)?;
    let request = ListRequest {
        path: &path,
        revision: Some(rev),
        patterns: patterns.as_deref(),
        depth,
        fields,
    };
    let Session { conn, access, cancel, .. } = session;
    let mut receiver = ListWriter { conn, fields };
    let result = sapwood_repos::list(&root, &request, access, cancel, &mut receiver);
    session.conn.out().word("done");
    result?;
    session.conn.success();
    Ok(())
}

/// `get-iprops`
pub(super) fn get_iprops(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let rev = params.bracketed_rev()?;
    let path = session.full_path(&relative);
    must_have_access(session, Action::Read, Some(&path), false)?;
    let rev = or_youngest(session, rev)?;
    session.log_command(&Operation::GetInheritedProps { path: &path, revision: rev });
    let root = session.root(rev)?;
    let inherited = inherited_props(&root, &path, None, &session.access, &session.cancel)?;
    session.conn.out().raw(b"( success ( ( ");
    write_inherited(session, &inherited)?;
    session.conn.out().raw(b") ) ) ");
    Ok(())
}

/// `get-mergeinfo`
pub(super) fn get_mergeinfo(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let list = params.list()?;
    let rev = params.bracketed_rev()?;
    let inherit = Inherit::from_word(params.word()?.as_bytes()).unwrap_or(Inherit::Explicit);
    let descendants = params.bool()?;
    let paths = full_paths(session, list, "Path is not a string")?;
    let paths: Vec<&FsPath> = paths.iter().map(FsPathBuf::as_path).collect();
    session.log_command(&Operation::GetMergeinfo {
        paths: &paths,
        inherit: inherit.word(),
        descendants,
    });
    trivial_auth(&mut session.conn);
    let request = MergeinfoRequest {
        paths: &paths,
        revision: rev,
        inherit,
        include_descendants: descendants,
    };
    all_or_nothing(session, |session| {
        let Session { conn, access, repository, fs_path, cancel, .. } = session;
        conn.out().raw(b"( success ( ( ");
        sapwood_repos::mergeinfo_catalog(
            repository,
            &request,
            access,
            cancel,
            &mut |path, mergeinfo| {
                let out = conn.out();
                out.open();
                out.text(skip_ancestor(fs_path, path).unwrap_or(path));
                out.text(&mergeinfo.to_value());
                out.close();
                conn.flush_if_large()
            },
        )?;
        session.conn.out().raw(b") ) ) ");
        Ok(())
    })
}
