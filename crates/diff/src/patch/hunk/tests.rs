//! Hunks of patches as people and programs write them, right and wrong.

use super::*;
use crate::patch::How;

fn read(text: &str, how: How) -> (PatchFile<std::io::Cursor<&str>>, Vec<Patch>) {
    let mut file = PatchFile::new(std::io::Cursor::new(text), how);
    let mut all = Vec::new();
    while let Some(patch) = file.next_patch().unwrap() {
        all.push(patch);
    }
    (file, all)
}

fn text(file: &mut PatchFile<std::io::Cursor<&str>>, hunk: &Hunk, which: Which) -> String {
    let mut cursor = hunk.lines(which);
    let (mut all, mut line) = (Vec::new(), Vec::new());
    while let Some(end) = file.line(&mut cursor, &mut line).unwrap() {
        all.extend_from_slice(&line);
        all.extend_from_slice(end.bytes());
    }
    String::from_utf8(all).unwrap()
}

const PLAIN: &str = "Index: a\n===\n--- a\t(revision 1)\n+++ a\t(working copy)\n\
    @@ -1,3 +1,3 @@ fn\n one\n-two\n+TWO\n three\n\\ No newline at end of file\n\
    @@ -9 +9,2 @@\n nine\n+ten\n\nProperty changes on: a\n___\nAdded: p q\nAdded: p\n\
    ## -0,0 +1 ##\n+value\n\\ No newline at end of property\n\
    Index: b\n===\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y";

#[test]
fn texts_of_both_sides() {
    let (mut file, all) = read(PLAIN, How::default());
    assert_eq!(all.len(), 2);
    let [one, two] = all[0].hunks.as_slice() else { panic!() };
    assert_eq!(text(&mut file, one, Which::Before), "one\ntwo\nthree");
    assert_eq!(text(&mut file, one, Which::After), "one\nTWO\nthree");
    assert_eq!((one.leading, one.trailing), (1, 1));
    assert_eq!(text(&mut file, two, Which::After), "nine\nten\n");
    let prop = &all[0].props["p"];
    assert_eq!(prop.operation, Operation::Added);
    assert_eq!(text(&mut file, &prop.hunks[0], Which::After), "value");
    assert_eq!(text(&mut file, &prop.hunks[0], Which::Before), "");
    assert_eq!(
        text(&mut file, &prop.hunks[0], Which::All),
        "+value\n\\ No newline at end of property\n"
    );
    // Nothing says that the last line has no end: it gets the usual one.
    assert_eq!(text(&mut file, &all[1].hunks[0], Which::After), "y\n");
}

#[test]
fn backwards() {
    let (mut file, all) = read(PLAIN, How { reverse: true, ..How::default() });
    let one = &all[0].hunks[0];
    assert_eq!(text(&mut file, one, Which::Before), "one\nTWO\nthree");
    assert_eq!(text(&mut file, one, Which::After), "one\ntwo\nthree");
    assert!(text(&mut file, one, Which::All).starts_with(" one\n+two\n-TWO\n"));
    assert_eq!(all[0].props["p"].operation, Operation::Deleted);
}

#[test]
fn wrong_numbers_of_lines() {
    let (mut file, all) = read("--- a\n+++ a\n@@ -1,9 +1,1 @@\n one\n+two\n x\n", How::default());
    let hunk = &all[0].hunks[0];
    assert_eq!((hunk.before.len, hunk.before.penalty), (2, 7));
    assert_eq!((hunk.after.len, hunk.after.penalty), (3, 2));
    assert_eq!(text(&mut file, hunk, Which::After), "one\ntwo\nx\n");
}

#[test]
fn spaces_that_were_cut_off() {
    let text_of = |how| {
        let (mut file, all) = read("--- a\n+++ a\n@@ -1,4 +1,4 @@\n\nx\n-y\n+z\n\n", how);
        let hunk = all[0].hunks.first().copied();
        hunk.map(|hunk| text(&mut file, &hunk, Which::After))
    };
    assert_eq!(text_of(How::default()).as_deref(), Some("\n"));
    let how = How { ignore_whitespace: true, ..How::default() };
    assert_eq!(text_of(how).as_deref(), Some("\nx\nz\n\n"));
}

#[test]
fn mergeinfo_for_people_is_left_out() {
    let (_, all) = read(
        "--- .\n+++ .\n\nAdded: svn:mergeinfo\n## -0,0 +0,1 ##\n   Merged /trunk:r2-3\n\
         Added: p\n## -0,0 +1 ##\n+v\n",
        How::default(),
    );
    assert_eq!(all[0].props.keys().collect::<Vec<_>>(), ["p"]);
}

#[test]
fn a_single_line_without_a_text() {
    let (mut file, _) = read("", How::default());
    let hunk = Hunk::of_line("*", true);
    assert_eq!(text(&mut file, &hunk, Which::After), "*");
    assert_eq!(text(&mut file, &hunk, Which::Before), "");
    assert_eq!(text(&mut file, &hunk, Which::All), "+*\n\\ No newline at end of hunk\n");
}

/// Lines of patches in any order: hunks have the lines that they say, or fewer where a text was said to
/// be at its end already.
#[test]
fn lines_in_any_order() {
    const LINES: [&str; 24] = [
        "--- a",
        "+++ b",
        "diff --git a/x b/x",
        "--- a/x",
        "+++ b/x",
        "old mode 100644",
        "new mode 100755",
        "new file mode 100644",
        "rename from x",
        "rename to y",
        "index 1..2",
        "GIT binary patch",
        "literal 3",
        "Kc$~lAH~;_u00jX6",
        "@@ -1,2 +1,3 @@",
        "@@ -3 +0,0 @@",
        "## -0,0 +1 ##",
        "Added: p",
        "Modified: svn:mergeinfo",
        " x",
        "-y",
        "+z",
        "",
        "\\ No newline",
    ];
    use proptest::prelude::*;
    let one = prop::collection::vec(0..LINES.len(), 0..40);
    let ends = prop::sample::select(vec!["\n", "\r\n", "\r", ""]);
    proptest!(|(picked in one, end in ends, reverse: bool, ignore_whitespace: bool)| {
        let all: Vec<&str> = picked.iter().map(|at| LINES[*at]).collect();
        let all = all.join(if end.is_empty() { "\n" } else { end }) + end;
        let how = How { reverse, ignore_whitespace };
        let mut file = PatchFile::new(std::io::Cursor::new(all.as_str()), how);
        let mut line = Vec::new();
        while let Some(patch) = file.next_patch().unwrap() {
            let props = patch.props.values().flat_map(|prop| &prop.hunks);
            for hunk in patch.hunks.iter().chain(props) {
                for which in [Which::Before, Which::After] {
                    let mut cursor = hunk.lines(which);
                    let mut count = 0;
                    while file.line(&mut cursor, &mut line).unwrap().is_some() {
                        count += 1;
                    }
                    let side = hunk.side(which);
                    prop_assert!(count <= side.len);
                    prop_assert!(count == side.len || side.unended);
                }
            }
        }
    });
}
