//! Nodes at paths: the properties of a node's last change, and the entries of a directory.
//!
//! Every protocol and every page uses this, so that read-ahead, access and order
//! are decided once. `stat` of one node is in [`crate::dirent`], whole trees in [`mod@crate::list`].

use sapwood_core::props::names;
use sapwood_core::{CancelToken, DirentFields, NodeKind};
use sapwood_fs::read_ahead::{BATCH as AHEAD_BATCH, ColdReads, NodesWanted};
use sapwood_fs::{Children, DirEntry, Node, RevpropsSnapshot, Root};

use crate::authorizer::{PathAuthorizer, SubtreeAccess};
use crate::dirent::{CommittedInfo, committed_in, committed_info};
use crate::error::Result;

/// The properties that say when and by whom a node was last changed (`svn:entry:...`).
#[derive(Clone, Debug)]
pub struct EntryProps<'a> {
    revision: String,
    info: CommittedInfo,
    uuid: &'a str,
}

impl<'a> EntryProps<'a> {
    /// The properties for a node of a revision, in the repository with that UUID.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn of(revprops: &mut RevpropsSnapshot, node: &Node, uuid: &'a str) -> Result<Self> {
        let info = committed_info(revprops, node)?;
        Ok(Self { revision: info.revision.to_string(), info, uuid })
    }

    /// Names and values, in the order in which the protocols send them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let all = [
            (names::ENTRY_COMMITTED_REV, Some(self.revision.as_bytes())),
            (names::ENTRY_COMMITTED_DATE, self.info.date_author.date()),
            (names::ENTRY_LAST_AUTHOR, self.info.date_author.author()),
            (names::ENTRY_UUID, Some(self.uuid.as_bytes())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// What the caller will read of each entry, so that it can be read ahead.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntriesWanted {
    /// The fields of its node; `None` when the node itself is not read.
    pub nodes: Option<NodesWanted>,
    /// Whether its last change is read.
    pub committed: bool,
}

impl From<DirentFields> for EntriesWanted {
    fn from(fields: DirentFields) -> Self {
        let nodes = (fields.size || fields.has_props).then(NodesWanted::default);
        Self { nodes, committed: fields.committed() }
    }
}

/// The entries of a directory that may be read.
#[derive(Debug)]
pub struct Entries<'a> {
    root: &'a Root,
    dir: &'a Node,
    children: Children,
    ahead: ColdReads,
    limit: usize,
}

impl<'a> Entries<'a> {
    /// The entries of `dir`, a node of `root`.
    ///
    /// # Errors
    /// E160016 for a file; corruption and system errors.
    pub fn of(root: &'a Root, dir: &'a Node) -> Result<Self> {
        let ahead = ColdReads::new(root.fs());
        Ok(Self { root, dir, children: dir.children()?, ahead, limit: usize::MAX })
    }

    /// Reads no more than the first `limit` entries.
    #[must_use]
    pub fn first(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Calls `visit` with every entry that may be read, in the order of the directory.
    ///
    /// # Errors
    /// What `visit` returns; cancellation, corruption and system errors.
    pub fn each<E: From<crate::Error>>(
        mut self,
        wanted: EntriesWanted,
        authorizer: &dyn PathAuthorizer,
        cancel: &CancelToken,
        mut visit: impl FnMut(&mut Entry<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let failed = |e: sapwood_core::SvnError| E::from(e.into());
        let entries = self.children.entries().clone();
        let mut revprops = self.root.fs().revprops_snapshot();
        let access = authorizer.subtree(self.dir.path()).map_err(failed)?;
        for (at, entry) in entries.iter().take(self.limit).enumerate() {
            if at.is_multiple_of(AHEAD_BATCH)
                && (wanted.nodes.is_some() || wanted.committed)
                && self.ahead.is_cold()
            {
                let next = entries.iter().skip(at).take(AHEAD_BATCH);
                let ids: Vec<_> = next.map(|entry| entry.id).collect();
                let revprops = Some(&mut revprops).filter(|_| wanted.committed);
                let nodes = wanted.nodes.unwrap_or_default();
                self.root.fs().will_need_nodes(&ids, nodes, revprops);
            }
            cancel.check().map_err(failed)?;
            if access != SubtreeAccess::Readable {
                let path = self.dir.path().child(entry.name);
                if !authorizer.readable(&path).map_err(failed)? {
                    continue;
                }
            }
            let (dir, children) = (self.dir, &mut self.children);
            visit(&mut Entry { entry, at, dir, children, revprops: &mut revprops })?;
        }
        Ok(())
    }
}

/// One entry of a directory. Nothing is read before it is needed.
#[derive(Debug)]
pub struct Entry<'a> {
    entry: DirEntry<'a>,
    at: usize,
    dir: &'a Node,
    children: &'a mut Children,
    revprops: &'a mut RevpropsSnapshot,
}

/// What is known of an entry; fields that were not requested are empty.
#[derive(Clone, Debug)]
pub struct EntryDetails {
    /// Length of a file in bytes; `None` for directories.
    pub size: Option<u64>,
    /// Whether there are properties.
    pub has_props: bool,
    /// The last change.
    pub committed: Option<CommittedInfo>,
}

impl Entry<'_> {
    /// The name.
    #[must_use]
    pub const fn name(&self) -> &str {
        self.entry.name
    }

    /// File or directory.
    #[must_use]
    pub const fn kind(&self) -> NodeKind {
        self.entry.kind
    }

    /// The node itself.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn node(&mut self) -> Result<Node> {
        Ok(self.children.node(self.dir, self.at)?)
    }

    /// The values of `fields`. The directory itself has those that most clients want: then the node need
    /// not be read.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn details(&mut self, fields: DirentFields) -> Result<EntryDetails> {
        let created = self.entry.id.revision().filter(|_| fields.committed());
        let committed = match created {
            Some(revision) => Some(committed_in(self.revprops, revision)?),
            None => None,
        };
        let (mut size, mut has_props) = (None, false);
        if fields.size || fields.has_props {
            let node = self.node()?;
            if fields.size && self.entry.kind == NodeKind::File {
                size = Some(node.length()?);
            }
            has_props = fields.has_props && node.has_props()?;
        }
        Ok(EntryDetails { size, has_props, committed })
    }
}
