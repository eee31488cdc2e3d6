//! That no command is missing from the tables: neither one that the server knows, nor one that a program
//! says it has.

use std::collections::BTreeSet;

use sapwood_testkit::{Output, Programs};

use crate::growth::{admin, edits, lists, protocol};

#[test]
fn every_command_of_the_protocol() {
    let source = include_str!("../../../server/src/svn/commands/mod.rs");
    let known: BTreeSet<&str> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" => "))
        .map(|(name, _)| name)
        .collect();
    assert!(known.len() > 30, "the server's commands are no longer found: {known:?}");
    let asked = protocol::ASKED.iter().filter_map(|(_, request)| request.split(' ').nth(1));
    let counted: BTreeSet<&str> = asked.chain(edits::COMMANDS).collect();
    assert_eq!(known, counted, "commands of the server, and commands that are counted");
}

/// The programs whose subcommands are counted.
const PROGRAMS: [&str; 7] =
    ["svnadmin", "svnlook", "svnsync", "svnrdump", "svndumpfilter", "svnfsfs", "svnauthz"];

/// What stays out: it says how a program is used, or ends it on purpose.
const LEFT_OUT: [&str; 2] = ["help", "crashtest"];

#[test]
fn every_subcommand_of_the_administrators() {
    let lines = admin::LINES.iter().map(|(_, _, line)| *line);
    let lines: Vec<&str> = lines.chain(lists::WITH_RULES).chain(lists::CONFIGURED).collect();
    let mut missing = Vec::new();
    for program in PROGRAMS {
        let help = Output::of(Programs::ours().command(program).arg("help"));
        let help = help.expect_success(program).stdout_text();
        let (_, names) = help.split_once("Available subcommands:\n").expect("a list of them");
        let names = names.lines().take_while(|line| line.starts_with("   "));
        let mut count = 0;
        for line in names {
            let mut words = line.split([' ', '(', ')', ',']).filter(|word| !word.is_empty());
            let all: Vec<&str> = words.by_ref().collect();
            count += 1;
            let is_counted = |name: &&str| {
                LEFT_OUT.contains(name)
                    || lines.iter().any(|line| {
                        line.strip_prefix(program)
                            .and_then(|rest| rest.trim_start().strip_prefix(*name))
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                    })
            };
            if !all.iter().any(is_counted) {
                missing.push(format!("{program} {}", all.join(" ")));
            }
        }
        assert!(count > 2, "{program}: its subcommands are no longer found:\n{help}");
    }
    assert!(missing.is_empty(), "not counted: {missing:#?}");
}

#[test]
fn every_action_of_svnmucc() {
    let help = Output::of(Programs::ours().command("svnmucc").arg("--help"));
    let help = help.expect_success("svnmucc").stdout_text();
    let (_, actions) = help.split_once("Actions:\n").expect("a list of actions");
    let known: BTreeSet<&str> = actions
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let counted: BTreeSet<&str> = lists::ACTIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, counted, "actions of svnmucc, and actions that are counted");
}
