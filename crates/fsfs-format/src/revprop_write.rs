//! Writing packed revision properties: pack files, and the manifest that names them (format 6 and
//! later).
//!
//! What is written here is what [`RevpropPack`](crate::revprops::RevpropPack) and
//! [`RevpropManifest`](crate::revprops::RevpropManifest) read: pack files hold consecutive
//! revisions, and every revision of a shard (but revision 0) has one line in its manifest.

use sapwood_core::{Cut, Exact, len64};
use std::ops::Range;

use flate2::{Compress, Compression, FlushCompress, Status};
use sapwood_core::Revnum;

use crate::text;

/// The zlib level of compressed packs.
pub const LEVEL: u32 = 5;

/// Shorter packs are not worth zlib's header, and the reference stores them as they are.
const ZLIB_MIN: usize = 512;
/// What the reference counts for a number in a pack's header, in bytes.
const NUMBER_LEN: u64 = 21;

/// The name of the pack file that begins with `first`. A change that fits is put into the pack's
/// place; one that divides the pack gives its parts a new `counter`, so that no name ever stands
/// for two ranges of revisions.
#[must_use]
pub fn pack_name(first: Revnum, counter: u64) -> String {
    format!("{first}.{counter}")
}

/// The counter in the name of a pack file.
#[must_use]
pub fn counter_of(name: &str) -> Option<u64> {
    let (_, counter) = name.split_once('.')?;
    text::number(counter.as_bytes())
}

/// Divides revisions among pack files: `sizes` are the bytes of their hash dumps, in order, and
/// no pack gets more than one of them beyond `limit` bytes (expanded, as the reference counts).
/// The ranges are places in `sizes`.
#[must_use]
pub fn divide(sizes: &[u64], limit: u64) -> Vec<Range<usize>> {
    let limit = limit.max(1);
    let header = NUMBER_LEN.times(2);
    let mut ranges = Vec::new();
    let (mut start, mut total) = (0, header);
    for (at, size) in sizes.iter().enumerate() {
        let with = total.plus(NUMBER_LEN).plus(*size);
        if at > start && with > limit {
            ranges.push(start..at);
            start = at;
            total = header;
        }
        total = total.plus(NUMBER_LEN).plus(*size);
    }
    if start < sizes.len() {
        ranges.push(start..sizes.len());
    }
    ranges
}

/// Divides the revisions of a pack file after one of them, at place `changed`, got another size:
/// all in one while that is below `limit` bytes; else in two of about the same size, or before
/// and after the changed one if one part would still be too large. As the reference does it.
#[must_use]
pub fn divide_again(sizes: &[u64], changed: usize, limit: u64) -> Vec<Range<usize>> {
    let count = sizes.len();
    let header = NUMBER_LEN.times(2);
    let total = sizes.iter().fold(header, |total, size| total.plus(NUMBER_LEN).plus(*size));
    if total < limit || count <= 1 {
        let whole = 0..count;
        return vec![whole];
    }
    let size = |at: usize| sizes.get(at).copied().unwrap_or(0);
    let (mut left, mut right) = (0usize, count);
    let (mut left_size, mut right_size) = (header, header);
    while left < right {
        let last = right.minus(1);
        if left_size.plus(size(left)) < right_size.plus(size(last)) {
            left_size = left_size.plus(size(left)).plus(NUMBER_LEN);
            left += 1;
        } else {
            right_size = right_size.plus(size(last)).plus(NUMBER_LEN);
            right = last;
        }
    }
    let after = changed.plus(1).min(count);
    let parts = if left_size > limit || right_size > limit {
        vec![0..changed, changed..after, after..count]
    } else {
        vec![0..left, left..count]
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// Appends the contents of the pack file for consecutive revisions from `first` on, whose hash
/// dumps are `dumps`; compressed with zlib if asked to, and if that helps.
pub fn write_pack<'a>(
    first: Revnum,
    dumps: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    compress: bool,
    out: &mut Vec<u8>,
) {
    let mut text = Vec::new();
    text::push_display(format_args!("{first}\n{}\n", dumps.len()), &mut text);
    for dump in dumps.clone() {
        text::push_number(len64(dump.len()), &mut text);
        text.push(b'\n');
    }
    text.push(b'\n');
    for dump in dumps {
        text.extend_from_slice(dump);
    }
    push_len(text.len(), out);
    let packed = if compress { deflate(&text) } else { None };
    out.extend_from_slice(packed.as_deref().unwrap_or(&text));
}

/// Appends a manifest: for each pack file its name and how many revisions it holds.
pub fn write_manifest<'a>(packs: impl IntoIterator<Item = (&'a str, u64)>, out: &mut Vec<u8>) {
    for (name, count) in packs {
        for _ in 0..count {
            out.extend_from_slice(name.as_bytes());
            out.push(b'\n');
        }
    }
}

/// The length in the form of svndiff: seven bits a byte, the highest first.
fn push_len(len: usize, out: &mut Vec<u8>) {
    let mut groups = [0u8; 10];
    let mut used = 0usize;
    let mut left = len;
    for group in groups.iter_mut().rev() {
        let more = if used == 0 { 0 } else { 0x80 };
        *group = u8::try_from(left & 0x7f).unwrap_or(0) | more;
        used += 1;
        left >>= 7;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(groups.tail(groups.len().minus(used)));
}

/// `None` unless the result is shorter.
fn deflate(data: &[u8]) -> Option<Vec<u8>> {
    if data.len() < ZLIB_MIN {
        return None;
    }
    // Room for less than the data itself, so that what does not help does not fit.
    let mut out = Vec::with_capacity(data.len().minus(1));
    let mut deflate = Compress::new(Compression::new(LEVEL), true);
    let status = deflate.compress_vec(data, &mut out, FlushCompress::Finish).ok()?;
    (status == Status::StreamEnd && out.len() < data.len()).then_some(out)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one part is a case like two")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::revprops::{RevpropManifest, RevpropPack};

    #[test]
    fn dividing_as_the_reference() {
        // 2 * 21 for the header, 21 for each size.
        assert_eq!(divide(&[100, 100, 100], 42 + 3 * 121), [0..3]);
        assert_eq!(divide(&[100, 100, 100], 42 + 3 * 121 - 1), [0..2, 2..3]);
        assert_eq!(divide(&[100, 9000, 100], 500), [0..1, 1..2, 2..3]);
        assert_eq!(divide(&[1, 1], 0), [0..1, 1..2]);
        assert_eq!(divide(&[], 500), Vec::<Range<usize>>::new());
    }

    #[test]
    fn dividing_what_has_grown() {
        assert_eq!(divide_again(&[100, 100, 100], 0, 42 + 3 * 121 + 1), [0..3]);
        assert_eq!(divide_again(&[100, 100, 100], 0, 42 + 3 * 121), [0..1, 1..3]);
        assert_eq!(divide_again(&[100, 9000, 100], 1, 500), [0..1, 1..2, 2..3]);
        assert_eq!(divide_again(&[9000, 100, 100], 0, 500), [0..1, 1..3]);
        assert_eq!(divide_again(&[100, 100, 9000], 2, 500), [0..2, 2..3]);
        assert_eq!(divide_again(&[9000], 0, 500), [0..1]);
    }

    #[test]
    fn names() {
        assert_eq!(pack_name(Revnum(1000), 3), "1000.3");
        assert_eq!(counter_of("1000.3"), Some(3));
        assert_eq!((counter_of("1000"), counter_of("1.x")), (None, None));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            dumps in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..40),
            repeat in 1usize..4,
            compress in any::<bool>(),
            limit in 0u64..4000,
        ) {
            let dumps: Vec<Vec<u8>> = dumps.iter().map(|d| d.repeat(repeat)).collect();
            let sizes: Vec<u64> = dumps.iter().map(|d| u64::try_from(d.len()).unwrap()).collect();
            let count = u64::try_from(dumps.len()).unwrap();
            let mut packs = Vec::new();
            for range in divide(&sizes, limit) {
                let first = Revnum(1000 + u64::try_from(range.start).unwrap());
                let mut bytes = Vec::new();
                let part = dumps[range.clone()].iter().map(Vec::as_slice);
                write_pack(first, part, compress, &mut bytes);
                let pack = RevpropPack::parse(&bytes).unwrap();
                prop_assert_eq!((pack.first_revision(), pack.len()), (first, range.len()));
                for (revision, dump) in (first.0..).zip(&dumps[range.clone()]) {
                    prop_assert_eq!(pack.get(Revnum(revision)), Some(dump.as_slice()));
                }
                packs.push((pack_name(first, 0), u64::try_from(range.len()).unwrap()));
            }
            let mut bytes = Vec::new();
            write_manifest(packs.iter().map(|(name, n)| (name.as_str(), *n)), &mut bytes);
            let manifest = RevpropManifest::parse(&bytes, Revnum(1000), count).unwrap();
            let found: Vec<(String, u64)> =
                manifest.packs().map(|(name, r)| (name.to_owned(), r.end - r.start)).collect();
            prop_assert_eq!(found, packs);
        }
    }
}
