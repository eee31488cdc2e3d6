//! Three texts: the stretches cover all of them without gaps, what is common is equal, and a merge without marks is
//! made of lines of both sides. The options are the first byte; zero bytes separate the texts.

#[path = "lines.rs"]
mod shared;

use sapwood_diff::{ConflictStyle, Diff3, HunkKind, Labels, Options, Span};
use sapwood_diff::{diff3, diff3_whole, write_merged};
use shared::lines;

const STYLES: [ConflictStyle; 6] = [
    ConflictStyle::ModifiedLatest,
    ConflictStyle::ResolvedModifiedLatest,
    ConflictStyle::ModifiedOriginalLatest,
    ConflictStyle::Modified,
    ConflictStyle::Latest,
    ConflictStyle::OnlyConflicts,
];

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let mut texts = data.splitn(3, |byte| *byte == 0);
    let (Some(original), Some(modified), Some(latest)) = (texts.next(), texts.next(), texts.next())
    else {
        return;
    };
    let options = Options {
        ignore_space: shared::ignore_space(*flags),
        ignore_eol_style: flags & 4 != 0,
        ..Options::default()
    };
    for diff in [
        diff3(&options, original, modified, latest),
        diff3_whole(&options, original, modified, latest),
    ] {
        check(&diff, [original, modified, latest].map(lines));
        if *flags & 7 == 0 {
            merge(&diff, (original, modified, latest));
        }
    }
}

/// The stretches follow each other to the ends of all three.
fn check(diff: &Diff3, lengths: [usize; 3]) {
    let mut at = [0; 3];
    for hunk in &diff.hunks {
        for (at, span) in at.iter_mut().zip([hunk.original, hunk.modified, hunk.latest]) {
            assert_eq!(span.start, *at, "{diff:?}");
            *at += span.len;
        }
        let same = |a: Span, b: Span| assert_eq!(a.len, b.len, "{hunk:?}");
        match hunk.kind {
            HunkKind::Common => {
                same(hunk.original, hunk.modified);
                same(hunk.original, hunk.latest);
            }
            HunkKind::Modified => same(hunk.original, hunk.latest),
            HunkKind::Latest => same(hunk.original, hunk.modified),
            HunkKind::Both => same(hunk.modified, hunk.latest),
            HunkKind::Conflict(_) => {}
        }
    }
    assert_eq!(at, lengths, "{diff:?}");
}

/// Merged texts in every style.
fn merge(diff: &Diff3, texts: (&[u8], &[u8], &[u8])) {
    let labels = Labels { modified: "<<<", original: "|||", separator: "===", latest: ">>>" };
    let merged = STYLES.map(|style| {
        let mut out = Vec::new();
        write_merged(&mut out, diff, texts, &labels, style).expect("memory takes all");
        out
    });
    let (original, modified, latest) = texts;
    if !diff.has_conflicts() {
        assert!(merged[..5].iter().all(|text| *text == merged[0]), "nothing to mark");
    }
    if original == modified {
        assert_eq!(merged[0], latest, "only the latest text differs");
    } else if original == latest {
        assert_eq!(merged[0], modified, "only the modified text differs");
    }
}
