//! One hook as a process: its standard input, its standard error, its time, its end.
//!
//! Standard error is read to its end while the hook runs, so that no hook waits for a reader to
//! read; of it, [`MAX_STDERR`] bytes are kept.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// What is kept of a hook's standard error, in bytes; the rest is read and forgotten.
const MAX_STDERR: u64 = 1 << 20;
/// The exit code of a hook that could not be started, as in the reference.
const NOT_STARTED: i32 = 255;

/// Runs the hook `name`, which `command` starts, with `input` as its standard input: killed when it
/// takes longer than `limit`.
///
/// # Errors
/// E165001 when it fails or cannot be started.
pub(super) fn run(
    name: &str,
    mut command: Command,
    input: Option<&[u8]>,
    limit: Option<Duration>,
) -> SvnResult<()> {
    let program = PathBuf::from(command.get_program());
    let stdin = match input {
        None => Stdio::null(),
        Some(bytes) => Stdio::from(file_of(bytes).map_err(|e| {
            SvnError::io(&e, "Can't prepare standard input").wrap(
                ErrorCode::REPOS_BAD_ARGS,
                format!("Failed to start '{}' hook", program.display()),
            )
        })?),
    };
    command.stdin(stdin).stderr(Stdio::piped());
    if limit.is_some() {
        command.process_group(0);
    }
    // The reference finds out in the child, which ends with this code and says nothing.
    let mut child = sapwood_store::handles::with_room(|| command.spawn())
        .map_err(|_| blocked(name, NOT_STARTED, ""))?;
    let (read, status) = match limit {
        None => (read_stderr(child.stderr.take()), child.wait()),
        Some(limit) => wait_within(&mut child, limit).ok_or_else(|| timed_out(name, limit))?,
    };
    let status = status.map_err(|e| {
        SvnError::io(&e, format_args!("Error waiting for process '{}'", program.display()))
    })?;
    judge(name, status, read)
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
    // A process that has left the group may hold the other end for ever: this is not waited for.
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

/// A nameless file that holds `bytes`, to be read from its start.
fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
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
    fn hooks_in_time() {
        let run = |script: &str, limit| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).stderr(Stdio::piped()).process_group(0);
            let mut child = sapwood_store::handles::with_room(|| command.spawn()).unwrap();
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
