//! One file through thousands of revisions.
//!
//! The text is kept in memory as lines, because reading it back for each of 14,000 revisions would
//! take longer than writing it.

use sapwood_core::FsPath;
use sapwood_core::SvnResult;
use sapwood_core::exact::Exact;

use super::build::{Build, add_file};

/// Bytes of the text at first, more or less.
const FIRST: usize = 1 << 20;
/// The same at the end.
const LAST: usize = 3 << 20;
const PATH: &str = "/trunk/settings.xml";

/// Writes the history.
pub(super) fn write(build: &mut Build<'_, '_>) -> SvnResult<()> {
    let mut lines: Vec<String> = Vec::new();
    let mut bytes: usize = 0;
    while bytes < FIRST {
        let line = entry(build);
        bytes = bytes.plus(line.len());
        lines.push(line);
    }
    let mut txn = build.begin()?;
    txn.make_dir(FsPath::new("/trunk")?)?;
    add_file(&mut txn, PATH, lines.concat().as_bytes())?;
    build.commit(txn, "dev0", "The settings.")?;
    while build.goes_on() {
        let grown = (LAST - FIRST).times(build.youngest());
        let wanted = FIRST.plus(grown.checked_div(build.revisions()).unwrap_or(0));
        for _ in 0..build.rng.between(1, 3) {
            let new = entry(build);
            let at = build.rng.below(lines.len());
            match lines.get_mut(at) {
                Some(line) if bytes >= wanted => {
                    bytes = bytes.minus(line.len());
                    *line = new;
                }
                _ => lines.insert(at, new),
            }
            bytes = bytes.plus(lines.get(at).map_or(0, String::len));
        }
        // As many lines as it takes to grow, in one place.
        let at = build.rng.below(lines.len());
        let mut more = Vec::new();
        while bytes < wanted {
            let line = entry(build);
            bytes = bytes.plus(line.len());
            more.push(line);
        }
        lines.splice(at..at, more);
        let mut txn = build.begin()?;
        txn.set_text(FsPath::new(PATH)?, &mut lines.concat().as_bytes(), None)?;
        build.commit_some(txn, 40)?;
    }
    Ok(())
}

/// One line of settings.
fn entry(build: &mut Build<'_, '_>) -> String {
    let (key, value) = (build.rng.draw(), build.rng.line());
    format!("  <entry key=\"{key:016x}\" value=\"{}\"/>\n", value.trim())
}
