//! Containers of node-revisions of a packed shard.
//!
//! Identifiers and representations are kept once and referred to by their position plus one; 0 stands for none. Paths
//! are in a string table; flags say which of them are there.

use std::collections::HashMap;

use sapwood_core::{Exact, Md5, NodeKind, Revnum, Sha1, rawname};

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::id::{ChangeSet, Id};
use crate::noderev::NodeRev;
use crate::packed::{Coding, Ints, PackedFrame};
use crate::rep::Representation;
use crate::string_builder::StringTableBuilder;
use crate::strings::StringTable;
use crate::text_path::canonical;

/// A container of node-revisions.
#[derive(Clone, Debug)]
pub struct NodeRevsContainer {
    paths: StringTable,
    /// Change set and number by turns.
    ids: Ints,
    reps: Vec<Representation>,
    nodes: Ints,
}

const KIND: i64 = 7;
const HAS_MERGEINFO: i64 = 8;
const HAS_COPY_FROM: i64 = 16;
const HAS_COPY_ROOT: i64 = 32;
const HAS_CREATED_PATH: i64 = 64;

/// Flags, id, node, copy, predecessor, count of predecessors, copy source (path, revision), copy root (path, revision),
/// properties, text, created path, count of mergeinfo.
type Record = [i64; 14];

fn malformed() -> Error {
    Error::corrupt("Malformed node-revision in container")
}

fn unsigned(value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| malformed())
}

fn signed(value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| malformed())
}

impl NodeRevsContainer {
    /// Bytes of memory that it takes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let reps = self.reps.len().times(size_of::<Representation>());
        self.paths.byte_len().plus(self.ids.byte_len()).plus(self.nodes.byte_len()).plus(reps)
    }

    /// Reads a whole container.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "container of node-revisions");
        let paths = StringTable::read(&mut cursor)?;
        let packed = PackedFrame::read(&mut cursor)?;
        cursor.finish()?;
        let Ints::Split(parts) = packed.ints(0)? else { return Err(malformed()) };
        let [ids, reps, nodes] = parts.as_slice() else { return Err(malformed()) };
        let mut digests = 0usize;
        let mut digest = || {
            digests = digests.plus(1);
            packed.strings(0)?.get(digests.minus(1)).ok_or_else(malformed)
        };
        let mut found = Vec::new();
        while let Some([has_sha1, revision, item, size, expanded]) = reps.record(found.len()) {
            let md5 = Md5(digest()?.try_into().map_err(|_| malformed())?);
            let sha1 = match has_sha1 {
                0 => None,
                _ => Some(Sha1(digest()?.try_into().map_err(|_| malformed())?)),
            };
            let id = Id { change_set: ChangeSet::from_disk(revision), number: unsigned(item)? };
            let (size, expanded_size) = (unsigned(size)?, unsigned(expanded)?);
            found.push(Representation { id, size, expanded_size, md5, sha1 });
        }
        Ok(Self { paths, ids: ids.clone(), reps: found, nodes: nodes.clone() })
    }

    /// How many node-revisions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len().checked_div(size_of::<Record>() / size_of::<i64>()).unwrap_or_default()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node-revision at a position.
    ///
    /// # Errors
    /// E160004 when there is none, or when it is malformed.
    pub fn get(&self, at: usize) -> Result<NodeRev> {
        let record: Record = self.nodes.record(at).ok_or_else(|| {
            Error::corrupt(format!("Container of node-revisions has no node-revision {at}"))
        })?;
        let [flags, id, node, copy, predecessor, count, from, from_revision, rest @ ..] = record;
        let [root, root_revision, props, text, created_path, mergeinfo_count] = rest;
        let source = |flag: i64, path: i64, revision: i64| {
            if flags & flag == 0 {
                return Ok(None);
            }
            Ok(Some((Revnum(unsigned(revision)?), self.path(path)?)))
        };
        let needed = |id: Option<Id>| id.ok_or_else(malformed);
        if flags & HAS_CREATED_PATH == 0 {
            return Err(malformed());
        }
        let mut node = NodeRev {
            id: needed(self.id(id)?)?,
            node: needed(self.id(node)?)?,
            copy: needed(self.id(copy)?)?,
            kind: match flags & KIND {
                1 => NodeKind::File,
                2 => NodeKind::Dir,
                _ => return Err(malformed()),
            },
            predecessor: self.id(predecessor)?,
            predecessor_count: unsigned(count)?,
            text: self.rep(text)?,
            props: self.rep(props)?,
            created_path: self.path(created_path)?,
            copy_from: source(HAS_COPY_FROM, from, from_revision)?,
            copy_root: source(HAS_COPY_ROOT, root, root_revision)?,
            mergeinfo_count: unsigned(mergeinfo_count)?,
            has_mergeinfo: flags & HAS_MERGEINFO != 0,
        };
        if node.copy_root == node.own_copy_root() {
            node.copy_root = None;
        }
        Ok(node)
    }

    fn path(&self, index: i64) -> Result<Box<str>> {
        canonical(&self.paths.get(index)?).ok_or_else(malformed)
    }

    /// What a reference stands for: a position plus one.
    fn id(&self, reference: i64) -> Result<Option<Id>> {
        let Some(at) = position(reference)? else { return Ok(None) };
        let [change_set, number] = self.ids.record(at).ok_or_else(malformed)?;
        let change_set = ChangeSet::from_disk(change_set);
        Ok(Some(Id { change_set, number: unsigned(number)? }))
    }

    fn rep(&self, reference: i64) -> Result<Option<Representation>> {
        let Some(at) = position(reference)? else { return Ok(None) };
        Ok(Some(*self.reps.get(at).ok_or_else(malformed)?))
    }
}

fn position(reference: i64) -> Result<Option<usize>> {
    let reference = usize::try_from(reference).map_err(|_| malformed())?;
    Ok(reference.checked_sub(1))
}

/// Collects node-revisions into a container.
#[derive(Debug)]
pub struct Builder {
    paths: StringTableBuilder,
    ids: Ints,
    reps: Ints,
    nodes: Ints,
    digests: Vec<Vec<u8>>,
    /// What refers to each identifier that is there, and to each representation.
    known_ids: HashMap<Id, i64>,
    known_reps: HashMap<Representation, i64>,
}

impl Default for Builder {
    fn default() -> Self {
        use Coding::{Delta, Plain};
        let mut nodes = [Delta; 14];
        nodes[0] = Plain;
        Self {
            paths: StringTableBuilder::default(),
            ids: Ints::split(&[Delta, Delta]),
            reps: Ints::split(&[Plain, Delta, Plain, Plain, Plain]),
            nodes: Ints::split(&nodes),
            digests: Vec::new(),
            known_ids: HashMap::new(),
            known_reps: HashMap::new(),
        }
    }
}

impl Builder {
    /// Adds a node-revision.
    ///
    /// # Errors
    /// E160004 for numbers and paths that the format has no room for.
    pub fn push(&mut self, node: &NodeRev) -> Result<()> {
        let (from, from_revision) = self.source(node.copy_from.as_ref())?;
        // The reference expects a copy root in containers, and leaves it out in text.
        let copy_root = node.copy_root.clone().or_else(|| node.own_copy_root());
        let (root, root_revision) = self.source(copy_root.as_ref())?;
        let flag = |is_set: bool, flag: i64| if is_set { flag } else { 0 };
        let flags = if node.kind == NodeKind::File { 1 } else { 2 }
            | flag(node.has_mergeinfo, HAS_MERGEINFO)
            | flag(node.copy_from.is_some(), HAS_COPY_FROM)
            | flag(copy_root.is_some(), HAS_COPY_ROOT)
            | HAS_CREATED_PATH;
        let record: Record = [
            flags,
            self.id(Some(node.id))?,
            self.id(Some(node.node))?,
            self.id(Some(node.copy))?,
            self.id(node.predecessor)?,
            signed(node.predecessor_count)?,
            from,
            from_revision,
            root,
            root_revision,
            self.rep(node.props.as_ref())?,
            self.rep(node.text.as_ref())?,
            self.paths.push(&rawname::to_bytes(&node.created_path))?,
            signed(node.mergeinfo_count)?,
        ];
        self.nodes.push_record(record);
        Ok(())
    }

    fn source(&mut self, source: Option<&(Revnum, Box<str>)>) -> Result<(i64, i64)> {
        let Some((revision, path)) = source else { return Ok((0, 0)) };
        Ok((self.paths.push(&rawname::to_bytes(path))?, signed(revision.0)?))
    }

    fn id(&mut self, id: Option<Id>) -> Result<i64> {
        let Some(id) = id else { return Ok(0) };
        if let Some(known) = self.known_ids.get(&id) {
            return Ok(*known);
        }
        let change_set = id.change_set.to_disk().ok_or_else(malformed)?;
        self.ids.push_record([change_set, signed(id.number)?]);
        let reference = count_of(&self.ids, 2)?;
        self.known_ids.insert(id, reference);
        Ok(reference)
    }

    fn rep(&mut self, rep: Option<&Representation>) -> Result<i64> {
        let Some(rep) = rep else { return Ok(0) };
        // Copies of a file have its text.
        if let Some(known) = self.known_reps.get(rep) {
            return Ok(*known);
        }
        let change_set = rep.id.change_set.to_disk().ok_or_else(malformed)?;
        let numbers = [signed(rep.id.number)?, signed(rep.size)?, signed(rep.expanded_size)?];
        let [number, size, expanded] = numbers;
        let has_sha1 = i64::from(rep.sha1.is_some());
        self.reps.push_record([has_sha1, change_set, number, size, expanded]);
        self.digests.push(rep.md5.0.to_vec());
        self.digests.extend(rep.sha1.map(|sha1| sha1.0.to_vec()));
        let reference = count_of(&self.reps, 5)?;
        self.known_reps.insert(*rep, reference);
        Ok(reference)
    }

    /// Appends the container.
    ///
    /// # Errors
    /// As [`PackedFrame::write`].
    pub fn write(self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let structs = Ints::Split(vec![self.ids, self.reps, self.nodes]);
        let mut packed = PackedFrame { ints: vec![structs], strings: Vec::new() };
        packed.push_strings(self.digests.iter().map(Vec::as_slice));
        self.paths.write(out)?;
        packed.write(out)
    }
}

/// How many records of some integers a stream has: the reference to the last one.
fn count_of(ints: &Ints, width: usize) -> Result<i64> {
    let count = ints.len().checked_div(width).and_then(|count| i64::try_from(count).ok());
    count.ok_or_else(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeRev {
        let id = |number| Id { change_set: ChangeSet::Revision(Revnum(9)), number };
        let rep = Representation {
            id: id(number + 1),
            size: 10,
            expanded_size: 20,
            md5: Md5([3; 16]),
            sha1: number.is_multiple_of(2).then_some(Sha1([4; 20])),
        };
        NodeRev {
            id: id(number),
            node: id(2),
            copy: Id::ROOT,
            kind: NodeKind::File,
            predecessor: number.is_multiple_of(3).then(|| id(1)),
            predecessor_count: number,
            text: Some(rep),
            props: number.is_multiple_of(2).then_some(Representation { sha1: None, ..rep }),
            created_path: format!("/trunk/{number}").into(),
            copy_from: number.is_multiple_of(5).then(|| (Revnum(8), "/old".into())),
            copy_root: number.is_multiple_of(4).then(|| (Revnum(0), "/".into())),
            mergeinfo_count: number % 2,
            has_mergeinfo: number.is_multiple_of(7),
        }
    }

    #[test]
    fn both_ways() {
        let mut builder = Builder::default();
        (0..100).for_each(|number| builder.push(&node(number)).unwrap());
        let mut bytes = Vec::new();
        builder.write(&mut bytes).unwrap();
        let container = NodeRevsContainer::read(&bytes).unwrap();
        assert_eq!(container.len(), 100);
        for number in 0..100u8 {
            assert_eq!(container.get(number.into()), Ok(node(number.into())));
        }
        assert!(container.get(100).is_err());
        for at in (0..bytes.len()).step_by(7) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x55;
            if let Ok(container) = NodeRevsContainer::read(&wrong) {
                (0..container.len().min(200)).for_each(|at| drop(container.get(at)));
            }
        }
    }

    #[test]
    fn what_is_there_is_referred_to() {
        let mut builder = Builder::default();
        let first = node(2);
        let copy = NodeRev {
            id: Id { number: 7, ..first.id },
            predecessor: Some(first.id),
            ..first.clone()
        };
        let other = Representation { expanded_size: 21, ..first.text.unwrap() };
        let odd = NodeRev { text: Some(other), ..copy.clone() };
        for node in [&first, &copy, &odd] {
            builder.push(node).unwrap();
        }
        assert_eq!((builder.ids.len(), builder.reps.len()), (2 * 3, 5 * 3), "{builder:?}");
        let mut bytes = Vec::new();
        builder.write(&mut bytes).unwrap();
        let container = NodeRevsContainer::read(&bytes).unwrap();
        assert_eq!([0, 1, 2].map(|at| container.get(at).unwrap()), [first, copy, odd]);
    }
}
