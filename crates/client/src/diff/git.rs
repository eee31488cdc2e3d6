//! Headers as git writes them, with paths from the repository's root.

use std::io::Read as _;

use sapwood_core::checksum::Sha1Hasher;
use sapwood_core::props::names;
use sapwood_core::{PropList, Revnum, SvnError, SvnResult};

use super::sides::Text;

/// Bytes of a symbolic link's text that are looked at: more than a system allows for a path.
const LONGEST_LINK: u64 = 64 << 10;

/// What happened to a file.
pub(super) enum Operation<'a> {
    Added,
    Deleted,
    Modified,
    /// From a path in the repository and a revision.
    Copied(&'a str, Option<Revnum>),
    /// From a path.
    Moved(&'a str),
}

/// The lines of a header, and the paths for its labels.
pub(super) struct Header {
    pub(super) lines: Vec<String>,
    pub(super) labels: [String; 2],
}

/// The mode of a file as git has it.
fn mode(props: &PropList) -> u32 {
    let bits = if props.get(names::EXECUTABLE).is_some() { 0o755 } else { 0o644 };
    bits | if props.get(names::SPECIAL).is_some() { 0o120_000 } else { 0o100_000 }
}

pub(super) fn header(
    operation: &Operation<'_>,
    [old, new]: &[String; 2],
    [left, right]: [&PropList; 2],
    hashes: Option<&str>,
) -> Header {
    let source = match operation {
        Operation::Copied(from, _) | Operation::Moved(from) => from,
        _ => old.as_str(),
    };
    let mut lines = vec![format!("diff --git a/{source} b/{new}")];
    match operation {
        Operation::Added => lines.push(format!("new file mode {:06o}", mode(right))),
        Operation::Deleted => lines.push(format!("deleted file mode {:06o}", mode(left))),
        Operation::Modified => {}
        Operation::Copied(from, revision) => {
            let at = revision.map_or(String::new(), |r| format!("@{r}"));
            lines.push(format!("copy from {from}{at}"));
            lines.push(format!("copy to {new}"));
        }
        Operation::Moved(from) => {
            lines.push(format!("rename from {from}"));
            lines.push(format!("rename to {new}"));
        }
    }
    if !matches!(operation, Operation::Added | Operation::Deleted) {
        let (before, after) = (mode(left), mode(right));
        if before != after {
            lines.push(format!("old mode {before:06o}"));
            lines.push(format!("new mode {after:06o}"));
        } else if let Some(hashes) = hashes {
            lines.push(format!("index {hashes} {before:06o}"));
        }
    }
    Header { lines, labels: [format!("a/{source}"), format!("b/{new}")] }
}

/// Makes the text of a symbolic link what git has for it: the bare target. Returns the start of its
/// name in git.
pub(super) fn plain_link(text: &mut Text, props: &PropList) -> SvnResult<Option<String>> {
    if props.get(names::SPECIAL).is_none() {
        return Ok(None);
    }
    let mut whole = Vec::new();
    let read = text.reader()?.take(LONGEST_LINK).read_to_end(&mut whole);
    read.map_err(SvnError::from_stream)?;
    let line = whole.split(|b| *b == b'\n').next().unwrap_or(b"");
    let Some(target) = line.strip_prefix(b"link ").filter(|t| !t.is_empty()) else {
        return Ok(None);
    };
    let target = target.to_vec();
    let mut hasher = Sha1Hasher::new();
    hasher.update(format!("blob {}\0", target.len()).as_bytes());
    hasher.update(&target);
    *text = Text::Memory(target.into());
    let hex = hasher.finish().to_hex();
    Ok(hex.get(..8).map(str::to_owned))
}
