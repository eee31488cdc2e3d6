//! Blocks of revisions whose log entries are encoded once and cached.
//!
//! A block is sixteen revisions. Its entries are the same for all users who may read all of it:
//! they are cached once, under a key that all share. For a user with rules a second key says
//! that these entries hold for them too, or holds their own entries; all users with the same rules
//! share that key.

use sapwood_core::Exact;
use sapwood_core::{FormKey, PropList, Revnum, SvnError};
use sapwood_fs::read_ahead::Prefetch;
use sapwood_fs::{ChangedPaths, EncodedEntries, LogSpan, SpanEncoder};

use super::{LogEncoder, LogRevision, LogRun, Origin};
use crate::access::RevisionAccess;
use crate::error::Result;
use crate::forms::{self, Form, KeptProps, Viewer};

/// A block to be sent.
pub(super) struct Span {
    span: LogSpan,
    encoder: LogEncoder,
    forms: Forms,
    youngest_first: bool,
}

/// How entries are encoded, and the keys under which they are cached.
#[derive(Clone, Copy)]
struct Forms {
    /// The properties that they hold.
    revprops: KeptProps,
    /// The entries of users who may read everything.
    for_all: FormKey,
    /// The entries of this user, if the user has rules.
    own: Option<FormKey>,
}

impl LogRun<'_> {
    /// For the thread that reads ahead: encodes the entries of a block.
    pub(super) fn span_encoder(&self) -> Option<SpanEncoder> {
        // With rules, entries made ahead would have to be checked again.
        let (encoder, forms) = self.forms().filter(|_| self.viewer == Viewer::Everyone)?;
        let sends_changes = self.request.changed_paths;
        let selection = forms.revprops.selection();
        let encode =
            move |revision, changes: &ChangedPaths, revprops: Option<&PropList>, out: &mut _| {
                // Old revisions do not record kinds: the request itself looks them up.
                if sends_changes && changes.iter().any(|change| change.node_kind.is_none()) {
                    return false;
                }
                let entry = LogRevision {
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
        Some(SpanEncoder { form: forms.for_all, encode: Box::new(encode) })
    }

    /// The block that begins with `revision`, when the log of everything, which ends at `last`,
    /// covers all of it, and the receiver takes it encoded.
    pub(super) fn span(&mut self, revision: Revnum, last: Revnum) -> Result<Option<Span>> {
        let Some((encoder, forms)) = self.forms().filter(|_| !self.cancel.is_cancelled()) else {
            return Ok(None);
        };
        let Some(span) = self.revprops.log_span(revision)? else { return Ok(None) };
        let youngest_first = revision >= last;
        let fits = if youngest_first {
            revision == span.youngest && last <= span.oldest
        } else {
            revision == span.oldest && last >= span.youngest
        };
        Ok(fits.then_some(Span { span, encoder, forms, youngest_first }))
    }

    /// How entries are encoded, and their cache keys.
    fn forms(&self) -> Option<(LogEncoder, Forms)> {
        let encoder = self.receiver.encoder()?;
        let revprops = KeptProps::of(self.request.revprops)?;
        let (protocol, changed_paths) = (encoder.protocol, self.request.changed_paths);
        let form = Form::Log { protocol, changed_paths, revprops };
        let for_all = forms::key(form, Viewer::Everyone)?;
        let own = match self.viewer {
            Viewer::Everyone => None,
            viewer => Some(forms::key(form, viewer)?),
        };
        Some((encoder, Forms { revprops, for_all, own }))
    }

    /// Sends the revisions of a block, from `revision` on, and returns how many they were.
    /// `ahead` is the read-ahead, for which `revision` is the `n`-th of the log.
    pub(super) fn send_span(
        &mut self,
        span: &Span,
        revision: Revnum,
        ahead: Option<(&mut Prefetch, u64)>,
    ) -> Result<u64> {
        let count = span.span.youngest.0.minus(span.span.oldest.0).plus(1);
        if !self.send_kept(span)? {
            self.make_span(span, revision, count, ahead)?;
        }
        Ok(count)
    }

    /// Sends a block from the cache, if it is there.
    fn send_kept(&mut self, span: &Span) -> Result<bool> {
        let Span { span, forms, youngest_first, .. } = span;
        let mut name = forms.for_all;
        if let Some(own) = forms.own {
            let Some(entries) = self.revprops.encoded_entries(span, own) else {
                return Ok(false);
            };
            if !entries.is_as_for_all() {
                entries.refused(*youngest_first).for_each(|path| self.authorizer.refused(path));
                name = own;
            }
        }
        let Some(entries) = self.revprops.encoded_entries(span, name) else { return Ok(false) };
        self.receiver.encoded_entries(&entries, *youngest_first)?;
        Ok(true)
    }

    /// Sends a block revision by revision, and caches what was sent.
    fn make_span(
        &mut self,
        span: &Span,
        revision: Revnum,
        count: u64,
        mut ahead: Option<(&mut Prefetch, u64)>,
    ) -> Result<()> {
        let Span { span, encoder, forms, youngest_first } = span;
        let notes_refusals = matches!(self.viewer, Viewer::Rules { notes_refusals: true, .. });
        self.refused = notes_refusals.then(Vec::new);
        let mut entries = Some(EncodedEntries::new(*youngest_first));
        let mut hides_nothing = true;
        for i in 0..count {
            let at =
                if *youngest_first { revision.0.checked_sub(i) } else { revision.0.checked_add(i) };
            let at = at.ok_or_else(|| SvnError::internal("a revision of a span"))?;
            let at = Revnum(at);
            if let Some((ahead, n)) = ahead.as_mut().filter(|_| i > 0) {
                ahead.at(n.plus(i));
            }
            let (list, access) = self.look_if_wanted(at)?;
            hides_nothing &= access == RevisionAccess::Full;
            if let (Some(entries), Some(refused)) = (&mut entries, &mut self.refused) {
                entries.push_refused(refused.drain(..));
            }
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
        self.refused = None;
        let Some(entries) = entries else { return Ok(()) };
        match forms.own {
            Some(own) if !hides_nothing => {
                self.revprops.keep_encoded_entries(span, own, entries);
            }
            own => {
                self.revprops.keep_encoded_entries(span, forms.for_all, entries);
                if let Some(own) = own {
                    let marker = EncodedEntries::as_for_all();
                    self.revprops.keep_encoded_entries(span, own, marker);
                }
            }
        }
        Ok(())
    }

    /// Sends one revision encoded, if the receiver takes it so.
    pub(super) fn send_encoded(&mut self, revision: Revnum) -> Result<bool> {
        let Some((encoder, forms)) = self.forms().filter(|_| !self.cancel.is_cancelled()) else {
            return Ok(false);
        };
        let Some(span) = self.revprops.log_span_of_one(revision)? else { return Ok(false) };
        let span = Span { span, encoder, forms, youngest_first: true };
        self.send_span(&span, revision, None)?;
        Ok(true)
    }
}
