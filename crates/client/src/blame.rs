//! `svn blame`: which revision each line of a file is from.
//!
//! The texts of all revisions come as deltas; each is compared with the one before, and a chain of
//! stretches of lines is kept up, each with the revision that it is from. With merged revisions there
//! is a second chain, which has also seen what merges brought.

mod chain;

use std::rc::Rc;

use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult, len64};
use sapwood_delta::{Applier, TextDelta};
use sapwood_diff::{Options, compare};
use sapwood_ra::{FileRev, FileRevReceiver, FileRevsRequest};

use crate::cat::local_text;
use crate::context::Context;
use crate::open::{move_to, number_at, session_at};
use crate::revision::Revision;
use crate::target::is_url;
use crate::working::Node;

use self::chain::{Chain, normalize};

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
        last_text: Vec::new(),
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
    last_text: Vec<u8>,
    /// The last text of the file's own history.
    last_original: Option<Vec<u8>>,
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
                let mut text = Vec::new();
                let mut applier = Applier::new(self.last_text.as_slice());
                while let Some(window) = delta.next_window()? {
                    text.extend_from_slice(applier.apply(&window)?);
                }
                text
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
        self.add(text, Some(change), rev.merged_revision);
        Ok(())
    }
}

impl Collector<'_> {
    fn add(&mut self, text: Vec<u8>, change: Option<Rc<Change>>, is_merged: bool) {
        let before = self.seen.then_some(self.last_text.as_slice());
        match &mut self.merged {
            None => update(&mut self.plain, &self.diff, before, &text, change),
            Some(merged) => {
                update(merged, &self.diff, before, &text, change.clone());
                if !is_merged {
                    let original = self.last_original.as_deref();
                    update(&mut self.plain, &self.diff, original, &text, change);
                    self.last_original = Some(text.clone());
                }
            }
        }
        self.seen = true;
        self.last_text = text;
    }

    /// Adds what is changed in the working copy.
    fn local_changes(&mut self, target: &str) -> SvnResult<()> {
        let node = Node::find(self.ctx, target)?;
        if !node.is_modified()? {
            return Ok(());
        }
        let mut text = Vec::new();
        local_text(self.ctx, target, Revision::Working, false)?.read_to_end(&mut text).map_err(
            |error| match SvnError::from_stream(error) {
                // The reference says it once here.
                error if error.code() == ErrorCode::IO_INCONSISTENT_EOL => {
                    SvnError::new(ErrorCode::IO_INCONSISTENT_EOL, "")
                }
                error => error,
            },
        )?;
        update(&mut self.plain, &self.diff, Some(&self.last_text), &text, None);
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
        let mut lines = split_lines(&self.last_text);
        let mut number = 0u64;
        let pieces = self.plain.pieces();
        for (at, piece) in pieces.iter().enumerate() {
            let end = pieces.get(at.plus(1)).map(|next| next.start);
            let merged = self.merged.as_ref().and_then(|chain| chain.pieces().get(at));
            let merged = merged.and_then(|piece| piece.change.as_deref());
            while end.is_none_or(|end| number < end) {
                let Some(text) = lines.next() else { return Ok(()) };
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
    before: Option<&[u8]>,
    text: &[u8],
    change: Option<Rc<Change>>,
) {
    let Some(before) = before else {
        chain.begin(change);
        return;
    };
    let count = |n: usize| len64(n);
    for range in compare(diff, before, text).changes() {
        if range.old_len > 0 {
            chain.delete(count(range.new_start), count(range.old_len));
        }
        if range.new_len > 0 {
            chain.insert(count(range.new_start), count(range.new_len), change.clone());
        }
    }
}

/// Lines without their endings, whatever these are.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
        let (line, after) = rest.split_at_checked(at)?;
        // The last line may have no end.
        rest = after.strip_prefix(b"\r\n").or_else(|| after.get(1..)).unwrap_or(b"");
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_kind() {
        let lines: Vec<&[u8]> = split_lines(b"a\r\nb\rc\n\nd").collect();
        assert_eq!(lines, [&b"a"[..], b"b", b"c", b"", b"d"]);
        assert_eq!(split_lines(b"a\n").count(), 1);
        assert_eq!(split_lines(b"").count(), 0);
    }
}
