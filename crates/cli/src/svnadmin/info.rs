//! `svnadmin info`.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::{Invocation, Runner, Subcommand};

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "info",
    aliases: &[],
    help: "usage: svnadmin info REPOS_PATH\n\n\
         Tell about the repository: its UUID, formats, layout and configuration.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let path = invocation.repository.clone();
    let repository = crate::repo::open(&path, &invocation.options)?;
    let fs = repository.fs();
    let format = fs.format();
    let youngest = fs.youngest()?;
    let repository_minor = if repository.format() >= 5 { 4 } else { 0 };
    let mut text = format!(
        "Path: {}\nUUID: {}\nRevisions: {youngest}\nRepository Format: {}\n\
         Compatible With Version: 1.{}.0\n",
        crate::repo::local_style(&path),
        fs.uuid()?,
        repository.format(),
        fs.oldest_minor_version().max(repository_minor),
    );
    if fs.records_mergeinfo() {
        text.push_str("Repository Capability: mergeinfo\n");
    }
    let engine = fs.engine();
    let title = engine.name().to_ascii_uppercase();
    let number = format.number;
    text.push_str(&format!("Filesystem Type: {}\nFilesystem Format: {number}\n", engine.name()));
    // An engine that always has shards and logical addressing does not say so.
    let has_layouts = engine.has_layouts();
    if has_layouts {
        text.push_str(&format!("{title} Sharded: {}\n", yes_no(format.shard_size.is_some())));
    }
    if let Some(size) = format.shard_size {
        let shards = |revisions: u64| {
            revisions.checked_div(size).ok_or_else(|| {
                SvnError::new(ErrorCode::FS_CORRUPT, "A shard size of 0 makes no sense")
            })
        };
        let packed = shards(fs.min_unpacked_rev()?.0)?;
        let full = shards(youngest.next().0)?;
        text.push_str(&format!(
            "{title} Shard Size: {size}\n{title} Shards Packed: {packed}/{full}\n"
        ));
    }
    if has_layouts {
        let logical = yes_no(format.logical_addressing);
        text.push_str(&format!("{title} Logical Addressing: {logical}\n"));
    }
    if let Some(address) = fs.store_address() {
        text.push_str(&format!("Store: {address}\n"));
    }
    text.push_str(&format!("Configuration File: {}\n\n", fs.config_path().display()));
    invocation.out.text(&text)
}
