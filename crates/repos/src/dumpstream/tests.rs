//! Tests of the reader of dump streams.

use std::io::{BufReader, Cursor};

use proptest::prelude::*;

use super::*;

/// Writes down every call.
#[derive(Default)]
struct Recorder(Vec<String>);

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl DumpVisitor for Recorder {
    fn format_version(&mut self, version: i64) -> SvnResult<()> {
        self.0.push(format!("version {version}"));
        Ok(())
    }
    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()> {
        self.0.push(format!("uuid {}", show(uuid)));
        Ok(())
    }
    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        self.0.push(format!("rev {}", show(headers.get(header::REVISION_NUMBER).unwrap())));
        Ok(())
    }
    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        self.0.push(format!("revprop {}={}", show(name), show(&value)));
        Ok(())
    }
    fn close_revision(&mut self) -> SvnResult<()> {
        self.0.push("close rev".into());
        Ok(())
    }
    fn node(&mut self, headers: &Headers) -> SvnResult<()> {
        self.0.push(format!("node {}", show(headers.get(header::NODE_PATH).unwrap())));
        Ok(())
    }
    fn remove_node_props(&mut self) -> SvnResult<()> {
        self.0.push("no props".into());
        Ok(())
    }
    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        self.0.push(format!("prop {}={}", show(name), show(&value)));
        Ok(())
    }
    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        self.0.push(format!("delprop {}", show(name)));
        Ok(())
    }
    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        let mut all = Vec::new();
        while let Some(piece) = text.next_bytes()? {
            all.extend_from_slice(piece);
        }
        let kind = if text.is_delta() { "delta" } else { "text" };
        self.0.push(format!("{kind} {} {}", text.len(), show(&all)));
        Ok(())
    }
    fn close_node(&mut self) -> SvnResult<()> {
        self.0.push("close node".into());
        Ok(())
    }
}

/// Parses with a tiny buffer, so that pieces end everywhere.
fn run(stream: &[u8]) -> (Vec<String>, SvnResult<()>) {
    let mut recorder = Recorder::default();
    let mut input = BufReader::with_capacity(3, Cursor::new(stream));
    let result = parse(&mut input, &mut recorder, false, &CancelToken::new());
    (recorder.0, result)
}

fn error_of(stream: &str) -> String {
    run(stream.as_bytes()).1.unwrap_err().to_string()
}

const HEAD: &str = "SVN-fs-dump-format-version: 2\n\n";

#[test]
fn version_2_with_everything() {
    let stream = format!(
        "{HEAD}UUID: u-1\n\nRevision-number: 1\nProp-content-length: 21\nContent-length: 21\n\n\
         K 1\na\nV 1\nb\nPROPS-END\n\n\n\
         Node-path: f\nNode-kind: file\nNode-action: add\nProp-content-length: 10\n\
         Text-content-length: 5\nContent-length: 15\n\nPROPS-END\nhello\n\n\
         Node-path: g\nNode-action: delete\n\n\n"
    );
    let (calls, result) = run(stream.as_bytes());
    result.unwrap();
    assert_eq!(
        calls,
        [
            "version 2",
            "uuid u-1",
            "rev 1",
            "revprop a=b",
            "node f",
            "no props",
            "text 5 hello",
            "close node",
            "node g",
            "close node",
            "close rev"
        ]
    );
}

#[test]
fn version_3_deltas() {
    let stream = "SVN-fs-dump-format-version: 3\n\nRevision-number: 1\n\n\
         Node-path: f\nNode-kind: file\nNode-action: change\nProp-delta: true\nText-delta: true\n\
         Prop-content-length: 26\nText-content-length: 4\nContent-length: 30\n\n\
         D 1\nx\nK 1\na\nV 1\nb\nPROPS-END\nSVN\x01\n\n";
    let (calls, result) = run(stream.as_bytes());
    result.unwrap();
    assert_eq!(
        calls,
        [
            "version 3",
            "rev 1",
            "node f",
            "delprop x",
            "prop a=b",
            "delta 4 SVN\u{1}",
            "close node",
            "close rev"
        ]
    );
}

#[test]
fn version_1_finds_the_text_behind_the_properties() {
    let stream = "SVN-fs-dump-format-version: 1\n\nRevision-number: 1\nContent-length: 10\n\n\
         PROPS-END\n\nNode-path: f\nNode-kind: file\nNode-action: add\nContent-length: 13\n\n\
         PROPS-END\nabc\n\nNode-path: e\nNode-kind: file\nNode-action: add\nContent-length: 10\n\n\
         PROPS-END\n\n\nNode-path: d\nNode-kind: dir\nNode-action: add\nContent-length: 10\n\n\
         PROPS-END\n\n";
    let (calls, result) = run(stream.as_bytes());
    result.unwrap();
    let texts: Vec<_> = calls.iter().filter(|c| c.starts_with("text")).collect();
    assert_eq!(texts, ["text 3 abc", "text 0 "]);
}

#[test]
fn sentences_of_the_reference() {
    let cases = [
        ("", "E200003: Premature end of content data in dumpstream"),
        ("foo\n", "E140001: Malformed dumpfile header 'foo'"),
        ("SVN-fs-dump-format-version: 4\n", "E140001: Unsupported dumpfile version: 4"),
        ("SVN-fs-dump-format-version: x\n", "E200004: Could not convert ' x' into a number"),
    ];
    for (stream, message) in cases {
        assert_eq!(error_of(stream), message, "{stream:?}");
    }
    let cases = [
        ("foo\n", "E140001: Dump stream contains a malformed header (with no ':') at 'foo'"),
        ("foo:\n", "E140001: Dump stream contains a malformed header (with no value) at 'foo'"),
        ("foo: x\n\n", "E140001: Unrecognized record type in stream"),
        ("Revision-number: 1\nfoo", "E200003: Premature end of content data in dumpstream"),
        (
            "Revision-number: 1\nProp-content-length: 10\nContent-length: 10\n\nPROPS-EN",
            "E140001: Incomplete or unterminated property block",
        ),
        (
            "Revision-number: 1\nProp-content-length: 10\nContent-length: 9\n\nPROPS-END\n",
            "E140001: Sum of subblock sizes larger than total block content length",
        ),
        (
            "Revision-number: 1\nProp-content-length: 30\n\nK x\n",
            "E200004: Could not convert 'x' into a number",
        ),
        (
            "Revision-number: 1\nProp-content-length: 30\n\nK 1\nab\n",
            "E140001: Dumpstream data appears to be malformed",
        ),
        (
            "Revision-number: 1\nProp-content-length: 30\n\nD 1\na\n",
            "E140001: Dumpstream data appears to be malformed",
        ),
        (
            "Revision-number: 1\nProp-content-length: 30\n\nK 99999999\na\n",
            "E140001: Dumpstream data appears to be malformed",
        ),
        ("Node-path: x\n\n", "E140001: Dumpstream data appears to be malformed"),
    ];
    for (stream, message) in cases {
        assert_eq!(error_of(&format!("{HEAD}{stream}")), message, "{stream:?}");
    }
    let long = format!("{}\n", "x".repeat(81));
    assert!(error_of(&long).ends_with(&format!("header '{}'", "x".repeat(80))));
}

#[test]
fn cancelled() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let mut input = HEAD.as_bytes();
    let error = parse(&mut input, &mut Recorder::default(), false, &cancel).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CANCELLED);
}

proptest! {
    /// Any change of a good stream is read or refused, and never more than it holds is kept.
    #[test]
    fn damaged_streams_end(at in 0usize..400, byte: u8, cut in 0usize..400) {
        let stream = format!(
            "{HEAD}UUID: u-1\n\nRevision-number: 1\nProp-content-length: 21\nContent-length: 21\n\n\
             K 1\na\nV 1\nb\nPROPS-END\n\n\n\
             Node-path: f\nNode-kind: file\nNode-action: add\nProp-content-length: 10\n\
             Text-content-length: 5\nContent-length: 15\n\nPROPS-END\nhello\n\n"
        );
        let mut bytes = stream.into_bytes();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(len - cut % len);
        let (calls, _) = run(&bytes);
        prop_assert!(calls.iter().map(String::len).sum::<usize>() < 3 * len);
    }
}
