//! Which of the experimental subcommands of shelves there are in a run.

use sapwood_client::shelf::Store;

use super::Command;
use super::shelves::chosen;

/// The subcommands, in the order of their names. The last one is there with the store of working copies alone.
static COMMANDS: &[Command] = &[
    super::x_shelf_diff::COMMAND,
    super::x_shelf_drop::COMMAND,
    super::x_shelf_list::COMMAND,
    super::x_shelf_list_by_paths::COMMAND,
    super::x_shelf_log::COMMAND,
    super::x_shelf_save::COMMAND,
    super::x_shelve::COMMAND,
    super::x_unshelve::COMMAND,
    super::x_wc_copy_mods::COMMAND,
];

/// The experimental subcommands that there are in this run.
pub(super) fn commands() -> &'static [Command] {
    match chosen() {
        None => &[],
        Some(Store::V2) => COMMANDS.split_last().map_or(COMMANDS, |(_, shared)| shared),
        Some(Store::V3) => COMMANDS,
    }
}

/// All of them, whatever the environment says.
#[cfg(test)]
pub(super) fn all_commands() -> &'static [Command] {
    COMMANDS
}
