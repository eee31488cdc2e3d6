//! Runs of revisions that are told to every user alike, encoded once.

use sapwood_core::props::names;
use sapwood_core::{PropList, Revnum};
use sapwood_fsfs::{ChangedPaths, EncodedEntries, LogSpan, Prefetch, SpanEncoder};

use super::{LogEncoder, LogEntry, Origin, RevpropSelection, Run};
use crate::error::Result;

/// A span to be told.
pub(super) struct Span {
    span: LogSpan,
    encoder: LogEncoder,
    /// Names the form of the entries: the encoder, and what is asked for.
    form: u32,
    youngest_first: bool,
}

/// The names that each set of bits of [`Run::form`] stands for.
const NAMES: [&[&str]; 8] = [
    &[],
    &[names::AUTHOR],
    &[names::DATE],
    &[names::AUTHOR, names::DATE],
    &[names::LOG],
    &[names::AUTHOR, names::LOG],
    &[names::DATE, names::LOG],
    &[names::AUTHOR, names::DATE, names::LOG],
];

impl Run<'_> {
    /// For those who read ahead: makes the entries of [`Run::span`].
    pub(super) fn span_encoder(&self) -> Option<SpanEncoder> {
        let (encoder, form) = self.form()?;
        let tells_changes = self.request.changed_paths;
        let selection = match self.request.revprops {
            RevpropSelection::All => RevpropSelection::All,
            RevpropSelection::Names(_) => {
                let bits = usize::try_from(form & 7).ok()?;
                RevpropSelection::Names(NAMES.get(bits).copied()?)
            }
        };
        let encode =
            move |revision, changes: &ChangedPaths, revprops: Option<&PropList>, out: &mut _| {
                // Those of old revisions are looked for by the request itself.
                if tells_changes && changes.iter().any(|change| change.node_kind.is_none()) {
                    return false;
                }
                let entry = LogEntry {
                    revision: Some(revision),
                    has_children: false,
                    subtractive_merge: false,
                    changes,
                    marks: &[],
                    carried: &[],
                    revprops,
                    selection,
                    restricted: false,
                };
                (encoder.encode)(&entry, out);
                true
            };
        Some(SpanEncoder { form, encode: Box::new(encode) })
    }

    /// The span that begins with `revision`, when the log of everything, which goes on to `last`,
    /// tells all of it, to a receiver that takes it encoded, and nothing is hidden from the user.
    pub(super) fn span(&mut self, revision: Revnum, last: Revnum) -> Result<Option<Span>> {
        let Some((encoder, form)) = self.form().filter(|_| !self.cancel.is_cancelled()) else {
            return Ok(None);
        };
        let Some(span) = self.revprops.log_span(revision)? else { return Ok(None) };
        let youngest_first = revision >= last;
        let fits = if youngest_first {
            revision == span.youngest && last <= span.oldest
        } else {
            revision == span.oldest && last >= span.youngest
        };
        Ok(fits.then_some(Span { span, encoder, form, youngest_first }))
    }

    /// How entries are encoded, and a number for that and for what is asked for.
    fn form(&self) -> Option<(LogEncoder, u32)> {
        let encoder = self.receiver.encoder()?;
        if !self.authorizer.everything_readable() {
            return None;
        }
        let wanted = match self.request.revprops {
            RevpropSelection::All => 8,
            RevpropSelection::Names(wanted) => {
                wanted.iter().try_fold(0u32, |bits, name| match *name {
                    names::AUTHOR => Some(bits | 1),
                    names::DATE => Some(bits | 2),
                    names::LOG => Some(bits | 4),
                    _ => None,
                })?
            }
        };
        let changes = u32::from(self.request.changed_paths) << 4;
        Some((encoder, u32::from(encoder.form) << 8 | changes | wanted))
    }

    /// Tells the revisions of a span, of which `revision` is the first, and says how many they were.
    /// `ahead` reads ahead, and knows it as the `n`-th of the log.
    pub(super) fn send_span(
        &mut self,
        span: &Span,
        revision: Revnum,
        mut ahead: Option<(&mut Prefetch, u64)>,
    ) -> Result<u64> {
        let Span { span, encoder, form, youngest_first } = span;
        let count = span.youngest.0.saturating_sub(span.oldest.0).saturating_add(1);
        if let Some(entries) = self.revprops.encoded_entries(span, *form) {
            for piece in entries.pieces(*youngest_first) {
                self.receiver.encoded(piece)?;
            }
            return Ok(count);
        }
        let mut entries = Some(EncodedEntries::new(*youngest_first));
        for i in 0..count {
            let at =
                if *youngest_first { revision.0.checked_sub(i) } else { revision.0.checked_add(i) };
            let at = Revnum(at.unwrap_or_default());
            if let Some((ahead, n)) = ahead.as_mut().filter(|_| i > 0) {
                ahead.at(n.saturating_add(i));
            }
            let (list, access) = self.look_if_wanted(at)?;
            self.with_entry(at, list.as_ref(), access, Origin::default(), |receiver, entry| {
                match entries.as_mut() {
                    Some(entries) => {
                        receiver.encoded(entries.push(|out| (encoder.encode)(entry, out)))
                    }
                    None => receiver.entry(entry),
                }
            })?;
            entries = entries.filter(|entries| !entries.is_long());
        }
        if let Some(entries) = entries {
            self.revprops.keep_encoded_entries(span, *form, entries);
        }
        Ok(count)
    }

    /// Tells one revision encoded, if the receiver takes it so.
    pub(super) fn send_encoded(&mut self, revision: Revnum) -> Result<bool> {
        let Some((encoder, form)) = self.form().filter(|_| !self.cancel.is_cancelled()) else {
            return Ok(false);
        };
        let Some(span) = self.revprops.log_span_of_one(revision)? else { return Ok(false) };
        let span = Span { span, encoder, form, youngest_first: true };
        self.send_span(&span, revision, None)?;
        Ok(true)
    }
}
