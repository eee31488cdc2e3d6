//! A stream read ahead says the same as one that is read in place, and ends early when it is given up.

use super::*;

/// Records the calls that it gets.
#[derive(Default)]
struct Notes(Vec<String>);

impl DumpVisitor for Notes {
    fn format_version(&mut self, version: i64) -> SvnResult<()> {
        self.0.push(format!("version {version}"));
        Ok(())
    }
    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()> {
        self.0.push(format!("uuid {}", uuid.len()));
        Ok(())
    }
    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        self.0.push(format!("revision {headers:?}"));
        Ok(())
    }
    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        self.0.push(format!("revision prop {name:?} {value:?}"));
        Ok(())
    }
    fn close_revision(&mut self) -> SvnResult<()> {
        self.0.push("close revision".into());
        Ok(())
    }
    fn node(&mut self, headers: &Headers) -> SvnResult<()> {
        self.0.push(format!("node {headers:?}"));
        Ok(())
    }
    fn remove_node_props(&mut self) -> SvnResult<()> {
        self.0.push("remove".into());
        Ok(())
    }
    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        self.0.push(format!("prop {name:?} {value:?}"));
        Ok(())
    }
    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        self.0.push(format!("delete {name:?}"));
        Ok(())
    }
    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        let mut whole = Vec::new();
        if text.len().is_multiple_of(2) {
            while let Some(bytes) = text.next_bytes()? {
                whole.extend_from_slice(bytes);
            }
        } // the others are left to be skipped
        if let Some(known) = text.take_known()
            && !whole.is_empty()
        {
            assert_eq!((known.md5, known.sha1), (Md5::of(&whole), Sha1::of(&whole)));
        }
        self.0.push(format!("text {} {}", text.len(), Md5::of(&whole)));
        Ok(())
    }
    fn close_node(&mut self) -> SvnResult<()> {
        self.0.push("close node".into());
        Ok(())
    }
}

impl Patient for Notes {
    fn idle(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

fn stream() -> Vec<u8> {
    let mut out = b"SVN-fs-dump-format-version: 2\n\nUUID: x\n\n".to_vec();
    for revision in 0..3 {
        let props = "K 1\na\nV 1\nb\nPROPS-END\n";
        out.extend_from_slice(
            format!(
                "Revision-number: {revision}\nProp-content-length: {0}\nContent-length: {0}\n\n{props}\n",
                props.len()
            )
            .as_bytes(),
        );
        for (at, len) in [0, 10, 11, 5000, 700_000, 1_300_000, 3_000_001].iter().enumerate() {
            out.extend_from_slice(
                format!(
                    "Node-path: f{at}\nNode-kind: file\nNode-action: add\n\
                     Text-content-length: {len}\nContent-length: {len}\n\n"
                )
                .as_bytes(),
            );
            out.extend((0..*len).map(|n: u32| n.to_le_bytes()[usize::from(revision == 1)]));
            out.extend_from_slice(b"\n\n");
        }
    }
    out
}

fn compare(stream: &[u8]) {
    let cancel = CancelToken::new();
    let (mut plain, mut ahead) = (Notes::default(), Notes::default());
    let mut input = stream;
    let one = dumpstream::parse(&mut input, &mut plain, false, &cancel);
    let owned = io::Cursor::new(stream.to_vec());
    let other = parse_ahead(Box::new(owned), &mut ahead, None, &cancel);
    let sentence = |r: SvnResult<()>| r.map_err(|e| (e.code(), e.message().to_owned()));
    assert_eq!(sentence(one), sentence(other));
    // A text that breaks off is reported before it is complete.
    assert_eq!(plain.0, ahead.0);
}

#[test]
fn the_same_things_in_the_same_order() {
    let stream = stream();
    compare(&stream);
    for cut in [0, 5, 40, 60, 100, 5000, 100_000, 1_000_000, 3_000_000, stream.len() - 1] {
        compare(&stream[..cut]);
    }
}

/// A visitor that gives up does not wait for the rest of the stream.
#[test]
fn giving_up_early() {
    struct Endless(Vec<u8>, usize);
    impl Read for Endless {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let left = self.0.get(self.1..).unwrap_or_default();
            let mut left = if left.is_empty() { &b"\n"[..] } else { left };
            let got = left.read(buf)?;
            self.1 += got;
            Ok(got)
        }
    }
    struct GivesUp;
    impl DumpVisitor for GivesUp {
        fn format_version(&mut self, _: i64) -> SvnResult<()> {
            Err(SvnError::new(ErrorCode::CANCELLED, "enough"))
        }
        fn uuid(&mut self, _: &[u8]) -> SvnResult<()> {
            Ok(())
        }
        fn revision(&mut self, _: &Headers) -> SvnResult<()> {
            Ok(())
        }
        fn revision_prop(&mut self, _: &[u8], _: Vec<u8>) -> SvnResult<()> {
            Ok(())
        }
        fn close_revision(&mut self) -> SvnResult<()> {
            Ok(())
        }
        fn node(&mut self, _: &Headers) -> SvnResult<()> {
            Ok(())
        }
        fn remove_node_props(&mut self) -> SvnResult<()> {
            Ok(())
        }
        fn node_prop(&mut self, _: &[u8], _: Vec<u8>) -> SvnResult<()> {
            Ok(())
        }
        fn delete_node_prop(&mut self, _: &[u8]) -> SvnResult<()> {
            Ok(())
        }
        fn text(&mut self, _: &mut TextBlock<'_>) -> SvnResult<()> {
            Ok(())
        }
        fn close_node(&mut self) -> SvnResult<()> {
            Ok(())
        }
    }
    impl Patient for GivesUp {
        fn idle(&mut self) -> SvnResult<()> {
            Ok(())
        }
    }
    let input = Box::new(io::BufReader::new(Endless(stream(), 0)));
    let error = parse_ahead(input, &mut GivesUp, None, &CancelToken::new()).unwrap_err();
    assert_eq!(error.message(), "enough");
}
