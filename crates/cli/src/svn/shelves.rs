//! What the experimental subcommands of shelves have in common.
//!
//! The variable `SVN_EXPERIMENTAL_COMMANDS` has them, and says in which store: `shelf2` or `shelf3`.

use std::time::SystemTime;

use sapwood_client::shelf::{self, Shelf, Store, Version};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;

use super::Invocation;
use super::given::number;
use super::options::Opt;
use super::out::Out;
use crate::command::usage_error;
use crate::pegs::Part;

/// The end of each help text.
macro_rules! experiment {
    () => {
        "\n  This is an experiment of Subversion 1.14: it is there while SVN_EXPERIMENTAL_COMMANDS names\n  \
         'shelf2' or 'shelf3', and later versions of Subversion may do it in another way.\n"
    };
}

pub(super) use experiment;

/// Names the store, and with it the subcommands.
const VARIABLE: &str = "SVN_EXPERIMENTAL_COMMANDS";

/// The store that the variable names, if it does.
pub(super) fn chosen() -> Option<Store> {
    let value = std::env::var_os(VARIABLE)?;
    let value = value.to_string_lossy();
    match (value.contains("shelf3"), value.contains("shelf2")) {
        (true, _) => Some(Store::V3),
        (false, true) => Some(Store::V2),
        (false, false) => None,
    }
}

/// The store of this run: without it there are no subcommands that ask.
pub(super) fn store() -> Store {
    chosen().unwrap_or(Store::V3)
}

/// Text with spaces after it, as many as make it `width` bytes.
pub(super) fn padded(text: &str, width: usize) -> String {
    let spaces = std::iter::repeat_n(' ', width).skip(text.len());
    text.chars().chain(spaces).collect()
}

/// As much of a text as fits into some bytes.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    let fits = |at: usize, c: char| bytes.checked_sub(at).is_some_and(|left| c.len_utf8() <= left);
    text.char_indices().take_while(|(at, c)| fits(*at, *c)).map(|(_, c)| c).collect()
}

/// A number with a word, which gets an `s` unless there is one of it.
fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// How long ago something was.
fn age(made: SystemTime) -> String {
    let passed = SystemTime::now().duration_since(made);
    let minutes = passed.map_or(0, |passed| passed.as_secs() / 60);
    let text = match minutes {
        0..60 => counted(minutes, "minute"),
        60..1440 => counted(minutes / 60, "hour"),
        _ => counted(minutes / 1440, "day"),
    };
    format!("{text} ago")
}

/// Prints what there is to say of a version; with its message if that is wanted.
pub(super) fn describe(
    invocation: &Invocation,
    shelf: &Shelf,
    version: &Version,
    with_message: bool,
) -> SvnResult<()> {
    let number = match version.number == shelf.newest() {
        true => format!("version {}", version.number),
        false => format!("version {} of {}", version.number, shelf.newest()),
    };
    let paths = shelf::paths(&invocation.ctx, shelf, version)?.len();
    let changed =
        if paths == 1 { "1 path changed".to_owned() } else { format!("{paths} paths changed") };
    let name = padded(shelf.name(), 30);
    invocation.out.text(&format!("{name} {number}, {}, {changed}\n", age(version.made)))?;
    if with_message && let Some(message) = shelf.revprops().get(names::LOG) {
        let message = String::from_utf8_lossy(message);
        invocation.out.text(&format!(" {}\n", cut(&message, 50)))?;
    }
    Ok(())
}

/// Prints all shelves of a working copy.
pub(super) fn print_list(invocation: &Invocation, wc: &WorkingCopy) -> SvnResult<()> {
    let out: &Out = &invocation.out;
    for listed in shelf::list(wc, store())? {
        let shelf = Shelf::open(wc, store(), &listed.name)?;
        let version = shelf.newest_version()?;
        if invocation.has(Opt::Quiet) {
            out.text(&format!("{}\n", shelf.name()))?;
        } else if let Some(version) = version {
            describe(invocation, &shelf, &version, true)?;
        } else {
            out.text(&format!("{} no versions\n", padded(shelf.name(), 30)))?;
        }
    }
    Ok(())
}

/// The version of a shelf that an argument names, else the newest.
pub(super) fn version_of(shelf: &Shelf, word: Option<&str>) -> SvnResult<Version> {
    let Some(word) = word else {
        return shelf.newest_version()?.ok_or_else(|| {
            let message = format!("Shelf '{}': no versions found", shelf.name());
            SvnError::new(ErrorCode::ILLEGAL_TARGET, message)
        });
    };
    let number = number(word)?;
    match u32::try_from(number) {
        Ok(number) => Ok(shelf.version(number)?),
        Err(_) => Err(shelf.no_version(&number.to_string()).into()),
    }
}

/// E205000 when arguments are left.
pub(super) fn no_more(invocation: &Invocation) -> SvnResult<()> {
    if invocation.args.is_empty() { Ok(()) } else { Err(usage_error("Too many arguments")) }
}

/// An argument that need not be there.
pub(super) fn optional(invocation: &mut Invocation) -> SvnResult<Option<String>> {
    if invocation.args.is_empty() { Ok(None) } else { invocation.next_arg().map(Some) }
}

/// The working copies that targets are in, one for each target.
pub(super) fn working_copies(invocation: &mut Invocation) -> SvnResult<Vec<WorkingCopy>> {
    let targets = invocation.targets_or_here()?;
    let folders = invocation.names(Part::Folder, &targets)?;
    folders.iter().map(|folder| shelf::working_copy(&invocation.ctx, folder)).collect()
}

/// Throws a shelf away.
pub(super) fn drop_shelf(invocation: &Invocation, wc: &WorkingCopy, name: &str) -> SvnResult<()> {
    Shelf::open(wc, store(), name)?.delete()?;
    if !invocation.has(Opt::Quiet) {
        invocation.out.text(&format!("deleted '{name}'\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ages_and_widths() {
        let ago = |minutes: u64| age(SystemTime::now() - Duration::from_secs(minutes * 60 + 1));
        for (minutes, text) in [
            (0, "0 minutes ago"),
            (1, "1 minute ago"),
            (59, "59 minutes ago"),
            (60, "1 hour ago"),
            (1439, "23 hours ago"),
            (1440, "1 day ago"),
            (5000, "3 days ago"),
        ] {
            assert_eq!(ago(minutes), text);
        }
        assert_eq!(age(SystemTime::now() + Duration::from_secs(99)), "0 minutes ago");
        assert_eq!(padded("é", 4), "é  ");
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 9), "aé");
    }
}
