//! Patch files, both ways: no hunk gives more lines than it says, and texts in base 85 end.
//! The first byte is how the rest is read.

use std::io::{Cursor, Read};

use sapwood_diff::patch::{How, Hunk, PatchFile, Which};

/// A text that is larger than this is not read to its end.
const LONGEST: u64 = 1 << 20;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let how = How { reverse: flags & 1 != 0, ignore_whitespace: flags & 2 != 0 };
    let mut file = PatchFile::new(Cursor::new(data), how);
    let mut count = 0;
    while let Ok(Some(patch)) = file.next_patch() {
        count += 1;
        assert!(count <= data.len(), "a patch without a line");
        let props = patch.props.values().flat_map(|prop| &prop.hunks);
        for hunk in patch.hunks.iter().chain(props) {
            check(&mut file, hunk);
        }
        if let Some(binary) = &patch.binary {
            for literal in [&binary.before, &binary.after] {
                let mut text = Vec::new();
                let read = file.literal(literal).take(LONGEST).read_to_end(&mut text);
                let len = u64::try_from(text.len()).expect("a length");
                assert!(read.is_err() || len == literal.size.min(LONGEST));
            }
        }
    }
}

fn check(file: &mut PatchFile<Cursor<&[u8]>>, hunk: &Hunk) {
    let mut line = Vec::new();
    for which in [Which::Before, Which::After, Which::All] {
        let mut cursor = hunk.lines(which);
        let mut count = 0;
        while let Ok(Some(end)) = file.line(&mut cursor, &mut line) {
            assert!(!line.contains(&b'\n'));
            assert!(!end.is_empty() || which != Which::All || line.is_empty() || count > 0);
            count += 1;
        }
        if which != Which::All {
            assert!(count <= hunk.side(which).len, "lines of {which:?}");
        }
    }
}
