//! Programs at a terminal of their own, and a user who answers their questions.
//!
//! Invariant: an answer is typed only when the question is on the screen, as a person would do it;
//! programs throw away what was typed before.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// What was on the screen, and how the program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Everything that was shown, with plain line ends.
    pub screen: String,
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
}

/// How long a program may show nothing before it counts as stuck, in seconds.
const PATIENCE: i64 = 10;

/// Runs a command (with `setsid` of util-linux, which gives it the terminal) and types the answers,
/// one for each time that the screen ends with the question beside it. When a question is none of
/// those that are left, nothing is typed for it.
///
/// # Panics
/// If there are no terminals to be had.
#[must_use]
pub fn converse(program: &Command, answers: &[(&str, &str)]) -> Conversation {
    let leader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&leader).and_then(|()| unlockpt(&leader)).expect("a terminal that can be used");
    let name = OsString::from_vec(ptsname(&leader, Vec::new()).expect("its name").into_bytes());
    let mut leader = File::from(leader);
    let follower = File::options().read(true).write(true).open(name).expect("the terminal");
    let side = || Stdio::from(follower.try_clone().expect("another handle"));
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(program.get_program()).args(program.get_args());
    // What comes after some time on a screen whose cursor moves is not to be compared.
    command.env("TERM", "dumb");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(side()).stdout(side()).stderr(side());
    let mut child = command.spawn().expect("setsid of util-linux");
    drop(follower);
    drop(command);
    let mut screen = Vec::new();
    let mut answers = answers.iter();
    let mut next = answers.next();
    let mut piece = [0; 4096];
    let patience = Timespec { tv_sec: PATIENCE, tv_nsec: 0 };
    loop {
        let ready = poll(&mut [PollFd::new(&leader, PollFlags::IN)], Some(&patience));
        if ready != Ok(1) {
            screen.extend_from_slice(b"\n(nothing more happens)\n");
            let _ = child.kill();
            break;
        }
        // The end is an error (EIO) at the leader's side of a terminal.
        let Ok(got @ 1..) = leader.read(&mut piece) else { break };
        screen.extend_from_slice(&piece[..got]);
        if let Some((question, answer)) = next
            && screen.ends_with(question.as_bytes())
        {
            // Programs change the terminal's ways a moment before or after they ask.
            std::thread::sleep(std::time::Duration::from_millis(20));
            leader.write_all(format!("{answer}\n").as_bytes()).expect("typing");
            next = answers.next();
        }
    }
    let status = child.wait().expect("the program's end");
    let screen = String::from_utf8_lossy(&screen).replace("\r\n", "\n");
    Conversation { screen, code: status.code().unwrap_or(-1) }
}
