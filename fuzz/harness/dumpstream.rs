//! Dump streams: read with a small buffer; what is handed on is never more than what came in. And
//! through the filter: what it lets pass is a stream again.

use std::io::BufReader;

use sapwood_core::{CancelToken, SvnResult};
use sapwood_repos::dump_filter::{DumpFilter, FilterOptions, FilterSummary};
use sapwood_repos::dumpstream::{DumpVisitor, Headers, TextBlock, parse};

/// Counts the bytes that it is handed.
#[derive(Default)]
struct Counter(usize);

impl DumpVisitor for Counter {
    fn format_version(&mut self, _: i64) -> SvnResult<()> {
        Ok(())
    }
    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()> {
        self.0 += uuid.len();
        Ok(())
    }
    fn revision(&mut self, _: &Headers) -> SvnResult<()> {
        Ok(())
    }
    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        self.0 += name.len() + value.len();
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
    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        self.0 += name.len() + value.len();
        Ok(())
    }
    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        self.0 += name.len();
        Ok(())
    }
    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        // Every other text is left to the parser to skip.
        if text.len() % 2 == 0 {
            while let Some(piece) = text.next_bytes()? {
                assert!(!piece.is_empty());
                self.0 += piece.len();
            }
        }
        Ok(())
    }
    fn close_node(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let cancel = CancelToken::new();
    let mut counter = Counter::default();
    let mut input = BufReader::with_capacity(7, data);
    let _ = parse(&mut input, &mut counter, false, &cancel);
    assert!(counter.0 <= data.len());

    let options = FilterOptions {
        prefixes: vec![b"/a".to_vec()],
        exclude: true,
        drop_empty_revs: data.len().is_multiple_of(2),
        renumber_revs: true,
        ..FilterOptions::default()
    };
    let mut out = Vec::new();
    let mut notify = |_, _| {};
    let mut filter = DumpFilter::new(options, &mut out, &mut notify);
    if parse(&mut &data[..], &mut filter, true, &cancel).is_ok() {
        let _: FilterSummary = filter.finish();
        parse(&mut out.as_slice(), &mut Counter::default(), true, &cancel)
            .expect("what the filter lets pass can be read");
    }
}
