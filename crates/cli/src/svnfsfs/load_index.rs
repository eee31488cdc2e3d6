//! `svnfsfs load-index`.

use std::io::{BufRead as _, Read as _};

use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_fs::admin::maintenance::MaintenanceOptions;
use sapwood_fs::fsfs::{ItemType, P2lEntry};

use super::dump_index::TYPES;
use crate::command::{Invocation, Runner, Subcommand, name};

/// The longest line, in bytes. What `dump-index` prints has some 60.
const LINE: u64 = 4096;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "load-index",
    aliases: &[],
    help: "usage: svnfsfs load-index REPOS_PATH\n\n\
         Read what dump-index prints and make it the index.\n",
    options: &[name::MEMORY_CACHE_SIZE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let fs = super::open(invocation)?;
    let mut entries = Vec::new();
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LINE).read_until(b'\n', &mut line);
        if read.map_err(|e| SvnError::io(&e, "Can't read stdin"))? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        // The heading says where items start.
        if text.contains("tart") || text.trim().is_empty() {
            continue;
        }
        entries.push(parse(text.trim())?);
    }
    fs.load_index(entries, &MaintenanceOptions::default(), &crate::signals::cancel_token())?;
    Ok(())
}

/// One line: offset, size, type, revision and item, and what follows.
fn parse(line: &str) -> SvnResult<P2lEntry> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let column = |at: usize| {
        columns.get(at).copied().ok_or_else(|| {
            let needed = at.plus(1);
            invalid(format!("{needed} columns needed, {} provided", columns.len()))
        })
    };
    let number = |at: usize, radix: u32| {
        let text = column(at)?;
        u64::from_str_radix(text, radix)
            .map_err(|_| invalid(format!("{text} is not a value HEX string")))
    };
    let (offset, size, item) = (number(0, 16)?, number(1, 16)?, number(4, 10)?);
    let name = column(2)?;
    let item_type = TYPES
        .iter()
        .position(|known| known.trim_end() == name)
        .and_then(|at| ItemType::from_number(u64::try_from(at).ok()?))
        .ok_or_else(|| {
            SvnError::new(ErrorCode::BAD_TOKEN, format!("Unknown item type '{name}'"))
        })?;
    let revision = column(3)?;
    let revision = revision.parse().map(Revnum).map_err(|_| {
        let what = if revision.starts_with('-') { "Negative" } else { "Invalid" };
        SvnError::new(
            ErrorCode::REVNUM_PARSE_FAILURE,
            format!("{what} revision number found parsing '{revision}'"),
        )
    })?;
    Ok(P2lEntry { offset, size, item_type, fnv1: 0, revision, item })
}

fn invalid(message: String) -> SvnError {
    SvnError::new(ErrorCode::INVALID_INPUT, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let entry = parse("   2f  1c0 drep   12   5 00ffee11").unwrap();
        assert_eq!((entry.offset, entry.size, entry.item), (0x2f, 0x1c0, 5));
        assert_eq!((entry.item_type, entry.revision), (ItemType::DirRep, Revnum(12)));
        for (line, sentence) in [
            ("1 2 frep 3", "5 columns needed, 4 provided"),
            ("x 2 frep 3 4", "x is not a value HEX string"),
            ("1 2 frog 3 4", "Unknown item type 'frog'"),
            ("1 2 frep -3 4", "Negative revision number found parsing '-3'"),
        ] {
            assert_eq!(parse(line).unwrap_err().message(), sentence);
        }
    }
}
