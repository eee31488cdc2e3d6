//! Commands at a terminal, with the answers that are typed.

use std::process::Command;

use sapwood_testkit::Programs;
use sapwood_testkit::terminal::{Conversation, converse};

/// What a line of a shell says in a folder.
pub(crate) fn shell(folder: &str, line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a command in a folder at a terminal. `svn ` in it stands for the program under test; an answer is
/// typed after each colon.
pub(crate) fn talked(
    programs: &Programs,
    folder: &str,
    command: &str,
    answers: &[&str],
) -> Conversation {
    let mut program = programs.command("svn");
    let svn = program.get_program().to_string_lossy().into_owned();
    let mut talker = Command::new("sh");
    talker.args(["-c", &format!("cd {folder}; {}", command.replace("svn ", &format!("{svn} ")))]);
    for (name, value) in program.arg("x").get_envs() {
        if let Some(value) = value {
            talker.env(name, value);
        }
    }
    let answers: Vec<(&str, &str)> = answers.iter().map(|answer| (": ", *answer)).collect();
    converse(&talker, &answers)
}
