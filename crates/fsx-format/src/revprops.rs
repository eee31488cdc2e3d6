//! Packed revision properties: the manifest of a shard, and its packs.
//!
//! The manifest lists the packs by their first revision, with a tag that makes the file name unique. A pack has the property
//! lists of consecutive revisions. Both end with a checksum.

use sapwood_core::{PropList, Revnum};

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::packed::{Coding, Ints, PackedFrame};
use crate::{proplist, trailer};

/// One pack of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The first revision.
    pub start: Revnum,
    /// Distinguishes the files of that revision.
    pub tag: u64,
}

/// Parses a whole manifest.
///
/// # Errors
/// E160004 when it is malformed, empty, or not in order.
pub fn parse_manifest(file: &[u8]) -> Result<Vec<ManifestEntry>> {
    let wrong = || Error::corrupt("Malformed manifest of revision properties");
    let mut cursor = Cursor::new(trailer::checked(file, "revprop manifest")?, "revprop manifest");
    let packed = PackedFrame::read(&mut cursor)?;
    cursor.finish()?;
    let (starts, tags) = (packed.ints(0)?, packed.ints(1)?);
    let number = |ints: &Ints, at: usize| {
        ints.get(at).and_then(|number| u64::try_from(number).ok()).ok_or_else(wrong)
    };
    let mut entries: Vec<ManifestEntry> = Vec::new();
    for at in 0..starts.len() {
        let entry = ManifestEntry { start: Revnum(number(starts, at)?), tag: number(tags, at)? };
        if entries.last().is_some_and(|before| before.start >= entry.start) {
            return Err(wrong());
        }
        entries.push(entry);
    }
    if entries.is_empty() || tags.len() != entries.len() { Err(wrong()) } else { Ok(entries) }
}

/// The manifest as a file.
///
/// # Errors
/// E160004 for numbers that the format has no room for.
pub fn write_manifest(entries: &[ManifestEntry]) -> Result<Vec<u8>> {
    let (mut starts, mut tags) = (Ints::new(Coding::Delta), Ints::new(Coding::Plain));
    let int =
        |number: u64| i64::try_from(number).map_err(|_| Error::corrupt("Number out of range"));
    for entry in entries {
        starts.push(int(entry.start.0)?);
        tags.push(int(entry.tag)?);
    }
    finish(&PackedFrame { ints: vec![starts, tags], strings: Vec::new() })
}

fn finish(packed: &PackedFrame) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    packed.write(&mut file).map_err(|error| Error::corrupt(error.to_string()))?;
    trailer::append(&mut file);
    Ok(file)
}

/// The entry of the pack that has a revision, and the position of the revision in it.
#[must_use]
pub fn find(entries: &[ManifestEntry], revision: Revnum) -> Option<(ManifestEntry, usize)> {
    let behind = entries.partition_point(|entry| entry.start <= revision);
    let entry = *entries.get(behind.checked_sub(1)?)?;
    let at = usize::try_from(revision.0.checked_sub(entry.start.0)?).ok()?;
    Some((entry, at))
}

/// A pack of revision properties.
#[derive(Clone, Debug)]
pub struct RevpropPack(PackedFrame);

impl RevpropPack {
    /// Reads a whole file.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn read(file: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(trailer::checked(file, "revprop pack")?, "revprop pack");
        let packed = PackedFrame::read(&mut cursor)?;
        cursor.finish()?;
        Ok(Self(packed))
    }

    /// How many revisions it has.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn len(&self) -> Result<usize> {
        Ok(self.0.strings(0)?.len())
    }

    /// Whether it has no revision.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The properties of the revision at a position.
    ///
    /// # Errors
    /// E160004 when there is none, or when they are malformed.
    pub fn get(&self, at: usize) -> Result<PropList> {
        let list = self.0.strings(0)?.get(at);
        proplist::parse(list.ok_or(Error::UnexpectedEnd("revprop pack"))?)
    }

    /// The pack of these lists as a file.
    ///
    /// # Errors
    /// None in practice: those of the compressor.
    pub fn write(lists: &[PropList]) -> Result<Vec<u8>> {
        let lists: Vec<Vec<u8>> = lists.iter().map(one).collect();
        let mut packed = PackedFrame::default();
        packed.push_strings(lists.iter().map(Vec::as_slice));
        finish(&packed)
    }
}

fn one(list: &PropList) -> Vec<u8> {
    let mut bytes = Vec::new();
    proplist::write(list, &mut bytes);
    bytes
}

/// The properties of a revision that is not packed, from its file.
///
/// # Errors
/// E160004 when it is malformed.
pub fn parse_file(file: &[u8]) -> Result<PropList> {
    proplist::parse(trailer::checked(file, "revprop file")?)
}

/// The file of the properties of a revision that is not packed.
#[must_use]
pub fn write_file(props: &PropList) -> Vec<u8> {
    let mut file = one(props);
    trailer::append(&mut file);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_both_ways() {
        let entry = |start, tag| ManifestEntry { start: Revnum(start), tag };
        let entries = [entry(20, 0), entry(25, 3), entry(39, 1)];
        let file = write_manifest(&entries).unwrap();
        assert_eq!(parse_manifest(&file).as_deref(), Ok(&entries[..]));
        assert_eq!(find(&entries, Revnum(38)), Some((entry(25, 3), 13)));
        assert_eq!(find(&entries, Revnum(19)), None);
        for wrong in [&[][..], &[entry(5, 0), entry(5, 1)]] {
            assert!(parse_manifest(&write_manifest(wrong).unwrap()).is_err());
        }
    }

    #[test]
    fn packs_both_ways() {
        let mut props = PropList::new();
        props.set("svn:log", b"message".as_slice());
        let file = RevpropPack::write(&[props.clone(), PropList::new()]).unwrap();
        let pack = RevpropPack::read(&file).unwrap();
        assert_eq!(
            (pack.len(), pack.get(0), pack.get(1)),
            (Ok(2), Ok(props.clone()), Ok(PropList::new()))
        );
        assert!(pack.get(2).is_err());
        assert_eq!(parse_file(&write_file(&props)), Ok(props));
    }
}
