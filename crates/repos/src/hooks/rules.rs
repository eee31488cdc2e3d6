//! Rules without scripts: those of the repository (`conf/rules.toml`) and of the server, asked before the hook programs.
//!
//! Invariant: a file that cannot be read, or is not understood, refuses what it could be about.

use std::path::{Path, PathBuf};

use sapwood_core::props::names as prop_names;
use sapwood_core::{ErrorCode, FsPath, NodeKind, PropList, SvnError, SvnResult};
use sapwood_fs::txn::Txn;
use sapwood_fs::{ChangeKind, Filesystem, Root};
use sapwood_rules::{Change, Commit, MAX_FILE, RevpropRequest, Rules};

use super::{Hooks, RevpropChange};

/// The file of rules in a repository's `conf` folder.
const FILE: &str = "rules.toml";

/// Where the rules of a repository are, and of whom they are asked.
#[derive(Clone, Debug)]
pub(super) struct RuleFiles {
    fs: Filesystem,
    own: PathBuf,
    of_server: Vec<PathBuf>,
    /// The repository's name, as authz files have it.
    repository: String,
    /// The user's groups (`group:NAME`).
    groups: Vec<String>,
}

impl RuleFiles {
    /// Those of a repository itself, which is named as its folder is.
    pub(super) fn of(repository: &crate::Repository) -> Self {
        let name = repository.path().file_name();
        Self {
            fs: repository.fs().clone(),
            own: repository.conf_dir().join(FILE),
            of_server: Vec::new(),
            repository: name.map_or(String::new(), |name| name.to_string_lossy().into_owned()),
            groups: Vec::new(),
        }
    }

    /// Whether a file says something of commits, or cannot be understood.
    pub(super) fn are_about_commits(&self) -> bool {
        let about = |rules: &Rules| rules.has_rules_for_commits(&self.repository);
        self.read().map_or(true, |all| all.iter().any(about))
    }

    /// Refuses a transaction that breaks a rule.
    ///
    /// # Errors
    /// E165001 with the sentence of the rule; E125009 for a file that is not understood; those of [`Txn::publish`].
    pub(super) fn check(&self, txn: &mut Txn) -> SvnResult<()> {
        let rules = self.read()?;
        if !rules.iter().any(|rules| rules.has_rules_for_commits(&self.repository)) {
            return Ok(());
        }
        txn.publish()?;
        let after = self.fs.txn_root(&txn.name())?;
        let before = self.fs.revision_root(after.base_revision())?;
        let commit = Transaction { files: self, before, after, props: txn.props() };
        for rules in &rules {
            if let Some(refusal) = rules.check(&commit)? {
                return Err(SvnError::new(ErrorCode::REPOS_HOOK_FAILURE, refusal.to_string()));
            }
        }
        Ok(())
    }

    /// Whether a rule lets the user change this property of a revision.
    ///
    /// # Errors
    /// E125009 for a file that is not understood; those of reading.
    pub(super) fn allow(&self, change: &RevpropChange<'_>) -> SvnResult<bool> {
        let rules = self.read()?;
        if rules.is_empty() {
            return Ok(false);
        }
        let props = self.fs.revprops(change.revision)?;
        let request = RevpropRequest {
            repository: &self.repository,
            name: change.name,
            user: change.user,
            groups: &self.groups,
            author: props.get(prop_names::AUTHOR).and_then(|name| std::str::from_utf8(name).ok()),
        };
        Ok(rules.iter().any(|rules| rules.may_change_revprop(&request)))
    }

    /// The rules of all files. Only the repository's own need not be there.
    fn read(&self) -> SvnResult<Vec<Rules>> {
        let own = read(&self.own, true)?;
        let of_server = self.of_server.iter().map(|file| read(file, false));
        let of_server = of_server.collect::<SvnResult<Vec<Option<Rules>>>>()?;
        Ok(own.into_iter().chain(of_server.into_iter().flatten()).collect())
    }
}

fn read(file: &Path, may_be_missing: bool) -> SvnResult<Option<Rules>> {
    use std::io::Read as _;
    let shown = file.display();
    let opened = sapwood_store::handles::with_room(|| std::fs::File::open(file));
    let opened = match opened {
        Ok(opened) => opened,
        Err(e) if may_be_missing && e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(SvnError::io(&e, format_args!("Can't open file '{shown}'"))),
    };
    let mut text = String::new();
    opened
        .take(MAX_FILE.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|e| SvnError::io(&e, format_args!("Can't read file '{shown}'")))?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_FILE) {
        let message = format!("File '{shown}' is too large");
        return Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message));
    }
    Ok(Some(Rules::parse(&file.to_string_lossy(), &text)?))
}

impl Hooks {
    /// The same, with rules of the server besides the repository's own: the files, the repository's name in authz files,
    /// and the user's groups (`group:NAME`).
    #[must_use]
    pub fn with_rules(mut self, files: Vec<PathBuf>, repository: &str, groups: &[String]) -> Self {
        self.rules.of_server = files;
        repository.clone_into(&mut self.rules.repository);
        self.rules.groups = groups.to_vec();
        self
    }
}

/// A transaction, as the rules see it.
struct Transaction<'a> {
    files: &'a RuleFiles,
    before: Root,
    after: Root,
    props: &'a PropList,
}

impl Transaction<'_> {
    fn prop(&self, name: &str) -> Option<&str> {
        self.props.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }
}

impl Commit for Transaction<'_> {
    fn repository(&self) -> &str {
        &self.files.repository
    }

    fn user(&self) -> Option<&str> {
        self.prop(prop_names::AUTHOR)
    }

    fn is_in_group(&self, group: &str) -> bool {
        self.files.groups.iter().any(|own| own == group)
    }

    fn message(&self) -> &str {
        self.prop(prop_names::LOG).unwrap_or("")
    }

    fn changes(&self, visit: &mut dyn FnMut(Change<'_>) -> SvnResult<()>) -> SvnResult<()> {
        for change in self.after.changed_paths()?.iter() {
            // Old formats do not say what a changed path is.
            let kind = match change.node_kind {
                Some(kind) => Some(kind),
                None => self.after.kind(change.path)?,
            };
            visit(Change {
                path: change.path,
                is_new: matches!(change.kind, ChangeKind::Add | ChangeKind::Replace),
                is_gone: matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace),
                is_file: kind == Some(NodeKind::File),
            })?;
        }
        Ok(())
    }

    fn was_there(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(self.before.find(path)?.is_some())
    }

    fn size(&self, path: &FsPath) -> SvnResult<u64> {
        Ok(self.after.node(path)?.length()?)
    }

    fn repository_size(&self) -> SvnResult<u64> {
        Ok(crate::bytes_on_disk(&self.files.fs)?)
    }

    fn has_property(&self, path: &FsPath, name: &str) -> SvnResult<bool> {
        Ok(self.after.node(path)?.props()?.get(name).is_some())
    }

    fn names(&self, directory: &FsPath, visit: &mut dyn FnMut(&str)) -> SvnResult<()> {
        let entries = self.after.node(directory)?.entries()?;
        for entry in entries.iter() {
            visit(entry.name);
        }
        Ok(())
    }
}
