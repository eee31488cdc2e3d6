//! Tests of the dump filter.

use sapwood_core::CancelToken;

use super::*;
use crate::dumpstream;

const STREAM: &str = "SVN-fs-dump-format-version: 2\n\nUUID: u\n\n\
Revision-number: 0\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n\
Revision-number: 1\nProp-content-length: 50\nContent-length: 50\n\n\
K 8\nsvn:date\nV 4\n2026\nK 7\nsvn:log\nV 1\nx\nPROPS-END\n\n\
Node-path: a\nNode-kind: file\nNode-action: add\nText-content-length: 2\nContent-length: 2\n\nhi\n\n\
Revision-number: 2\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n\
Node-path: b\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: 1\nNode-copyfrom-path: a\n\n\n";

fn options(exclude: bool, prefix: &str) -> FilterOptions {
    FilterOptions { exclude, prefixes: vec![prefix.into()], ..FilterOptions::default() }
}

fn filter(stream: &str, options: FilterOptions) -> SvnResult<(String, FilterSummary)> {
    let mut out = Vec::new();
    let mut notify = |_, _| {};
    let mut filter = DumpFilter::new(options, &mut out, &mut notify);
    dumpstream::parse(&mut stream.as_bytes(), &mut filter, true, &CancelToken::new())?;
    let summary = filter.finish();
    Ok((String::from_utf8(out).unwrap(), summary))
}

#[test]
fn prefixes_match_whole_components() {
    let by = |exclude, prefix: &str, path: &str| options(exclude, prefix).drops(path.as_bytes());
    assert!(by(true, "/a", "/a"));
    assert!(by(true, "/a", "/a/b"));
    assert!(!by(true, "/a", "/ab"));
    assert!(by(true, "/", "/ab"));
    assert!(by(false, "/a", "/ab"));
    let glob = FilterOptions { patterns: true, ..options(true, "/*b") };
    assert!(glob.drops(b"/a/xb"));
}

#[test]
fn nothing_dropped_is_the_same_stream() {
    let (out, summary) = filter(STREAM, options(true, "/zz")).unwrap();
    // A node without content gets a length of 0, and every node two newlines, as in the reference.
    assert_eq!(out, STREAM.replace("path: a\n\n\n", "path: a\nContent-length: 0\n\n\n\n"));
    assert_eq!(summary.dropped_revisions, 0);
}

#[test]
fn padding_and_dropping() {
    let (out, _) = filter(STREAM, options(true, "/b")).unwrap();
    assert!(out.contains("This is an empty revision for padding."));
    let renumber =
        FilterOptions { drop_empty_revs: true, renumber_revs: true, ..options(true, "/b") };
    let (out, summary) = filter(STREAM, renumber).unwrap();
    assert!(!out.contains("Revision-number: 2"));
    assert_eq!(summary.renumbered[&1], Outcome::Written(1));
    assert_eq!(summary.renumbered[&2], Outcome::Dropped(Some(1)));
    assert_eq!(summary.dropped_nodes.len(), 1);
}

#[test]
fn copies_of_dropped_paths() {
    let error = filter(STREAM, options(true, "/a")).unwrap_err();
    assert_eq!(error.to_string(), "E200003: Invalid copy source path '/a' for '/b'");
    let with_text = STREAM.replace(
        "Node-copyfrom-path: a\n\n\n",
        "Node-copyfrom-path: a\nText-content-length: 1\nContent-length: 1\n\nz\n\n",
    );
    let (out, _) = filter(&with_text, options(true, "/a")).unwrap();
    assert!(!out.contains("copyfrom"));
    assert!(
        out.contains("Node-path: b\nNode-kind: file\nNode-action: add\nText-content-length: 1\n")
    );
}

#[test]
fn mergeinfo_of_dropped_sources_and_new_numbers() {
    let with_mergeinfo = |value: &str| {
        let block = format!("K 13\nsvn:mergeinfo\nV {}\n{value}\nPROPS-END\n", value.len());
        format!(
            "{STREAM}Revision-number: 3\n\nNode-path: c\nNode-kind: dir\nNode-action: add\n\
             Prop-content-length: {0}\nContent-length: {0}\n\n{block}\n\n",
            block.len()
        )
    };
    let error = filter(&with_mergeinfo("/b:2"), options(true, "/b")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "E200003: Missing merge source path '/b'; try with --skip-missing-merge-sources"
    );
    let skip = FilterOptions { skip_missing_merge_sources: true, ..options(true, "/b") };
    let (out, _) = filter(&with_mergeinfo("/b:2\n/a:1-3"), skip).unwrap();
    assert!(out.contains("V 6\n/a:2-3\n"), "{out}");
    let renumber =
        FilterOptions { drop_empty_revs: true, renumber_revs: true, ..options(true, "/b") };
    let error = filter(&with_mergeinfo("/a:2"), renumber.clone()).unwrap_err();
    assert_eq!(error.message(), "bad range {start=1,end=1,inheritable=1}");
    let error = filter(&with_mergeinfo("/a:9"), renumber).unwrap_err();
    assert_eq!(error.message(), "No valid revision range 'start' in filtered stream");
}
