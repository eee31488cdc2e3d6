//! The folders that a new repository has in revision 1.

use std::collections::BTreeSet;
use std::path::Path;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind, PropList, SvnResult};
use sapwood_repos::authz::Access;
use sapwood_repos::hooks::Hooks;
use sapwood_repos::{CommitAuthorizer, Repository, TxnEditor, TxnRequest};

use super::refused;

/// The folders of `--layout`.
pub(super) const USUAL: [&str; 3] = ["trunk", "branches", "tags"];

/// Folders of a repository, each after those that it is in.
#[derive(Debug, Default)]
pub(super) struct Layout(BTreeSet<String>);

/// The user of the command line may make what the template says.
struct Everything;

impl CommitAuthorizer for Everything {
    fn allows(&self, _: &FsPath, _: Access, _: bool) -> bool {
        true
    }
}

impl Layout {
    /// Adds a folder, and those that it is in.
    pub(super) fn add(&mut self, path: &str) -> SvnResult<()> {
        if path.split('/').any(|part| part == "..") || path.contains(char::is_control) {
            return Err(refused(format!("'{}' is no path of a folder", path.escape_debug())));
        }
        let mut whole = String::new();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            whole = format!("{whole}/{part}");
            self.0.insert(whole.clone());
        }
        Ok(())
    }

    /// Adds the folders of a template's file: one path a line; empty lines, and those that begin with `#`, do not count.
    pub(super) fn add_lines(&mut self, text: &str) -> SvnResult<()> {
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .try_for_each(|l| self.add(l))
    }

    /// Commits the folders as revision 1; nothing where there are none.
    pub(super) fn commit(&self, repository: &Path, user: Option<&str>) -> SvnResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let options = crate::command::Options::default();
        let (caches, open_options) = crate::repo::caches(&options)?;
        let repository = Repository::open(repository, &caches, &open_options)?;
        let mut revprops = PropList::new();
        revprops.set("svn:log", "Layout of the repository");
        let mut editor = TxnEditor::begin(TxnRequest {
            repository: &repository,
            hooks: Hooks::without_environment(&repository),
            revprops,
            user,
            lock_tokens: Vec::new(),
            capabilities: &[],
            base: None,
        })?;
        for path in &self.0 {
            editor.add(&FsPathBuf::canonicalize(path), NodeKind::Dir, &Everything)?;
        }
        editor.commit()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_after_those_that_they_are_in() {
        let mut layout = Layout::default();
        layout.add_lines("# ours\n\n/b/c/\r\na\nb\n./a//x y\n").unwrap();
        let found: Vec<_> = layout.0.iter().map(String::as_str).collect();
        assert_eq!(found, ["/a", "/a/x y", "/b", "/b/c"]);
        assert!(layout.add("a/../b").is_err() && layout.add("a\u{1}").is_err());
    }
}
