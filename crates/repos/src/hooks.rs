//! Hook programs: programs of the administrator that run before and after changes to a repository.
//!
//! A hook is a program in the `hooks` folder with a fixed name. It gets arguments and sometimes
//! standard input, an empty environment (or the one of the `hooks-env` file), no standard output,
//! and the server's working directory. One that fails stops the operation, and what it
//! wrote to standard error is shown to the user. A hook that is there but cannot be run never
//! counts as success; nor does one that runs longer than the limit, if there is one.

mod process;
mod rules;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sapwood_core::FsPath;
use sapwood_core::config::{Case, Config};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, uri};
use sapwood_fs::txn::Txn;

use self::rules::RuleFiles;
use crate::repository::Repository;

/// The most bytes that are read of a hook's standard output.
const MAX_OUTPUT: u64 = 1 << 20;
/// The longest `hooks-env` file that is read, in bytes.
const MAX_ENV_FILE: u64 = 1 << 20;
/// The section of `hooks-env` for hooks without a section.
const DEFAULT_SECTION: &str = "default";

/// The hooks of one repository.
#[derive(Clone, Debug)]
pub struct Hooks {
    repository: PathBuf,
    folder: PathBuf,
    env_file: Option<PathBuf>,
    time_limit: Option<Duration>,
    rules: RuleFiles,
}

/// The change of a revision property that a hook decides on.
#[derive(Clone, Copy, Debug)]
pub struct RevpropChange<'a> {
    /// The revision.
    pub revision: Revnum,
    /// The user that changes it.
    pub user: Option<&'a str>,
    /// The property.
    pub name: &'a str,
    /// `A`dded, `M`odified or `D`eleted.
    pub action: char,
}

impl Hooks {
    /// The hooks of `repository`. `env_file` is where their environment is set, relative to the
    /// `conf` folder; `conf/hooks-env` by default.
    #[must_use]
    pub fn new(repository: &Repository, env_file: Option<&Path>) -> Self {
        let env_file = env_file.unwrap_or_else(|| Path::new("hooks-env"));
        Self {
            repository: repository.path().to_owned(),
            folder: repository.hooks_dir(),
            env_file: Some(repository.conf_dir().join(env_file)),
            time_limit: None,
            rules: RuleFiles::of(repository),
        }
    }

    /// The same, where a hook that runs longer than `limit` is killed and counts as failed, with
    /// all processes that it started and that did not leave its process group.
    #[must_use]
    pub fn with_time_limit(self, limit: Option<Duration>) -> Self {
        Self { time_limit: limit, ..self }
    }

    /// The hooks of `repository`, run with an empty environment, as administrators' tools do.
    #[must_use]
    pub fn without_environment(repository: &Repository) -> Self {
        Self { env_file: None, ..Self::new(repository, None) }
    }

    /// `start-commit`: runs when a transaction has just begun. It sees the transaction on disk,
    /// with its properties, and may change these.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run; those of [`Txn::publish`] and
    /// [`Txn::refresh`].
    pub(crate) fn start_commit(
        &self,
        user: Option<&str>,
        capabilities: &[&str],
        txn: &mut Txn,
    ) -> SvnResult<()> {
        let Some(hook) = self.find("start-commit")? else { return Ok(()) };
        txn.publish()?;
        let args = [user.unwrap_or(""), &capabilities.join(":"), &txn.name()];
        self.start("start-commit", &hook, &args, None, Stdio::null())?;
        Ok(txn.refresh()?)
    }

    /// Checks the rules, and then `pre-commit`: runs before a transaction is committed, with the lock tokens that the
    /// committer presents, each with its path as it was sent. The hook sees
    /// the transaction on disk.
    ///
    /// # Errors
    /// E165001 when a rule is broken, the hook fails or cannot be run; E125009 for rules that are not understood; those of
    /// [`Txn::publish`] and [`Txn::refresh`].
    pub(crate) fn pre_commit(
        &self,
        txn: &mut Txn,
        lock_tokens: &[(String, String)],
    ) -> SvnResult<()> {
        self.rules.check(txn)?;
        let Some(hook) = self.find("pre-commit")? else { return Ok(()) };
        txn.publish()?;
        let input = (!lock_tokens.is_empty()).then(|| token_lines(lock_tokens));
        self.start("pre-commit", &hook, &[&txn.name()], input.as_deref(), Stdio::null())?;
        Ok(txn.refresh()?)
    }

    /// Runs `post-commit` after a new revision. Returns whether there is such a hook.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub(crate) fn post_commit(&self, revision: Revnum, txn: &str) -> SvnResult<bool> {
        self.run_if_there("post-commit", &[&revision.to_string(), txn], None)
    }

    /// `pre-revprop-change`: runs before a property of a revision changes to `value`. Without
    /// this hook, only properties of revisions that rules name can be changed.
    ///
    /// # Errors
    /// E165006 when there is no such hook; E165001 when it fails or cannot be run.
    pub(crate) fn pre_revprop_change(
        &self,
        change: &RevpropChange<'_>,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        if self.find("pre-revprop-change")?.is_none() {
            if self.rules.allow(change)? {
                return Ok(());
            }
            return Err(SvnError::new(
                ErrorCode::REPOS_DISABLED_FEATURE,
                "Repository has not been enabled to accept revision propchanges;\n\
                 ask the administrator to create a pre-revprop-change hook",
            ));
        }
        self.revprop_change("pre-revprop-change", change, value)
    }

    /// Runs `post-revprop-change` after a property of a revision changed from `old`.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub(crate) fn post_revprop_change(
        &self,
        change: &RevpropChange<'_>,
        old: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.revprop_change("post-revprop-change", change, old)
    }

    /// `pre-lock`: runs before a path is locked. The hook may print the token to use: `None`
    /// if it prints nothing.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub(crate) fn pre_lock(
        &self,
        path: &FsPath,
        user: &str,
        comment: Option<&str>,
        steal: bool,
    ) -> SvnResult<Option<String>> {
        let args = [path, user, comment.unwrap_or(""), flag(steal)];
        let output = self.run_for_output("pre-lock", &args)?;
        // As the reference: not even a line end is cut off, and a NUL ends it.
        let token = output.split(|b| *b == 0).next().unwrap_or(&[]);
        Ok((!token.is_empty()).then(|| String::from_utf8_lossy(token).into_owned()))
    }

    /// Runs `post-lock` with the paths that were locked.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub(crate) fn post_lock(&self, paths: &[&FsPath], user: &str) -> SvnResult<()> {
        self.run("post-lock", &[user], Some(lines_of(paths).as_bytes()))
    }

    /// `pre-unlock`: runs before the lock on a path is removed, or broken.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub(crate) fn pre_unlock(
        &self,
        path: &FsPath,
        user: Option<&str>,
        token: &str,
        break_lock: bool,
    ) -> SvnResult<()> {
        let args = [path, user.unwrap_or(""), token, flag(break_lock)];
        self.run("pre-unlock", &args, None)
    }

    /// Runs `post-unlock` with the paths that were unlocked.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub(crate) fn post_unlock(&self, paths: &[&FsPath], user: Option<&str>) -> SvnResult<()> {
        let input = lines_of(paths);
        self.run("post-unlock", &[user.unwrap_or("")], Some(input.as_bytes()))
    }

    fn revprop_change(
        &self,
        hook: &str,
        change: &RevpropChange<'_>,
        input: Option<&[u8]>,
    ) -> SvnResult<()> {
        let revision = change.revision.to_string();
        let action = change.action.to_string();
        let args = [&*revision, change.user.unwrap_or(""), change.name, &*action];
        self.run(hook, &args, input)
    }

    /// Whether there is one of the hooks `names`, or a rule in place of it, or an error that prevents finding one.
    #[must_use]
    pub fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| {
            let by_rules = *name == "pre-commit" && self.rules.are_about_commits();
            by_rules || !matches!(self.find(name), Ok(None))
        })
    }

    /// The program of the hook `name`, if there is one.
    fn find(&self, name: &str) -> SvnResult<Option<PathBuf>> {
        let path = self.folder.join(name);
        let absent =
            |e: &io::Error| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        let unknown = |e: &io::Error| {
            SvnError::io(e, format_args!("Can't check path '{}'", path.display()))
                .wrap(ErrorCode::REPOS_HOOK_FAILURE, format!("Failed to run '{name}' hook"))
        };
        match std::fs::metadata(&path) {
            Ok(data) if data.is_file() => return Ok(Some(path)),
            Err(e) if !absent(&e) => return Err(unknown(&e)),
            _ => {}
        }
        match std::fs::symlink_metadata(&path) {
            Ok(data) if data.is_symlink() => Err(SvnError::new(
                ErrorCode::REPOS_HOOK_FAILURE,
                format!("Failed to run '{}' hook; broken symlink", path.display()),
            )),
            Ok(_) => Ok(None),
            Err(e) if absent(&e) => Ok(None),
            Err(e) => Err(unknown(&e)),
        }
    }

    /// Runs the hook `name`, if there is one, with the repository's path before `args`.
    fn run(&self, name: &str, args: &[&str], input: Option<&[u8]>) -> SvnResult<()> {
        self.run_if_there(name, args, input).map(drop)
    }

    /// The same; returns whether there is such a hook.
    fn run_if_there(&self, name: &str, args: &[&str], input: Option<&[u8]>) -> SvnResult<bool> {
        let Some(program) = self.find(name)? else { return Ok(false) };
        self.start(name, &program, args, input, Stdio::null())?;
        Ok(true)
    }

    /// The same; returns what the hook prints.
    fn run_for_output(&self, name: &str, args: &[&str]) -> SvnResult<Vec<u8>> {
        let mut output = Vec::new();
        let Some(program) = self.find(name)? else { return Ok(output) };
        // A file takes any amount of output while standard error is being read.
        let fail = |e: io::Error| {
            SvnError::io(
                &e,
                format_args!("Can't create null stdout for hook '{}'", program.display()),
            )
        };
        let mut file = tempfile::tempfile().map_err(fail)?;
        let stdout = file.try_clone().map_err(fail)?;
        self.start(name, &program, args, None, Stdio::from(stdout))?;
        file.rewind()
            .and_then(|()| file.take(MAX_OUTPUT).read_to_end(&mut output))
            .map_err(|e| SvnError::io(&e, "Can't read stream"))?;
        Ok(output)
    }

    fn start(
        &self,
        name: &str,
        program: &Path,
        args: &[&str],
        input: Option<&[u8]>,
        stdout: Stdio,
    ) -> SvnResult<()> {
        let mut command = Command::new(program);
        command.arg(&self.repository).args(args).env_clear().envs(self.environment(name)?);
        command.stdout(stdout);
        process::run(name, command, input, self.time_limit)
    }

    /// The environment of the hook `name`.
    fn environment(&self, name: &str) -> SvnResult<Vec<(String, String)>> {
        let Some(env_file) = &self.env_file else { return Ok(Vec::new()) };
        let shown = env_file.display();
        let file = match sapwood_store::handles::with_room(|| File::open(env_file)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(SvnError::io(&e, format_args!("Can't open file '{shown}'"))),
        };
        let mut bytes = Vec::new();
        file.take(MAX_ENV_FILE.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| SvnError::io(&e, format_args!("Can't read file '{shown}'")))?;
        if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_ENV_FILE) {
            let message = format!("File '{shown}' is too large");
            return Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message));
        }
        read_environment(&bytes, &env_file.to_string_lossy(), name)
    }
}

/// The lock tokens as a `pre-commit` hook reads them. (The reference's order is that of a table with
/// a random seed: no order.)
fn token_lines(tokens: &[(String, String)]) -> Vec<u8> {
    // Of a token that is presented twice, the last path counts.
    let mut distinct: Vec<(&str, &str)> = Vec::with_capacity(tokens.len());
    let mut places = HashMap::with_capacity(tokens.len());
    for (path, token) in tokens {
        let place = *places.entry(token.as_str()).or_insert(distinct.len());
        match distinct.get_mut(place) {
            Some(pair) => pair.0 = path,
            None => distinct.push((path, token)),
        }
    }
    let mut out = b"LOCK-TOKENS:\n".to_vec();
    for (path, token) in distinct {
        out.extend_from_slice(uri::autoescape(path).as_bytes());
        out.push(b'|');
        out.extend_from_slice(token.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

/// The environment for the hook `name` from the `hooks-env` file `path` with the contents `bytes`: its own section,
/// or the default one.
///
/// # Errors
/// E125015 and others for an invalid file.
pub fn read_environment(bytes: &[u8], path: &str, name: &str) -> SvnResult<Vec<(String, String)>> {
    let config = Config::parse_file(path, bytes, Case::SENSITIVE)?;
    let section = if config.has_section(name) { name } else { DEFAULT_SECTION };
    Ok(config
        .options(section)
        // A name or value that cannot be in an environment is left out.
        .filter(|(key, value)| !key.is_empty() && !key.contains('\0') && !value.contains(&0))
        .map(|(key, value)| (key.to_owned(), String::from_utf8_lossy(&value).into_owned()))
        .collect())
}

/// A boolean as hooks get it.
const fn flag(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}

/// Paths, one per line.
fn lines_of(paths: &[&FsPath]) -> String {
    paths.iter().flat_map(|path| [path.as_str(), "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_for_hooks() {
        let pair = |path: &str, token: &str| (path.to_owned(), token.to_owned());
        let lines = token_lines(&[pair("x", "t:1"), pair("A/a b%", "t:1"), pair("é", "t:2")]);
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(lines, "LOCK-TOKENS:\nA/a%20b%|t:1\né|t:2\n\n");
    }
}
