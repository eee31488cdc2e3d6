//! Path rules for measurements: an authz file as a company has it, with some hundred sections for
//! groups of users, and a few directories that are hidden from the reader who measures.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sapwood_core::FsPath;
use sapwood_core::exact::Exact;
use sapwood_core::{NodeKind, SvnError, SvnResult, path};
use sapwood_fs::{Caches, OpenOptions, Root};
use sapwood_repos::Repository;

use crate::axes::Rules;

/// The number of sections, if there are as many directories.
const SECTIONS: usize = 300;
/// One section in this number hides its directory from all users without a group.
const HIDDEN: usize = 15;
/// Directories that are looked at.
const MOST: usize = 50_000;
/// The cache for looking, in bytes.
const CACHE: usize = 16 << 20;

/// The files of rules.
#[derive(Debug)]
pub(crate) struct Files {
    /// A `svnserve.conf` that names the rules.
    pub(crate) config: PathBuf,
    /// The rules.
    pub(crate) authz: PathBuf,
}

/// The files that make a server apply `rules` to the repository at `path`. `tree` and `file` are
/// what is requested: neither they nor what they are in is hidden.
///
/// # Errors
/// When the repository cannot be read or the files not be written.
pub(crate) fn files(rules: Rules, path: &Path, tree: &str, file: &str) -> SvnResult<Option<Files>> {
    if rules == Rules::Open {
        return Ok(None);
    }
    let (config, authz) = (path.with_extension("conf"), path.with_extension("authz"));
    if !config.exists() {
        let repository = Repository::open(path, &Caches::new(CACHE), &OpenOptions::default())?;
        let youngest = repository.fs().youngest().map_err(SvnError::from)?;
        let root = repository.fs().revision_root(youngest).map_err(SvnError::from)?;
        write(&authz, &sections(&directories(&root)?, tree, file))?;
        let text =
            format!("[general]\nanon-access = read\nauthz-db = {}\n", authz.to_string_lossy());
        write(&config, &text)?;
    }
    Ok(Some(Files { config, authz }))
}

fn write(path: &PathBuf, text: &str) -> SvnResult<()> {
    std::fs::write(path, text)
        .map_err(|e| SvnError::io(&e, format_args!("Can't write '{}'", path.display())))
}

/// The directories of a tree, those near the root first.
fn directories(root: &Root) -> SvnResult<Vec<String>> {
    let mut found = vec!["/".to_owned()];
    let mut at = 0;
    while let Some(dir) = found.get(at).filter(|_| found.len() < MOST).cloned() {
        at = at.plus(1);
        let node = root.node(FsPath::new(&dir)?).map_err(SvnError::from)?;
        let entries = node.entries().map_err(SvnError::from)?;
        let below = entries.iter().filter(|entry| entry.kind == NodeKind::Dir);
        found.extend(below.map(|entry| path::join(&dir, entry.name)));
    }
    Ok(found)
}

/// The text of the authz file.
fn sections(directories: &[String], tree: &str, file: &str) -> String {
    let mut out = "[groups]\n".to_owned();
    for group in 0..20 {
        let _ = writeln!(out, "team{group} = user{group}, lead{group}, build");
    }
    out.push_str("[/]\n* = r\n@team0 = rw\n");
    let step = directories.len().div_ceil(SECTIONS).max(1);
    let chosen = directories.iter().filter(|dir| *dir != "/").step_by(step);
    for (at, dir) in chosen.enumerate() {
        let is_asked = |asked: &str| path::is_ancestor(dir, asked);
        let hides = at % HIDDEN == HIDDEN / 2 && !is_asked(tree) && !is_asked(file);
        let others = if hides { "* =\n" } else { "" };
        let _ = writeln!(out, "[{dir}]\n@team{} = rw\n{others}", at % 20);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_repos::authz::{Access, Authz};

    #[test]
    fn something_is_hidden_and_what_is_asked_for_is_not() {
        let directories: Vec<String> = (0..1000).map(|n| format!("/trunk/d{n}")).collect();
        let text = sections(&directories, "/trunk", "/trunk/d22/f");
        let authz = Authz::parse(text.as_bytes(), None, &mut |_| ()).unwrap();
        let reader = authz.for_user("", None);
        let readable =
            |path: &str| reader.allows(Some(FsPath::new(path).unwrap()), Access::READ, false);
        assert!(readable("/trunk") && readable("/trunk/d22/f"));
        let hidden = directories.iter().filter(|dir| !readable(dir)).count();
        assert!((10..60).contains(&hidden), "{hidden}");
        let lead = authz.for_user("", Some("build"));
        assert!(directories.iter().all(|dir| lead.allows(
            Some(FsPath::new(dir).unwrap()),
            Access::READ,
            false
        ) || !readable(dir)));
        assert!(text.matches("\n[/").count() > 200, "{text}");
    }
}
