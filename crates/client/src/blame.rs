//! `svn blame`: which revision each line of a file is from.
//!
//! The texts of all revisions come as deltas; each is compared with the one before, and a chain of
//! stretches of lines is kept up, each with the revision that it is from. With merged revisions there
//! is a second chain, which has also seen what merges brought.

mod chain;

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::rc::Rc;

use sapwood_core::exact::{Cut as _, Exact};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult, len64};
use sapwood_delta::{Applier, TextDelta};
use sapwood_diff::{LargeDiff, Options, compare};
use sapwood_ra::{FileRev, FileRevReceiver, FileRevsRequest};

use crate::cat::local_text;
use crate::context::Context;
use crate::diff::sides::{Keeper, Text};
use crate::open::{move_to, number_at, session_at};
use crate::revision::Revision;
use crate::target::is_url;
use crate::working::Node;

use self::chain::{Chain, normalize};

/// Longer texts are kept in files, in bytes: most files are short, and have many revisions.
const IN_MEMORY: usize = 1 << 20;
/// Bytes of the last text that are read at a time.
const PIECE: usize = 64 << 10;

/// What to blame.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A URL, or a local path.
    pub target: &'a str,
    /// Where to look for it.
    pub peg: Revision,
    /// The first revision.
    pub start: Revision,
    /// The last revision; before `start` to learn when lines went away.
    pub end: Revision,
    /// How texts are compared.
    pub diff: Options,
    /// Whether to look at binary files too.
    pub force: bool,
    /// Whether merged revisions count.
    pub merged: bool,
}

/// A revision of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision; `None` for what is older than the first one, and for local changes.
    pub revision: Option<Revnum>,
    /// Its properties.
    pub props: PropList,
    /// The file's path there.
    pub path: String,
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct BlameLine<'a> {
    /// Its number, from 0.
    pub number: u64,
    /// The line without its ending.
    pub text: &'a [u8],
    /// Where it is from; `None` for local changes.
    pub change: Option<&'a Change>,
    /// Where it is from when merges are looked into.
    pub merged: Option<&'a Change>,
}

/// Takes one line. The second value is the younger of both ends of the range.
pub type Receiver<'a> = &'a mut dyn FnMut(&BlameLine<'_>, Revnum) -> SvnResult<()>;

/// Calls `receiver` with each line.
///
/// # Errors
/// E195004 for a binary file; those of sessions, the working copy and `receiver`.
pub fn blame(ctx: &Context, request: &Request<'_>, receiver: Receiver<'_>) -> SvnResult<()> {
    let target = request.target;
    let located = session_at(ctx, target, request.peg, request.peg)?;
    let session = located.session.as_ref();
    let start = number_at(ctx, session, target, request.start)?;
    let end = number_at(ctx, session, target, request.end)?;
    move_to(session, located.peg, start.max(end))?;
    let binary = |props: &PropList| -> SvnResult<()> {
        let mime_type = props.get_str(names::MIME_TYPE).filter(|t| names::is_binary_type(t));
        match mime_type {
            Some(_) => Err(SvnError::new(
                ErrorCode::CLIENT_IS_BINARY_FILE,
                format!(
                    "Cannot calculate blame information for binary file '{}'",
                    if target.is_empty() { "." } else { target }
                ),
            )),
            None => Ok(()),
        }
    };
    let backwards = start > end;
    if !request.force && start < end {
        let local = !is_url(target) && matches!(request.end, Revision::Working | Revision::Base);
        binary(&match local {
            false => session.get_file(RelPath::ROOT, Some(end), None, true)?.props,
            true if request.end == Revision::Working => Node::find(ctx, target)?.props()?,
            true => Node::find(ctx, target)?.undeleted()?.props()?,
        })?;
    }
    let mut collector = Collector {
        ctx,
        diff: request.diff,
        range: (start.min(end), backwards),
        check: (backwards && !request.force).then_some(&binary),
        last: None,
        last_text: Text::Empty,
        last_original: None,
        plain: Chain::default(),
        merged: request.merged.then(Chain::default),
        later: None,
        seen: false,
    };
    // What changed in the first revision is only seen beside the one before it.
    let first = if backwards { start } else { start.prev().unwrap_or(Revnum::ZERO) };
    session.file_revs(
        &FileRevsRequest {
            path: RelPath::ROOT,
            start: Some(first),
            end: Some(end),
            include_merged_revisions: request.merged,
        },
        &mut collector,
    )?;
    if request.end == Revision::Working && !is_url(target) {
        collector.local_changes(target)?;
    }
    collector.send_lines(start.max(end), receiver)
}

/// Looks at properties.
type PropCheck<'a> = dyn Fn(&PropList) -> SvnResult<()> + 'a;

/// Keeps the chains up while revisions come.
struct Collector<'a> {
    ctx: &'a Context,
    diff: Options,
    /// The older end, and whether revisions come youngest first.
    range: (Revnum, bool),
    /// Looks at the properties of the first revision that comes.
    check: Option<&'a PropCheck<'a>>,
    last: Option<Rc<Change>>,
    last_text: Text,
    /// The last text of the file's own history.
    last_original: Option<Text>,
    plain: Chain,
    merged: Option<Chain>,
    /// The revision that came before, when they come youngest first.
    later: Option<(Revnum, PropList)>,
    seen: bool,
}

impl FileRevReceiver for Collector<'_> {
    fn file_rev(&mut self, rev: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        if let Some(check) = self.check.take() {
            let set = rev.prop_changes.iter().filter_map(|(n, v)| Some((n, v.as_ref()?)));
            check(&set.collect())?;
        }
        let text = match delta {
            Some(delta) => {
                let mut text = Keeper::up_to(IN_MEMORY);
                let mut applier = Applier::new(self.last_text.reader()?);
                while let Some(window) = delta.next_window()? {
                    let piece = applier.apply(&window)?;
                    text.write_all(piece).map_err(SvnError::from_stream)?;
                }
                text.finish()?
            }
            None if self.merged.is_none() || rev.merged_revision => return Ok(()),
            None => self.last_text.clone(),
        };
        let (oldest, backwards) = self.range;
        let (revision, props) = if backwards {
            let from = self.later.take();
            if rev.revision >= oldest {
                self.later = Some((rev.revision, rev.revprops.clone()));
            }
            from.map_or((None, PropList::new()), |(r, props)| (Some(r), props))
        } else if rev.merged_revision || rev.revision >= oldest {
            (Some(rev.revision), rev.revprops.clone())
        } else {
            // The file was there before the range: its lines are from nowhere.
            (None, PropList::new())
        };
        let change = Rc::new(Change { revision, props, path: rev.path.as_str().to_owned() });
        self.last = Some(Rc::clone(&change));
        self.add(text, Some(change), rev.merged_revision)
    }
}

impl Collector<'_> {
    fn add(&mut self, text: Text, change: Option<Rc<Change>>, is_merged: bool) -> SvnResult<()> {
        let before = self.seen.then_some(&self.last_text);
        match &mut self.merged {
            None => update(&mut self.plain, &self.diff, before, &text, change)?,
            Some(merged) => {
                update(merged, &self.diff, before, &text, change.clone())?;
                if !is_merged {
                    let original = self.last_original.as_ref();
                    update(&mut self.plain, &self.diff, original, &text, change)?;
                    self.last_original = Some(text.clone());
                }
            }
        }
        self.seen = true;
        self.last_text = text;
        Ok(())
    }

    /// Adds what is changed in the working copy.
    fn local_changes(&mut self, target: &str) -> SvnResult<()> {
        let node = Node::find(self.ctx, target)?;
        if !node.is_modified()? {
            return Ok(());
        }
        let mut local = local_text(self.ctx, target, Revision::Working, false)?;
        let text = Text::keep(&mut local).map_err(|error| match error.code() {
            // The reference says it once here.
            ErrorCode::IO_INCONSISTENT_EOL => SvnError::new(ErrorCode::IO_INCONSISTENT_EOL, ""),
            _ => error,
        })?;
        update(&mut self.plain, &self.diff, Some(&self.last_text), &text, None)?;
        self.last_text = text;
        Ok(())
    }

    fn send_lines(mut self, youngest: Revnum, receiver: Receiver<'_>) -> SvnResult<()> {
        if let Some(merged) = &mut self.merged {
            if self.plain.is_empty() {
                self.plain.begin(self.last.clone());
            }
            normalize(&mut self.plain, merged);
        }
        let mut lines = Lines::new(self.last_text.reader()?);
        let mut number = 0u64;
        let pieces = self.plain.pieces();
        for (at, piece) in pieces.iter().enumerate() {
            let end = pieces.get(at.plus(1)).map(|next| next.start);
            let merged = self.merged.as_ref().and_then(|chain| chain.pieces().get(at));
            let merged = merged.and_then(|piece| piece.change.as_deref());
            while end.is_none_or(|end| number < end) {
                let Some(text) = lines.next_line()? else { return Ok(()) };
                self.ctx.check_cancel()?;
                let change = piece.change.as_deref();
                let merged = merged.filter(|_| change.is_some());
                receiver(&BlameLine { number, text, change, merged }, youngest)?;
                number = number.plus(1);
            }
        }
        Ok(())
    }
}

/// Enters what differs between two texts into a chain.
fn update(
    chain: &mut Chain,
    diff: &Options,
    before: Option<&Text>,
    text: &Text,
    change: Option<Rc<Change>>,
) -> SvnResult<()> {
    let Some(before) = before else {
        chain.begin(change);
        return Ok(());
    };
    let changes = match (before, text) {
        (Text::Memory(old), Text::Memory(new)) => {
            compare(diff, old, new).changes().copied().collect()
        }
        _ => LargeDiff::new(*diff, before, text)
            .and_then(|found| found.changes())
            .map_err(SvnError::from_stream)?,
    };
    for range in changes {
        if range.old_len > 0 {
            chain.delete(len64(range.new_start), len64(range.old_len));
        }
        if range.new_len > 0 {
            chain.insert(len64(range.new_start), len64(range.new_len), change.clone());
        }
    }
    Ok(())
}

/// Reads a text line by line. Lines have no endings, whatever these are.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// The line before ended in a carriage return: a newline that follows belongs to that.
    after_cr: bool,
}

impl<R: Read> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(PIECE, reader), line: Vec::new(), after_cr: false }
    }

    fn next_line(&mut self) -> SvnResult<Option<&[u8]>> {
        self.line.clear();
        let mut any = false;
        loop {
            let mut piece = self.reader.fill_buf().map_err(SvnError::from_stream)?;
            if std::mem::take(&mut self.after_cr) && piece.starts_with(b"\n") {
                self.reader.consume(1);
                continue;
            }
            if piece.is_empty() {
                return Ok(any.then_some(&self.line));
            }
            any = true;
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.after_cr = end.is_some_and(|at| piece.get(at) == Some(&b'\r'));
            piece = piece.head(end.unwrap_or(piece.len()));
            self.line.extend_from_slice(piece);
            let passed = piece.len().plus(usize::from(end.is_some()));
            self.reader.consume(passed);
            if end.is_some() {
                return Ok(Some(&self.line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_kind() {
        let lines = |text: &[u8], capacity: usize| {
            let reader = BufReader::with_capacity(capacity, text);
            let mut lines = Lines { reader, line: Vec::new(), after_cr: false };
            let mut found = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                found.push(String::from_utf8(line.to_vec()).unwrap());
            }
            found
        };
        for capacity in 1..12 {
            assert_eq!(lines(b"a\r\nb\rc\n\nd", capacity), ["a", "b", "c", "", "d"]);
            assert_eq!(lines(b"a\n", capacity), ["a"]);
            assert_eq!(lines(b"a\r\n", capacity), ["a"]);
            assert_eq!(lines(b"a\r", capacity), ["a"]);
            assert!(lines(b"", capacity).is_empty());
        }
    }
}
