//! `svnadmin lslocks`.

use sapwood_core::Lock;
use sapwood_core::exact::Exact;
use sapwood_core::{Depth, SvnResult, path};

use crate::command::{Invocation, Runner, Subcommand, usage_error};
use crate::user_date;

/// The description of a lock: the same words everywhere, except for the lines before it.
pub(crate) fn describe(lock: &Lock) -> String {
    let expires = lock.expires.map_or(String::new(), user_date::human);
    let comment = lock.comment.as_deref();
    let lines = comment.map_or(0, |comment| count_lines(comment.as_bytes()));
    format!(
        "UUID Token: {}\nOwner: {}\nCreated: {}\nExpires: {expires}\nComment ({lines} {}):\n{}\n",
        lock.token,
        lock.owner,
        user_date::human(lock.created),
        if lines == 1 { "line" } else { "lines" },
        comment.unwrap_or(""),
    )
}

/// The number of lines as the reference counts them: line ends, and one.
pub(crate) fn count_lines(comment: &[u8]) -> usize {
    let ends = comment.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
    let pairs = comment.iter().zip(comment.iter().skip(1));
    let pairs = pairs.filter(|(a, b)| (**a == b'\r') & (**b == b'\n')).count();
    ends.minus(pairs).plus(1)
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "lslocks",
    aliases: &[],
    help: "usage: svnadmin lslocks REPOS_PATH [PATH-IN-REPOS]\n\n\
         Describe all locks at and below a path of the repository (its root).\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(0, usize::MAX)?;
    let target = match args.as_slice() {
        [] => "/",
        [one] => one.as_str(),
        _ => {
            return Err(usage_error("Too many arguments given"));
        }
    };
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let mut locks = repository.fs().locks(&crate::repo::fs_path(target)?, Depth::Infinity)?;
    locks.sort_by(|a, b| path::compare(&a.path, &b.path));
    for lock in &locks {
        invocation.out.text(&format!("Path: {}\n{}\n", lock.path, describe(lock)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_counts() {
        for (comment, want) in [("", 1), ("a", 1), ("a\n", 2), ("a\r\nb\rc", 3)] {
            assert_eq!(count_lines(comment.as_bytes()), want);
        }
    }
}
