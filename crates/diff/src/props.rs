//! Property diffs, as `svn diff` and `svnlook diff` print them below a file's own diff.

use sapwood_core::PropList;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names;

use crate::UNDER_LINE;
use crate::compare::compare_whole;
use crate::options::Options;
use crate::unified::{Style, write_hunks};

/// Appends the heading of the property diffs of one node.
pub fn write_heading(out: &mut Vec<u8>, path: &str) {
    out.extend_from_slice(b"\nProperty changes on: ");
    out.extend_from_slice(path.as_bytes());
    out.push(b'\n');
    out.extend_from_slice(UNDER_LINE.as_bytes());
    out.push(b'\n');
}

/// Appends the diffs of all properties that differ, in the order of their names. With
/// `pretty_mergeinfo` (which `svn diff` asks for and `svnlook diff` does not), `svn:mergeinfo` is
/// shown as what was merged. `context` is the number of context lines.
pub fn write_changes(
    out: &mut Vec<u8>,
    old: &PropList,
    new: &PropList,
    pretty_mergeinfo: bool,
    context: usize,
) {
    for (name, value) in old.diff_to(new) {
        write_change(out, &name, old.get(&name), value.as_deref(), pretty_mergeinfo, context);
    }
}

/// Appends the diff of one property that was added (no `old`), deleted (no `new`) or modified.
/// Nothing is appended when there is no difference.
fn write_change(
    out: &mut Vec<u8>,
    name: &str,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
    pretty_mergeinfo: bool,
    context: usize,
) {
    let action = match (old, new) {
        _ if old == new => return,
        (None, _) => "Added",
        (_, None) => "Deleted",
        _ => "Modified",
    };
    out.extend_from_slice(format!("{action}: {name}\n").as_bytes());
    let (old, new) = (old.unwrap_or(&[]), new.unwrap_or(&[]));
    if pretty_mergeinfo && name == names::MERGEINFO && write_mergeinfo(out, old, new).is_some() {
        return;
    }
    let options = Options { context, ..Options::default() };
    let diff = compare_whole(&options, old, new);
    write_hunks(&diff, &options, Style::Property, old, new, out);
}

/// `None`, with nothing appended, when a value is not mergeinfo.
fn write_mergeinfo(out: &mut Vec<u8>, old: &[u8], new: &[u8]) -> Option<()> {
    let old = Mergeinfo::parse(old).ok()?;
    let new = Mergeinfo::parse(new).ok()?;
    let (deleted, added) = Mergeinfo::diff(&old, &new, true);
    let counts = format!("## -0,{} +0,{} ##\n", deleted.0.len(), added.0.len());
    out.extend_from_slice(counts.as_bytes());
    for (word, changes) in [("Reverse-merged", &deleted), ("Merged", &added)] {
        for (path, ranges) in &changes.0 {
            out.extend_from_slice(format!("   {word} {path}:r{ranges}\n").as_bytes());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, old: Option<&str>, new: Option<&str>) -> String {
        let mut out = Vec::new();
        write_change(&mut out, name, old.map(str::as_bytes), new.map(str::as_bytes), true, 3);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn added_deleted_modified() {
        assert_eq!(
            change("p", None, Some("v")),
            "Added: p\n## -0,0 +1 ##\n+v\n\\ No newline at end of property\n"
        );
        assert_eq!(change("p", Some("v\n"), None), "Deleted: p\n## -1 +0,0 ##\n-v\n");
        assert_eq!(
            change("p", Some("a\nb\n"), Some("a\nc\n")),
            "Modified: p\n## -1,2 +1,2 ##\n a\n-b\n+c\n"
        );
        assert_eq!(change("p", Some("a"), Some("a")), "");
        assert_eq!(change("p", None, Some("")), "Added: p\n");
    }

    #[test]
    fn mergeinfo_in_words() {
        assert_eq!(
            change("svn:mergeinfo", Some("/a:1-3"), Some("/a:2-5\n/b:7")),
            "Modified: svn:mergeinfo\n## -0,1 +0,2 ##\n   Reverse-merged /a:r1\n   \
             Merged /a:r4-5\n   Merged /b:r7\n"
        );
        assert!(change("svn:mergeinfo", None, Some("junk")).contains("+junk"));
    }

    #[test]
    fn a_whole_node() {
        let list = |pairs: &[(&str, &str)]| -> PropList {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect()
        };
        let mut out = Vec::new();
        write_heading(&mut out, "trunk/f");
        let (old, new) = (list(&[("a", "1\n"), ("b", "2\n")]), list(&[("b", "2\n"), ("c", "3\n")]));
        write_changes(&mut out, &old, &new, false, 3);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\nProperty changes on: trunk/f\n____"));
        assert!(text.ends_with("_\nDeleted: a\n## -1 +0,0 ##\n-1\nAdded: c\n## -0,0 +1 ##\n+3\n"));
    }
}
