//! What the entries of a log add up to.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::Token;

use crate::digest::{Digest, Hasher};
use crate::entry::{Data, FoundItem, Item, Object};
use crate::rep_index::{RepIndex, RepTable};

/// Where the entries are in a store.
pub(crate) const LOG: &str = "log";
/// Where the segments are.
pub(crate) const SEGMENTS: &str = "seg";
/// The most entries of a segment.
const MOST: usize = 1024;

/// Bytes that stand in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The entry.
    pub slot: u64,
    /// Where they begin in it, as it is stored.
    pub at: usize,
    /// How many.
    pub len: usize,
    /// Their sum.
    pub digest: Digest,
}

/// Where the data of a revision that is not packed are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionData {
    /// In an entry.
    Inline(Location),
    /// In an object, which an entry names.
    Big(Object, u64),
}

/// A shard that is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedShard {
    /// How many revisions.
    pub count: u64,
    /// Their data.
    pub data: Object,
    /// Their properties.
    pub props: Object,
    /// The entry that says so.
    pub slot: u64,
}

/// Entries that are in an object too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySegment {
    /// The length in bytes of each.
    pub lens: Vec<u64>,
    /// All their bytes.
    pub data: Object,
    /// The entry that says so.
    pub slot: u64,
}

/// A file of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Whether it can be executed.
    pub executable: bool,
    /// Its bytes.
    pub bytes: Location,
}

/// What the entries so far say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The repository.
    pub repository: Token,
    /// How many revisions there are: one more than the youngest.
    pub revisions: u64,
    /// Files, by path.
    pub files: BTreeMap<String, File>,
    /// Packs, by the first revision.
    pub packs: BTreeMap<u64, PackedShard>,
    /// Data of the revisions that are not packed.
    pub data: BTreeMap<u64, RevisionData>,
    /// Properties that are in no pack, or newer than those there.
    pub props: BTreeMap<u64, Location>,
    /// Segments that have something of all this, by their first entry.
    pub segments: BTreeMap<u64, EntrySegment>,
    /// The first entry behind all that ever were in a segment.
    pub segmented: u64,
    /// The representations that entries have brought.
    pub reps: RepIndex,
}

impl State {
    /// That of a repository without an entry.
    #[must_use]
    pub fn new(repository: Token) -> Self {
        Self {
            repository,
            revisions: 0,
            files: BTreeMap::new(),
            packs: BTreeMap::new(),
            data: BTreeMap::new(),
            props: BTreeMap::new(),
            segments: BTreeMap::new(),
            segmented: 0,
            reps: RepIndex::default(),
        }
    }

    /// About how many bytes of memory it takes, without a look at each part: a server of many repositories bounds their sum.
    #[must_use]
    pub fn memory(&self) -> u64 {
        /// A path, beside what is known of the file.
        const PATH: usize = 64;
        /// The lengths of the entries of a segment: 64 of them, as most have.
        const LENS: usize = 512;
        let one =
            |count: usize, bytes: usize| len64(count).times(len64(bytes.plus(size_of::<u64>())));
        one(self.files.len(), size_of::<File>().plus(PATH))
            .plus(one(self.packs.len(), size_of::<PackedShard>()))
            .plus(one(self.data.len(), size_of::<RevisionData>()))
            .plus(one(self.props.len(), size_of::<Location>()))
            .plus(one(self.segments.len(), size_of::<EntrySegment>().plus(LENS)))
            .plus(self.reps.memory())
    }

    /// Applies the items of an entry: all, or none when there is an error.
    ///
    /// # Errors
    /// What does not follow, as the end of a sentence.
    pub fn apply(&mut self, slot: u64, items: &[FoundItem<'_>]) -> Result<(), String> {
        self.fits(slot, items)?;
        items.iter().for_each(|found| self.change(slot, found));
        Ok(())
    }

    /// Whether the items of an entry follow from what is there.
    ///
    /// # Errors
    /// As [`Self::apply`]
    pub fn fits(&self, slot: u64, items: &[FoundItem<'_>]) -> Result<(), String> {
        let mut next = self.revisions;
        let mut segmented = self.segmented;
        let mut tables = 0_u32;
        for FoundItem { item, .. } in items {
            match item {
                Item::Segment { first, lens, data } => {
                    let end = segment_end(*first, lens, data).filter(|end| *end <= slot);
                    let end = end.filter(|_| *first >= segmented);
                    segmented = end.ok_or_else(|| {
                        format!("has a segment from entry {first} on, which does not fit")
                    })?;
                }
                Item::Table { first, end, form, data } => {
                    let table = RepTable { end: *end, form: *form, data: *data, slot };
                    tables.tally(1);
                    if tables > 1 || !self.reps.fits(slot, *first, &table) {
                        return Err(format!(
                            "has a table from entry {first} on, which does not fit"
                        ));
                    }
                }
                item => next = self.checked(item, next)?,
            }
        }
        Ok(())
    }

    /// Whether an item fits, when there are so many revisions; how many there are after it.
    fn checked(&self, item: &Item<'_>, next: u64) -> Result<u64, String> {
        match item {
            Item::File { .. } | Item::Gone { .. } | Item::Segment { .. } | Item::Table { .. } => {
                Ok(next)
            }
            Item::Reps(reps) => match reps.iter().find(|rep| rep.revision >= next) {
                Some(rep) => Err(format!(
                    "has a representation in revision {}, which is not there",
                    rep.revision
                )),
                None => Ok(next),
            },
            Item::Revision { revision, .. } if *revision == next => Ok(next.plus(1)),
            Item::Revision { revision, .. } => {
                Err(format!("has revision {revision} where {next} comes next"))
            }
            Item::Props { revision, .. } if *revision >= next => {
                Err(format!("has properties of revision {revision}, which is not there"))
            }
            Item::Props { revision, before, .. } => match self.props.get(revision) {
                Some(known) if known.digest != *before => {
                    Err(format!("changes other properties of revision {revision} than there are"))
                }
                _ => Ok(next),
            },
            Item::Pack { first, count, .. } => {
                let end = first.checked_add(*count).filter(|_| *count > 0);
                let end = end.ok_or("has a pack of no revisions")?;
                let fits = *first <= next;
                let known = self.packs.range(..end).next_back();
                let apart = known.is_none_or(|(at, pack)| {
                    at.plus(pack.count) <= *first || (*at == *first && pack.count == *count)
                });
                if !fits || !apart {
                    return Err(format!("has a pack from revision {first} on, which does not fit"));
                }
                Ok(next.max(end))
            }
        }
    }

    fn change(&mut self, slot: u64, found: &FoundItem<'_>) {
        let located = |at: usize, bytes: &[u8]| Location {
            slot,
            at,
            len: bytes.len(),
            digest: Digest::of(bytes),
        };
        match &found.item {
            Item::File { path, executable, bytes } => {
                let file = File { executable: *executable, bytes: located(found.at, bytes) };
                self.files.insert(path.clone().into_owned(), file);
            }
            Item::Gone { path } => drop(self.files.remove(path.as_ref())),
            Item::Reps(reps) => self.reps.add(slot, reps),
            Item::Table { first, end, form, data } => {
                self.reps.put_table(*first, RepTable { end: *end, form: *form, data: *data, slot });
            }
            Item::Revision { revision, data, props } => {
                let (data, props) = match data {
                    Data::Inline(data) => (
                        RevisionData::Inline(located(found.at, data)),
                        located(found.at.plus(data.len()), props),
                    ),
                    Data::Big(object) => {
                        (RevisionData::Big(*object, slot), located(found.at, props))
                    }
                };
                self.data.insert(*revision, data);
                self.props.insert(*revision, props);
                self.revisions = revision.plus(1);
            }
            Item::Props { revision, bytes, .. } => {
                self.props.insert(*revision, located(found.at, bytes));
            }
            Item::Pack { first, count, data, props } => {
                let end = first.plus(*count);
                self.packs.insert(
                    *first,
                    PackedShard { count: *count, data: *data, props: *props, slot },
                );
                for revision in *first..end.min(self.revisions) {
                    self.data.remove(&revision);
                    self.props.remove(&revision);
                }
                self.revisions = self.revisions.max(end);
                self.forget_segments();
            }
            Item::Segment { first, lens, data } => {
                self.segmented = first.plus(len64(lens.len()));
                self.segments
                    .insert(*first, EntrySegment { lens: lens.clone(), data: *data, slot });
            }
        }
    }

    /// A sum of all contents, which does not depend on how they came there: files, data and properties of revisions, packs.
    #[must_use]
    pub fn contents(&self) -> Digest {
        let mut hasher = Hasher::new();
        let mut line = |line: String| hasher.update(line.as_bytes());
        for (path, file) in &self.files {
            line(format!("file {} {} {path}\n", file.executable, file.bytes.digest));
        }
        for (first, pack) in &self.packs {
            line(format!(
                "pack {first} {} {} {}\n",
                pack.count, pack.data.digest, pack.props.digest
            ));
        }
        for (revision, data) in &self.data {
            let digest = match data {
                RevisionData::Inline(location) => location.digest,
                RevisionData::Big(object, _) => object.digest,
            };
            line(format!("data {revision} {digest}\n"));
        }
        for (revision, props) in &self.props {
            line(format!("props {revision} {}\n", props.digest));
        }
        hasher.finish()
    }

    /// How many bytes all revisions have, without properties.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let mut sum = 0_u64;
        self.packs.values().for_each(|pack| sum.tally(pack.data.len));
        for data in self.data.values() {
            sum.tally(match data {
                RevisionData::Inline(location) => len64(location.len),
                RevisionData::Big(object, _) => object.len,
            });
        }
        sum
    }
}

/// The first entry behind a segment; `None` when its lengths are not those of its bytes.
pub(crate) fn segment_end(first: u64, lens: &[u64], data: &Object) -> Option<u64> {
    let sum = lens.iter().try_fold(0_u64, |sum, len| sum.checked_add(*len))?;
    let end = first.checked_add(len64(lens.len()))?;
    (sum == data.len && !lens.is_empty() && lens.len() <= MOST).then_some(end)
}
