//! Requests that are answered with a series of items, ended by the word `done`.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, Revnum, RevpropSelection, Segment, SvnError, SvnResult};
use sapwood_delta::{Decoder, EncodedDelta, TextDelta, Version, Window};
use sapwood_wire_svn::data::{
    ChangedPathWords, LogEntryWords, read_changed_path, read_log_entry, read_prop_changes,
    read_props,
};
use sapwood_wire_svn::{Encode as _, Error as WireError, Item, Tuple};

use super::connection::Connection;
use super::replies::{read_listed, write_fields};
use super::session::SvnSession;
use crate::session::{
    Dirent, FileRev, FileRevReceiver, FileRevsRequest, ListRequest, LogEntry, LogRequest,
    once_a_path,
};

/// Receives one item of a series; false at its end.
fn next(
    conn: &mut Connection,
    otherwise: &'static str,
    look: impl FnOnce(Tuple<'_>) -> SvnResult<()>,
) -> SvnResult<bool> {
    conn.receive(|item| match item {
        Item::Word("done") => Ok(false),
        Item::List(list) => look(list.tuple()).map(|()| true),
        _ => Err(WireError::Part(otherwise).into()),
    })
}

/// What becomes of a receiver's error: the series is read to its end only when the receiver asks
/// for no more in the agreed way, otherwise the connection is given up.
#[derive(Default)]
struct ReceiverEnd(Option<SvnError>);

impl ReceiverEnd {
    fn note(&mut self, result: SvnResult<()>) -> SvnResult<()> {
        match result {
            Err(e) if e.any(SvnError::is_ceased) => {
                self.0.get_or_insert(e);
                Ok(())
            }
            other => other,
        }
    }

    fn finish(self, conn: &mut Connection) -> SvnResult<()> {
        let replied = conn.reply(|_| Ok(()));
        self.0.map_or(replied, Err)
    }
}

/// Gives the connection up when a series was left in its middle.
fn in_step<T>(conn: &mut Connection, result: SvnResult<T>) -> SvnResult<T> {
    if result.is_err() {
        conn.give_up();
    }
    result
}

/// Which of the properties are wanted that the server sends with every log entry.
struct WantedRevprops {
    author: bool,
    date: bool,
    message: bool,
    others: bool,
}

impl WantedRevprops {
    fn of(selection: RevpropSelection<'_>) -> Self {
        match selection {
            RevpropSelection::All => Self { author: true, date: true, message: true, others: true },
            RevpropSelection::Names(list) => {
                let standard = [names::AUTHOR, names::DATE, names::LOG];
                Self {
                    author: list.contains(&names::AUTHOR),
                    date: list.contains(&names::DATE),
                    message: list.contains(&names::LOG),
                    others: list.iter().any(|name| !standard.contains(name)),
                }
            }
        }
    }
}

fn write_log(out: &mut Vec<u8>, request: &LogRequest<'_>, paths: &[RelPathBuf]) {
    out.raw(b"( log ( ( ");
    for path in paths {
        out.text(path);
    }
    out.close();
    out.bracketed_rev(request.start);
    out.bracketed_rev(request.end);
    out.bool(request.changed_paths);
    out.bool(request.strict_node_history);
    out.number(request.limit);
    out.bool(request.include_merged_revisions);
    match request.revprops {
        RevpropSelection::All => out.raw(b"all-revprops ( ) "),
        RevpropSelection::Names(names) => {
            out.raw(b"revprops ( ");
            for name in names {
                out.text(name);
            }
            out.close();
        }
    }
    out.raw(b") ) ");
}

/// The changed paths of a log entry.
fn changed_paths<'a>(entry: &LogEntryWords<'a>) -> SvnResult<Vec<ChangedPathWords<'a>>> {
    let read = |item: Item<'a>| {
        let list = item.list().map_err(|_| WireError::Part("Changed-path entry not a list"))?;
        Ok(read_changed_path(list)?)
    };
    entry.changes.into_iter().map(read).collect()
}

/// One log entry, borrowed from the connection's buffer.
fn log_entry<'a>(
    entry: &LogEntryWords<'a>,
    changes: &'a [ChangedPathWords<'_>],
    wanted: &WantedRevprops,
) -> SvnResult<LogEntry<'a>> {
    if wanted.others && entry.revprops.is_none() {
        return Err(SvnError::new(
            ErrorCode::RA_NOT_IMPLEMENTED,
            "Server does not support custom revprops via log",
        ));
    }
    let head = entry.head;
    let mut revprops: Vec<(&str, &[u8])> = Vec::with_capacity(4);
    let standard = [
        (names::AUTHOR, head.author.filter(|_| wanted.author)),
        (names::DATE, head.date.filter(|_| wanted.date)),
        (names::LOG, head.message.filter(|_| wanted.message)),
    ];
    revprops.extend(standard.into_iter().filter_map(|(name, value)| Some((name, value?))));
    for item in entry.revprops.into_iter().flatten() {
        let mut pair = item.list()?.tuple();
        revprops.push((pair.text()?, pair.bytes()?));
    }
    Ok(LogEntry {
        revision: (!head.invalid_revision).then_some(head.revision),
        has_children: head.has_children,
        subtractive_merge: entry.subtractive_merge,
        changes: changes.iter().map(ChangedPathWords::as_change).collect(),
        revprops,
    })
}

impl SvnSession {
    pub(super) fn stream_log(
        &self,
        request: &LogRequest<'_>,
        receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
    ) -> SvnResult<()> {
        if request.paths.is_empty() {
            self.sync_server_url()?;
        }
        let paths = self.all_at(request.paths);
        let wanted = WantedRevprops::of(request.revprops);
        let mut conn = self.conn()?;
        write_log(conn.out(), request, &paths);
        self.authenticate_reader(&mut conn)?;
        let (mut ceased, mut nesting, mut count) = (ReceiverEnd::default(), 0u64, 0u64);
        let result = loop {
            let more = next(&mut conn, "Log entry not a list", |tuple| {
                let words = read_log_entry(tuple.rest())?;
                let changes = changed_paths(&words)?;
                let mut entry = log_entry(&words, &changes, &wanted)?;
                if request.include_merged_revisions {
                    once_a_path(&mut entry.changes);
                }
                if nesting == 0 {
                    count = count.plus(1);
                }
                // Old servers know no limit.
                if request.limit > 0 && nesting == 0 && count > request.limit {
                    return Ok(());
                }
                if entry.has_children {
                    nesting = nesting.plus(1);
                }
                if entry.revision.is_none() {
                    nesting = nesting.checked_sub(1).ok_or(WireError::Malformed)?;
                }
                if ceased.0.is_some() { Ok(()) } else { ceased.note(receiver(&entry)) }
            });
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        in_step(&mut conn, result)?;
        ceased.finish(&mut conn)
    }

    pub(super) fn list_below(
        &self,
        request: &ListRequest<'_>,
        receiver: &mut dyn FnMut(&FsPath, &Dirent) -> SvnResult<()>,
    ) -> SvnResult<()> {
        if !self.knows("list") {
            return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, ""));
        }
        let path = self.at(request.path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( list ( ");
        out.text(&path);
        out.bracketed_rev(request.revision);
        out.depth(request.depth);
        write_fields(out, request.fields);
        if let Some(patterns) = request.patterns {
            out.open();
            for pattern in patterns {
                out.text(pattern);
            }
            out.close();
        }
        out.raw(b") ) ");
        self.authenticate_reader(&mut conn)?;
        let result = loop {
            let more = next(&mut conn, "List entry not a list", |tuple| {
                let (path, dirent) = read_listed(tuple)?;
                receiver(&path, &dirent)
            });
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        in_step(&mut conn, result)?;
        conn.reply(|_| Ok(()))
    }

    pub(super) fn fetch_locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-locations ( ");
        out.text(&path);
        out.rev(peg);
        out.open();
        for revision in revisions {
            out.rev(*revision);
        }
        out.raw(b") ) ) ");
        self.authenticate_new(&mut conn, "'get-locations' not implemented")?;
        let mut found = Vec::new();
        while next(&mut conn, "Location entry not a list", |mut tuple| {
            let revision = tuple.rev()?;
            found.push((revision, tuple.fspath()?.into_owned()));
            Ok(())
        })? {}
        conn.reply(|_| Ok(()))?;
        Ok(found)
    }

    pub(super) fn stream_segments(
        &self,
        path: &RelPath,
        (peg, start, end): (Option<Revnum>, Option<Revnum>, Option<Revnum>),
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-location-segments ( ");
        out.text(&path);
        for revision in [peg, start, end] {
            out.bracketed_rev(revision);
        }
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "'get-location-segments' not implemented")?;
        let mut ceased = ReceiverEnd::default();
        loop {
            let more = next(&mut conn, "Location segment entry not a list", |mut tuple| {
                let (start, end) = (tuple.rev()?, tuple.rev()?);
                let mut path = tuple.tuple()?;
                let path = if path.is_empty() { None } else { Some(path.relpath()?.into_owned()) };
                if ceased.0.is_some() {
                    return Ok(());
                }
                ceased.note(receiver(&Segment { start, end, path }))
            });
            if !in_step(&mut conn, more)? {
                return ceased.finish(&mut conn);
            }
        }
    }

    pub(super) fn stream_file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        let path = self.at(request.path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-file-revs ( ");
        out.text(&path);
        out.bracketed_rev(request.start);
        out.bracketed_rev(request.end);
        out.bool(request.include_merged_revisions);
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "'get-file-revs' not implemented")?;
        let mut chunks = Chunks::default();
        let mut any = false;
        loop {
            let result = file_rev(&mut conn, &mut chunks, receiver);
            if !in_step(&mut conn, result)? {
                break;
            }
            any = true;
        }
        conn.reply(|_| Ok(()))?;
        if any {
            return Ok(());
        }
        Err(WireError::Part("The get-file-revs command didn't return any revisions").into())
    }
}

/// Receives one revision of a file; false when there are no more.
fn file_rev(
    conn: &mut Connection,
    chunks: &mut Chunks,
    receiver: &mut dyn FileRevReceiver,
) -> SvnResult<bool> {
    let mut found = None;
    let more = next(conn, "Revision entry not a list", |mut tuple| {
        let path = tuple.fspath()?.into_owned();
        let revision = tuple.rev()?;
        let revprops = read_props(tuple.list()?)?;
        let changes = read_prop_changes(tuple.list()?)?;
        found = Some((path, revision, revprops, changes, tuple.opt_bool()?.unwrap_or(false)));
        Ok(())
    })?;
    let Some((path, revision, revprops, prop_changes, merged_revision)) = found.filter(|_| more)
    else {
        return Ok(false);
    };
    let rev = FileRev {
        path: &path,
        revision,
        revprops: &revprops,
        merged_revision,
        prop_changes: &prop_changes,
    };
    let mut delta = ChunkedDelta::new(conn, chunks);
    if delta.fetch()? {
        delta.chunks.unread = true;
        receiver.file_rev(&rev, Some(&mut delta))?;
        while delta.fetch()? {}
    } else {
        receiver.file_rev(&rev, None)?;
    }
    Ok(true)
}

/// What is kept from text to text: buffers.
#[derive(Default)]
struct Chunks {
    chunk: Vec<u8>,
    /// The chunk was not passed on yet.
    unread: bool,
}

/// A text delta that comes as a series of strings, the last of them empty.
struct ChunkedDelta<'c> {
    conn: &'c mut Connection,
    chunks: &'c mut Chunks,
    decoder: Decoder,
    ended: bool,
}

impl<'c> ChunkedDelta<'c> {
    fn new(conn: &'c mut Connection, chunks: &'c mut Chunks) -> Self {
        chunks.unread = false;
        Self { conn, chunks, decoder: Decoder::new(), ended: false }
    }

    fn fetch(&mut self) -> SvnResult<bool> {
        if self.ended {
            return Ok(false);
        }
        let more =
            self.conn.receive_chunk(&mut self.chunks.chunk, "Text delta chunk not a string")?;
        self.ended = !more;
        Ok(more)
    }
}

impl TextDelta for ChunkedDelta<'_> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        loop {
            if std::mem::take(&mut self.chunks.unread) {
                self.decoder.push(&self.chunks.chunk);
            }
            if let Some(window) = self.decoder.next_window()? {
                return Ok(Some(window));
            }
            if !self.fetch()? {
                self.decoder.finish()?;
                return Ok(None);
            }
            self.decoder.push(&self.chunks.chunk);
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        let header = self.chunks.chunk.first_chunk().filter(|_| self.chunks.unread)?;
        let version = Version::of_header(*header).ok()?;
        if version <= newest { Some(self) } else { None }
    }
}

impl EncodedDelta for ChunkedDelta<'_> {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        if !std::mem::take(&mut self.chunks.unread) && !self.fetch()? {
            return Ok(None);
        }
        Ok(Some(&self.chunks.chunk))
    }
}
