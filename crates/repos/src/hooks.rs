//! Hook programs: what an administrator has run before and after changes to a repository.
//!
//! A hook is a program in the `hooks` folder with a fixed name. It gets arguments and sometimes
//! standard input, an empty environment (or the one of the `hooks-env` file), no standard output,
//! and the server's working directory. One that fails stops what it was asked about, and what it
//! wrote to standard error is told to the user. A hook that is there but cannot be run never
//! counts as one that agreed; nor does one that runs longer than the limit that may be set.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use sapwood_core::config::{Case, Config};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, uri};
use sapwood_fsfs::txn::Txn;

use crate::repository::Repository;

/// What is kept of a hook's standard error, in bytes; the rest is read and forgotten.
const MAX_STDERR: u64 = 1 << 20;
/// What is read of a hook's standard output where it counts, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;
/// The longest `hooks-env` file that is read, in bytes.
const MAX_ENV_FILE: u64 = 1 << 20;
/// The section of `hooks-env` for hooks that have none of their own.
const DEFAULT_SECTION: &str = "default";
/// The exit code of a hook that could not be started, as in the reference.
const NOT_STARTED: i32 = 255;

/// The hooks of one repository.
#[derive(Clone, Debug)]
pub struct Hooks {
    repository: PathBuf,
    folder: PathBuf,
    env_file: Option<PathBuf>,
    time_limit: Option<Duration>,
}

/// Which change of a revision property a hook is asked about.
#[derive(Clone, Copy, Debug)]
pub struct RevpropChange<'a> {
    /// The revision.
    pub revision: Revnum,
    /// Who changes it.
    pub user: Option<&'a str>,
    /// The property.
    pub name: &'a str,
    /// `A`dded, `M`odified or `D`eleted.
    pub action: char,
}

impl Hooks {
    /// The hooks of `repository`. `env_file` is where their environment is set, relative to the
    /// `conf` folder; `conf/hooks-env` when nothing is said.
    #[must_use]
    pub fn new(repository: &Repository, env_file: Option<&Path>) -> Self {
        let env_file = env_file.unwrap_or_else(|| Path::new("hooks-env"));
        Self {
            repository: repository.path().to_owned(),
            folder: repository.hooks_dir(),
            env_file: Some(repository.conf_dir().join(env_file)),
            time_limit: None,
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

    /// `start-commit`: asked when a transaction has just begun. It sees the transaction on disk,
    /// with its properties, and may change these.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run; those of [`Txn::publish`] and
    /// [`Txn::refresh`].
    pub fn start_commit(
        &self,
        user: Option<&str>,
        capabilities: &[&str],
        txn: &mut Txn,
    ) -> SvnResult<()> {
        let Some(hook) = self.find("start-commit")? else { return Ok(()) };
        txn.publish()?;
        let args = [user.unwrap_or_default(), &capabilities.join(":"), &txn.name()];
        self.start("start-commit", &hook, &args, None, Stdio::null())?;
        Ok(txn.refresh()?)
    }

    /// `pre-commit`: asked before a transaction is committed, with the lock tokens that the
    /// committer shows: for each a path, as the committer says it, and the token. The hook sees
    /// the transaction on disk.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run; those of [`Txn::publish`] and
    /// [`Txn::refresh`].
    pub fn pre_commit(&self, txn: &mut Txn, lock_tokens: &[(String, String)]) -> SvnResult<()> {
        let Some(hook) = self.find("pre-commit")? else { return Ok(()) };
        txn.publish()?;
        let input = (!lock_tokens.is_empty()).then(|| token_lines(lock_tokens));
        self.start("pre-commit", &hook, &[&txn.name()], input.as_deref(), Stdio::null())?;
        Ok(txn.refresh()?)
    }

    /// `post-commit`: told of a new revision. Whether there is such a hook.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub fn post_commit(&self, revision: Revnum, txn: &str) -> SvnResult<bool> {
        self.run_if_there("post-commit", &[&revision.to_string(), txn], None)
    }

    /// `pre-revprop-change`: asked before a property of a revision changes to `value`. Without
    /// this hook, no property of a revision can be changed.
    ///
    /// # Errors
    /// E165006 when there is no such hook; E165001 when it fails or cannot be run.
    pub fn pre_revprop_change(
        &self,
        change: &RevpropChange<'_>,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        if self.find("pre-revprop-change")?.is_none() {
            return Err(SvnError::new(
                ErrorCode::REPOS_DISABLED_FEATURE,
                "Repository has not been enabled to accept revision propchanges;\n\
                 ask the administrator to create a pre-revprop-change hook",
            ));
        }
        self.revprop_change("pre-revprop-change", change, value)
    }

    /// `post-revprop-change`: told after a property of a revision changed from `old`.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub fn post_revprop_change(
        &self,
        change: &RevpropChange<'_>,
        old: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.revprop_change("post-revprop-change", change, old)
    }

    /// `pre-lock`: asked before a path is locked. What the hook prints is the token to use: `None`
    /// when it prints nothing.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub fn pre_lock(
        &self,
        path: &str,
        user: &str,
        comment: Option<&str>,
        steal: bool,
    ) -> SvnResult<Option<String>> {
        let args = [path, user, comment.unwrap_or_default(), flag(steal)];
        let output = self.run_for_output("pre-lock", &args)?;
        // As the reference: not even a line end is cut off, and a NUL ends it.
        let token = output.split(|b| *b == 0).next().unwrap_or_default();
        Ok((!token.is_empty()).then(|| String::from_utf8_lossy(token).into_owned()))
    }

    /// `post-lock`: told of paths that were locked.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub fn post_lock(&self, paths: &[&str], user: &str) -> SvnResult<()> {
        self.run("post-lock", &[user], Some(lines_of(paths).as_bytes()))
    }

    /// `pre-unlock`: asked before the lock on a path is removed, or broken.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub fn pre_unlock(
        &self,
        path: &str,
        user: Option<&str>,
        token: &str,
        break_lock: bool,
    ) -> SvnResult<()> {
        let args = [path, user.unwrap_or_default(), token, flag(break_lock)];
        self.run("pre-unlock", &args, None)
    }

    /// `post-unlock`: told of paths that were unlocked.
    ///
    /// # Errors
    /// E165001 when the hook fails or cannot be run.
    pub fn post_unlock(&self, paths: &[&str], user: Option<&str>) -> SvnResult<()> {
        let input = lines_of(paths);
        self.run("post-unlock", &[user.unwrap_or_default()], Some(input.as_bytes()))
    }

    fn revprop_change(
        &self,
        hook: &str,
        change: &RevpropChange<'_>,
        input: Option<&[u8]>,
    ) -> SvnResult<()> {
        let revision = change.revision.to_string();
        let action = change.action.to_string();
        let args = [&*revision, change.user.unwrap_or_default(), change.name, &*action];
        self.run(hook, &args, input)
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

    /// The same; whether there is such a hook.
    fn run_if_there(&self, name: &str, args: &[&str], input: Option<&[u8]>) -> SvnResult<bool> {
        let Some(program) = self.find(name)? else { return Ok(false) };
        self.start(name, &program, args, input, Stdio::null())?;
        Ok(true)
    }

    /// The same, for what the hook prints.
    fn run_for_output(&self, name: &str, args: &[&str]) -> SvnResult<Vec<u8>> {
        let mut output = Vec::new();
        let Some(program) = self.find(name)? else { return Ok(output) };
        // A file takes any amount while standard error is being read.
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
        let environment = self.environment(name)?;
        let fail = |e: &io::Error| {
            SvnError::io(e, "Can't prepare standard input").wrap(
                ErrorCode::REPOS_BAD_ARGS,
                format!("Failed to start '{}' hook", program.display()),
            )
        };
        let stdin = match input {
            Some(bytes) => Stdio::from(file_of(bytes).map_err(|e| fail(&e))?),
            None => Stdio::null(),
        };
        let mut command = Command::new(program);
        command.arg(&self.repository).args(args).env_clear().envs(environment);
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        if self.time_limit.is_some() {
            command.process_group(0);
        }
        let mut child = match command.spawn() {
            Ok(child) => child,
            // The reference finds out in the child, which ends with this code and says nothing.
            Err(_) => return Err(blocked(name, NOT_STARTED, "")),
        };
        let (read, status) = match self.time_limit {
            None => (read_stderr(child.stderr.take()), child.wait()),
            Some(limit) => {
                let Some((read, status)) = wait_within(&mut child, limit) else {
                    return Err(timed_out(name, limit));
                };
                (read, status)
            }
        };
        let status = status.map_err(|e| {
            SvnError::io(&e, format_args!("Error waiting for process '{}'", program.display()))
        })?;
        judge(name, status, read)
    }

    /// The environment of the hook `name`.
    fn environment(&self, name: &str) -> SvnResult<Vec<(String, String)>> {
        let Some(env_file) = &self.env_file else { return Ok(Vec::new()) };
        let shown = env_file.display();
        let file = match File::open(env_file) {
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

/// What a hook writes to standard error, up to its end.
fn read_stderr(pipe: Option<ChildStderr>) -> io::Result<Vec<u8>> {
    let mut stderr = Vec::new();
    let Some(mut pipe) = pipe else { return Ok(stderr) };
    io::Read::by_ref(&mut pipe)
        .take(MAX_STDERR)
        .read_to_end(&mut stderr)
        .and_then(|_| io::copy(&mut pipe, &mut io::sink()))?;
    Ok(stderr)
}

/// Waits until a hook has ended, and with it its standard error: what it wrote there, and its
/// status. `None` when that took longer than `limit`: then it was killed.
fn wait_within(
    child: &mut Child,
    limit: Duration,
) -> Option<(io::Result<Vec<u8>>, io::Result<ExitStatus>)> {
    let deadline = Instant::now().checked_add(limit);
    let left = || deadline.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
    let (done, read) = mpsc::channel();
    let pipe = child.stderr.take();
    // Whoever has left the process group may hold the other end for ever: nobody waits for this.
    std::thread::spawn(move || done.send(read_stderr(pipe)));
    let read = read.recv_timeout(left());
    let mut pause = Duration::from_millis(1);
    if let Ok(read) = read {
        loop {
            match child.try_wait() {
                Ok(None) if left().is_zero() => break,
                Ok(None) => std::thread::sleep(pause.min(left())),
                Ok(Some(status)) => return Some((read, Ok(status))),
                Err(e) => return Some((read, Err(e))),
            }
            pause = pause.saturating_mul(2).min(Duration::from_millis(50));
        }
    }
    // The group is the hook's own. Only one that has ended cannot be killed.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    None
}

fn timed_out(name: &str, limit: Duration) -> SvnError {
    let message = format!("'{name}' hook failed (it was killed after {} s).  ", limit.as_secs());
    failure(message, "")
}

/// The lock tokens as a `pre-commit` hook reads them. (The reference's order is that of a table with
/// a random seed: no order.)
fn token_lines(tokens: &[(String, String)]) -> Vec<u8> {
    // Of a token that is shown twice, the last path counts.
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

/// What the `hooks-env` file `path` with the contents `bytes` gives the hook `name`: its own section,
/// or the default one.
///
/// # Errors
/// E125015 and kin for a file that cannot be understood.
pub fn read_environment(bytes: &[u8], path: &str, name: &str) -> SvnResult<Vec<(String, String)>> {
    let config = Config::parse_file(path, bytes, Case::SENSITIVE)?;
    let section = if config.has_section(name) { name } else { DEFAULT_SECTION };
    Ok(config
        .options(section)
        // A name or value that no environment can hold is left out.
        .filter(|(key, value)| !key.is_empty() && !key.contains('\0') && !value.contains(&0))
        .map(|(key, value)| (key.to_owned(), String::from_utf8_lossy(&value).into_owned()))
        .collect())
}

/// A nameless file that holds `bytes`, to be read from its start.
fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// A switch as hooks get it.
const fn flag(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}

/// Paths, one a line.
fn lines_of(paths: &[&str]) -> String {
    paths.iter().flat_map(|path| [*path, "\n"]).collect()
}

/// What a hook's end means.
fn judge(name: &str, status: ExitStatus, stderr: io::Result<Vec<u8>>) -> SvnResult<()> {
    if status.success() {
        return stderr.map(drop).map_err(|e| {
            SvnError::io(&e, "Can't read stream").wrap(
                ErrorCode::REPOS_HOOK_FAILURE,
                format!("'{name}' hook succeeded, but error output could not be read"),
            )
        });
    }
    let output = match stderr.map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            "[Error output could not be translated from the native locale to UTF-8.]".to_owned()
        }
        Err(_) => "[Error output could not be read.]".to_owned(),
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => Err(blocked(name, code, &output)),
        (None, signal) => {
            // The portable runtime's numbers: by a signal, and by one with a core dump.
            let why = if status.core_dumped() { 6 } else { 2 };
            let signal = signal.unwrap_or_default();
            let message = format!(
                "'{name}' hook failed (did not exit cleanly: apr_exit_why_e was {why}, exitcode \
                 was {signal}).  "
            );
            Err(failure(message, &output))
        }
    }
}

/// The error of a hook that ended with an exit code.
fn blocked(name: &str, code: i32, output: &str) -> SvnError {
    let action = match name {
        "start-commit" | "pre-commit" => "Commit",
        "pre-revprop-change" => "Revprop change",
        "pre-lock" => "Lock",
        "pre-unlock" => "Unlock",
        _ => return failure(format!("{name} hook failed (exit code {code})"), output),
    };
    failure(format!("{action} blocked by {name} hook (exit code {code})"), output)
}

fn failure(message: String, output: &str) -> SvnError {
    let message = match output {
        "" => message + " with no output.",
        output => message + " with output:\n" + output,
    };
    SvnError::new(ErrorCode::REPOS_HOOK_FAILURE, message)
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

    #[test]
    fn hooks_in_time() {
        let run = |script: &str, limit| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).stderr(Stdio::piped()).process_group(0);
            let mut child = command.spawn().unwrap();
            let ended = wait_within(&mut child, limit);
            assert!(matches!(child.try_wait(), Ok(Some(_))));
            ended.map(|(read, status)| (read.unwrap(), status.unwrap().code()))
        };
        let long = Duration::from_secs(600);
        assert_eq!(run("echo no >&2; exit 3", long), Some((b"no\n".to_vec(), Some(3))));
        assert_eq!(run("exec 2>&-; exit 0", long), Some((Vec::new(), Some(0))));
        // The time is over at once; the program would run long, and so would its child.
        for script in ["sleep 600", "sleep 600 & wait", "exec 2>&-; sleep 600"] {
            assert_eq!(run(script, Duration::from_millis(20)), None);
        }
        let error = timed_out("pre-commit", Duration::from_secs(5));
        let words = "'pre-commit' hook failed (it was killed after 5 s).   with no output.";
        assert_eq!((error.code(), error.message()), (ErrorCode::REPOS_HOOK_FAILURE, words));
    }

    #[test]
    fn how_hooks_end() {
        let ended = |raw| ExitStatus::from_raw(raw);
        assert!(judge("pre-commit", ended(0), Ok(b"chatter".to_vec())).is_ok());
        for (name, raw, output, words) in [
            (
                "start-commit",
                3 << 8,
                "",
                "Commit blocked by start-commit hook (exit code 3) with no output.",
            ),
            (
                "post-commit",
                1 << 8,
                "x\n",
                "post-commit hook failed (exit code 1) with output:\nx\n",
            ),
            (
                "pre-lock",
                9,
                "",
                "'pre-lock' hook failed (did not exit cleanly: apr_exit_why_e was 2, exitcode was 9).   with no output.",
            ),
        ] {
            let error = judge(name, ended(raw), Ok(output.into())).unwrap_err();
            assert_eq!((error.code(), error.message()), (ErrorCode::REPOS_HOOK_FAILURE, words));
        }
        let error = judge("pre-commit", ended(256), Ok(vec![0xff])).unwrap_err();
        assert!(error.message().contains("could not be translated"));
    }
}
