//! Records of dump streams with deltas, as bytes.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::exact::Exact;
use sapwood_core::{Revnum, hashdump, len64};
use sapwood_repos::dumpstream::header;
use sapwood_repos::prop_rules;

/// Headers of a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Head(Vec<u8>);

impl Head {
    pub(super) fn line(&mut self, name: &str, value: &str) {
        for part in [name, ": ", value, "\n"] {
            self.0.extend_from_slice(part.as_bytes());
        }
    }

    /// A node that is added (perhaps as a copy), changed or replaced.
    pub(super) fn node(
        path: &str,
        is_dir: bool,
        action: &str,
        copy_from: Option<(&str, Revnum)>,
    ) -> Self {
        let mut head = Self::default();
        head.line(header::NODE_PATH, path);
        head.line(header::NODE_KIND, if is_dir { "dir" } else { "file" });
        head.line(header::NODE_ACTION, action);
        if let Some((path, revision)) = copy_from {
            head.line(header::COPYFROM_REV, &revision.to_string());
            head.line(header::COPYFROM_PATH, path);
        }
        head
    }

    /// The whole record up to its text: headers, lengths, and the property block.
    pub(super) fn finish(mut self, props: Option<&[u8]>, text: Option<u64>) -> Vec<u8> {
        let mut length = 0u64;
        if let Some(props) = props {
            length = len64(props.len());
            self.line(header::PROP_CONTENT_LENGTH, &length.to_string());
        }
        if let Some(text) = text {
            length = length.plus(text);
            self.line(header::TEXT_CONTENT_LENGTH, &text.to_string());
        }
        if props.is_some() || text.is_some() {
            self.line(header::CONTENT_LENGTH, &length.to_string());
        }
        self.0.push(b'\n');
        self.0.extend_from_slice(props.unwrap_or(b""));
        self.0
    }
}

/// The record of a deletion, which ends in a single empty line.
pub(super) fn deletion(path: &str) -> Vec<u8> {
    let mut head = Head::default();
    head.line(header::NODE_PATH, path);
    head.line(header::NODE_ACTION, "delete");
    head.finish(None, None)
}

/// Changes of a node's properties.
#[derive(Clone, Debug, Default)]
pub(super) struct PropChanges {
    set: BTreeMap<String, Vec<u8>>,
    deleted: BTreeSet<String>,
    any: bool,
}

impl PropChanges {
    pub(super) fn take(&mut self, name: &str, value: Option<&[u8]>) {
        self.any = true;
        match value {
            Some(value) => {
                let value = prop_rules::normalize(name, value.to_vec());
                self.set.insert(name.to_owned(), value);
            }
            None => {
                self.deleted.insert(name.to_owned());
            }
        }
    }

    /// Says that there must be a block, even an empty one: the node is new.
    pub(super) fn must_be_sent(&mut self) {
        self.any = true;
    }

    /// Whether there is something to write.
    pub(super) fn is_due(&self) -> bool {
        self.any
    }

    /// Takes the block for writing.
    pub(super) fn block(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in &self.set {
            hashdump::write_entry(&mut out, name.as_bytes(), value);
        }
        for name in &self.deleted {
            hashdump::write_deletion(&mut out, name.as_bytes());
        }
        hashdump::write_terminator(&mut out, hashdump::PROPS_END);
        *self = Self::default();
        out
    }
}
