//! Filtering dump streams by path: what `svndumpfilter` does.
//!
//! [`DumpFilter`] is a [`DumpVisitor`] that writes what it lets pass. A revision's record is held
//! back until its first node passes or the revision ends, a node's record until its text or its
//! end, because only then the lengths in their headers are known; texts pass through piece by
//! piece.
//!
//! Two things are better here than in the reference, whose header order is that of a randomly
//! seeded hash and so differs from run to run: headers keep the order of the input; and a revision
//! with an empty property block keeps the block (the reference keeps only the header that
//! announces it, which makes a stream that nothing can load).

mod mergeinfo;

use sapwood_core::exact::{len64, signed};
use sapwood_core::{Cut, Exact};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use sapwood_core::{ErrorCode, SvnError, SvnResult, glob};

use crate::dumpstream::{DumpVisitor, Headers, TextBlock, header};

/// What to filter, and how.
#[derive(Clone, Debug, Default)]
pub struct FilterOptions {
    /// Path prefixes, or patterns, each beginning with a slash.
    pub prefixes: Vec<Vec<u8>>,
    /// The prefixes are patterns ([`sapwood_core::glob`]).
    pub patterns: bool,
    /// Drop what matches, instead of what does not.
    pub exclude: bool,
    /// Drop revisions that the filter made empty.
    pub drop_empty_revs: bool,
    /// Drop all empty revisions but revision 0.
    pub drop_all_empty_revs: bool,
    /// Number the remaining revisions without gaps; has no effect unless revisions are dropped.
    pub renumber_revs: bool,
    /// Drop merge sources that the filter drops, instead of failing.
    pub skip_missing_merge_sources: bool,
    /// Keep the properties of revisions that the filter made empty.
    pub preserve_revprops: bool,
}

impl FilterOptions {
    fn drops(&self, path: &[u8]) -> bool {
        let found = if self.patterns {
            glob::matches_any(&self.prefixes, path)
        } else {
            self.prefixes.iter().any(|prefix| {
                path.strip_prefix(prefix.as_slice()).is_some_and(|rest| {
                    prefix.len() == 1 || rest.is_empty() || rest.starts_with(b"/")
                })
            })
        };
        found == self.exclude
    }
}

/// What became of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Written, under this number.
    Written(i64),
    /// Dropped; the last revision before it that was written, if any.
    Dropped(Option<i64>),
}

/// What the whole run did.
#[derive(Clone, Debug, Default)]
pub struct FilterSummary {
    /// How many revisions were dropped.
    pub dropped_revisions: u64,
    /// What became of each revision of the input; only kept when renumbering.
    pub renumbered: BTreeMap<i64, Outcome>,
    /// The paths of dropped nodes, each beginning with a slash.
    pub dropped_nodes: BTreeSet<Vec<u8>>,
}

/// Called for each revision with its number in the input and what became of it.
pub type RevisionNotify<'a> = dyn FnMut(i64, Outcome) + 'a;

struct OpenRevision {
    headers: Headers,
    number: i64,
    new_number: i64,
    props: BTreeMap<Vec<u8>, Vec<u8>>,
    has_nodes: bool,
    dropped_nodes: bool,
    written: bool,
}

struct OpenNode {
    path: Vec<u8>,
    /// Headers but lengths, ready to be written.
    headers: Vec<u8>,
    props: Option<Vec<u8>>,
    prop_delta: bool,
    text_length: i64,
    written: bool,
}

/// Writes the part of a stream that passes.
pub struct DumpFilter<'a> {
    options: FilterOptions,
    renumbering: bool,
    out: &'a mut dyn Write,
    notify: &'a mut RevisionNotify<'a>,
    /// Whether a revision's record is flushed before the receiver is called for it.
    flushes: bool,
    summary: FilterSummary,
    last_live: Option<i64>,
    oldest_kept: Option<u64>,
    revision: Option<OpenRevision>,
    /// The open node; `None` while it is being dropped.
    node: Option<OpenNode>,
}

impl std::fmt::Debug for DumpFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DumpFilter").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<'a> DumpFilter<'a> {
    /// A filter that writes to `out` and calls `notify` for each revision.
    pub fn new(
        options: FilterOptions,
        out: &'a mut dyn Write,
        notify: &'a mut RevisionNotify<'a>,
    ) -> Self {
        let renumbering =
            options.renumber_revs && (options.drop_empty_revs || options.drop_all_empty_revs);
        Self {
            options,
            renumbering,
            out,
            notify,
            flushes: false,
            summary: FilterSummary::default(),
            last_live: None,
            oldest_kept: None,
            revision: None,
            node: None,
        }
    }

    /// Whether revisions are really renumbered.
    #[must_use]
    pub const fn renumbers(&self) -> bool {
        self.renumbering
    }

    /// Flushes the record of each revision before the receiver is called: for a receiver that prints
    /// messages for people.
    #[must_use]
    pub const fn flushing(mut self) -> Self {
        self.flushes = true;
        self
    }

    /// What was done.
    #[must_use]
    pub fn finish(self) -> FilterSummary {
        self.summary
    }

    fn write(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.out.write_all(bytes).map_err(|e| SvnError::io(&e, "Can't write to stream"))
    }

    /// Writes or drops the open revision's record, now that its fate is known.
    fn decide_revision(&mut self) -> SvnResult<()> {
        let Some(mut revision) = self.revision.take() else { return Ok(()) };
        revision.written = true;
        let drops = self.options.drop_empty_revs || self.options.drop_all_empty_revs;
        let emptied = !revision.has_nodes && revision.dropped_nodes;
        if emptied && !drops && !self.options.preserve_revprops {
            revision.props.retain(|name, _| name == b"svn:date");
            revision
                .props
                .insert(b"svn:log".to_vec(), b"This is an empty revision for padding.".to_vec());
        }
        let keep = revision.has_nodes
            || revision.number == 0
            || if self.options.drop_empty_revs {
                !revision.dropped_nodes
            } else {
                !self.options.drop_all_empty_revs
            };
        let outcome = if keep {
            self.write_revision(&revision)?;
            if let Ok(number @ 1..) = u64::try_from(revision.number) {
                self.oldest_kept.get_or_insert(number);
            }
            self.last_live = Some(revision.new_number);
            Outcome::Written(revision.new_number)
        } else {
            self.summary.dropped_revisions.tally(1);
            Outcome::Dropped(self.last_live)
        };
        if self.renumbering {
            self.summary.renumbered.insert(revision.number, outcome);
        }
        if self.flushes {
            self.out.flush().map_err(|e| SvnError::io(&e, "Can't write to stream"))?;
        }
        (self.notify)(revision.number, outcome);
        self.revision = Some(revision);
        Ok(())
    }

    fn write_revision(&mut self, revision: &OpenRevision) -> SvnResult<()> {
        let mut record = Vec::new();
        put_header(&mut record, header::REVISION_NUMBER, revision.new_number);
        let had_block = revision.headers.get(header::PROP_CONTENT_LENGTH).is_some()
            || revision.headers.get(header::CONTENT_LENGTH).is_some();
        let block = (had_block || !revision.props.is_empty()).then(|| {
            let mut block = Vec::new();
            for (name, value) in &revision.props {
                put_prop(&mut block, name, value);
            }
            block.extend_from_slice(b"PROPS-END\n");
            block
        });
        for (name, value) in revision.headers.iter() {
            let ours =
                // A text that a stream gives a revision (none should) is not handed on.
                [
                    header::REVISION_NUMBER,
                    header::PROP_CONTENT_LENGTH,
                    header::TEXT_CONTENT_LENGTH,
                    header::CONTENT_LENGTH,
                ];
            if !ours.iter().any(|n| n.as_bytes() == name) {
                put_raw_header(&mut record, name, value);
            }
        }
        if let Some(block) = &block {
            put_header(&mut record, header::PROP_CONTENT_LENGTH, block.len());
            put_header(&mut record, header::CONTENT_LENGTH, block.len());
        }
        record.push(b'\n');
        record.extend_from_slice(block.as_deref().unwrap_or(&[]));
        record.push(b'\n');
        self.write(&record)
    }

    /// Writes the open node's record up to its text.
    fn write_node(&mut self, has_text: bool) -> SvnResult<()> {
        let Some(node) = self.node.as_mut().filter(|n| !n.written) else { return Ok(()) };
        node.written = true;
        let mut record = std::mem::take(&mut node.headers);
        let mut length = 0i64;
        let props = node.props.take().map(|mut props| {
            props.extend_from_slice(b"PROPS-END\n");
            props
        });
        if let Some(props) = &props {
            put_header(&mut record, header::PROP_CONTENT_LENGTH, props.len());
            length = signed(len64(props.len()));
        }
        if has_text {
            put_header(&mut record, header::TEXT_CONTENT_LENGTH, node.text_length);
            length = length.wrapping_add(node.text_length);
        }
        put_header(&mut record, header::CONTENT_LENGTH, length);
        record.push(b'\n');
        record.extend_from_slice(props.as_deref().unwrap_or(&[]));
        self.write(&record)
    }

    /// The new number of a revision that a copy came from.
    fn renumber_copy_source(&self, old: i64, path: &[u8]) -> SvnResult<i64> {
        let found = mergeinfo::mapped(&self.summary.renumbered, old);
        found.ok_or_else(|| {
            let path = String::from_utf8_lossy(path);
            SvnError::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!("No valid copyfrom revision in filtered stream for '{path}'"),
            )
        })
    }

    /// Checks that a prop may come here: deltas must have been announced.
    fn unexpected_delta(&self, node: &OpenNode) -> SvnError {
        let number = self.revision.as_ref().map_or(0, |r| r.number);
        SvnError::new(
            ErrorCode::STREAM_MALFORMED_DATA,
            format!(
                "Delta property block detected, but deltas are not enabled for node '{}' in \
                 original revision {number}",
                String::from_utf8_lossy(&node.path)
            ),
        )
    }

    /// Whether a node that stays was copied from one that is dropped: it can stay only as a new file,
    /// if its text is here.
    fn loses_history(&self, headers: &Headers, path: &[u8]) -> SvnResult<bool> {
        let source = headers.get(header::COPYFROM_PATH).map(rooted);
        let Some(source) = source.filter(|source| self.options.drops(source)) else {
            return Ok(false);
        };
        let is_file = headers.get(header::NODE_KIND) == Some(b"file");
        if is_file && headers.get(header::TEXT_CONTENT_LENGTH).is_some() {
            return Ok(true);
        }
        Err(SvnError::new(
            ErrorCode::INCOMPLETE_DATA,
            format!(
                "Invalid copy source path '{}' for '{}'",
                String::from_utf8_lossy(&source),
                String::from_utf8_lossy(path)
            ),
        ))
    }

    /// The headers of a node that stays, but for the lengths.
    fn node_headers(
        &self,
        headers: &Headers,
        path: &[u8],
        loses_history: bool,
    ) -> SvnResult<Vec<u8>> {
        let mut lines = Vec::new();
        put_raw_header(&mut lines, header::NODE_PATH.as_bytes(), path.tail(1));
        if let Some(kind) = headers.get(header::NODE_KIND) {
            put_raw_header(&mut lines, header::NODE_KIND.as_bytes(), kind);
        }
        let Some(action) = headers.get(header::NODE_ACTION) else {
            return Err(SvnError::new(
                ErrorCode::INCOMPLETE_DATA,
                format!("Missing Node-action for path '{}'", String::from_utf8_lossy(path)),
            ));
        };
        put_raw_header(&mut lines, header::NODE_ACTION.as_bytes(), action);
        for (name, value) in headers.iter() {
            match std::str::from_utf8(name).unwrap_or("") {
                header::CONTENT_LENGTH
                | header::PROP_CONTENT_LENGTH
                | header::TEXT_CONTENT_LENGTH
                | header::NODE_PATH
                | header::NODE_KIND
                | header::NODE_ACTION => {}
                header::COPYFROM_PATH | header::COPYFROM_REV if loses_history => {}
                header::COPYFROM_REV if self.renumbering => {
                    let old = headers.number(header::COPYFROM_REV).unwrap_or(0);
                    let new = self.renumber_copy_source(old, path)?;
                    put_header(&mut lines, header::COPYFROM_REV, new);
                }
                _ => put_raw_header(&mut lines, name, value),
            }
        }
        Ok(lines)
    }
}

impl DumpVisitor for DumpFilter<'_> {
    fn format_version(&mut self, version: i64) -> SvnResult<()> {
        self.write(format!("{}: {version}\n\n", header::MAGIC).as_bytes())
    }

    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()> {
        self.write(&[header::UUID.as_bytes(), b": ", uuid, b"\n\n"].concat())
    }

    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        let number = headers.number(header::REVISION_NUMBER).unwrap_or(0);
        let new_number = if self.renumbering {
            number.wrapping_sub(self.summary.dropped_revisions.cast_signed())
        } else {
            number
        };
        self.revision = Some(OpenRevision {
            headers: headers.clone(),
            number,
            new_number,
            props: BTreeMap::new(),
            has_nodes: false,
            dropped_nodes: false,
            written: false,
        });
        Ok(())
    }

    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        if let Some(revision) = &mut self.revision {
            revision.props.insert(name.to_vec(), value);
        }
        Ok(())
    }

    fn close_revision(&mut self) -> SvnResult<()> {
        if self.revision.as_ref().is_some_and(|r| !r.written) {
            self.decide_revision()?;
        }
        self.revision = None;
        Ok(())
    }

    fn node(&mut self, headers: &Headers) -> SvnResult<()> {
        self.node = None;
        let path = rooted(headers.get(header::NODE_PATH).unwrap_or(&[]));
        if self.options.drops(&path) {
            self.summary.dropped_nodes.insert(path);
            if let Some(revision) = &mut self.revision {
                revision.dropped_nodes = true;
            }
            return Ok(());
        }

        let loses_history = self.loses_history(headers, &path)?;
        if let Some(revision) = &mut self.revision {
            revision.has_nodes = true;
            if !revision.written {
                self.decide_revision()?;
            }
        }
        self.node = Some(OpenNode {
            prop_delta: headers.is_true(header::PROP_DELTA),
            text_length: 0,
            headers: self.node_headers(headers, &path, loses_history)?,
            path,
            props: None,
            written: false,
        });
        Ok(())
    }

    fn remove_node_props(&mut self) -> SvnResult<()> {
        if let Some(node) = &mut self.node {
            node.props.get_or_insert_default();
        }
        Ok(())
    }

    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        let Some(node) = &self.node else { return Ok(()) };
        if node.props.is_none() && !node.prop_delta {
            return Err(self.unexpected_delta(node));
        }
        let value = if name == b"svn:mergeinfo" { self.adjust_mergeinfo(&value)? } else { value };
        if let Some(node) = &mut self.node {
            put_prop(node.props.get_or_insert_default(), name, &value);
        }
        Ok(())
    }

    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        let Some(node) = &self.node else { return Ok(()) };
        if !node.prop_delta {
            return Err(self.unexpected_delta(node));
        }
        if let Some(node) = &mut self.node {
            let block = node.props.get_or_insert_default();
            put_counted(block, b'D', name);
        }
        Ok(())
    }

    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        if self.node.is_none() {
            return Ok(());
        }
        if let Some(node) = &mut self.node {
            node.text_length = text.len().cast_signed();
        }
        self.write_node(true)?;
        while let Some(piece) = text.next_bytes()? {
            self.write(piece)?;
        }
        Ok(())
    }

    fn close_node(&mut self) -> SvnResult<()> {
        if self.node.is_none() {
            return Ok(());
        }
        self.write_node(false)?;
        self.node = None;
        self.write(b"\n\n")
    }
}

fn rooted(path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") { path.to_vec() } else { [b"/", path].concat() }
}

fn put_header(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    put_raw_header(out, name.as_bytes(), value.to_string().as_bytes());
}

fn put_raw_header(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

fn put_counted(out: &mut Vec<u8>, letter: u8, bytes: &[u8]) {
    out.push(letter);
    out.extend_from_slice(format!(" {}\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn put_prop(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    put_counted(out, b'K', name);
    put_counted(out, b'V', value);
}

#[cfg(test)]
mod tests;
