//! `svnfsfs dump-index`.

use sapwood_core::{Revnum, SvnResult};

use crate::command::{Invocation, Runner, Subcommand, name};
use crate::revision::RevisionSpec;

/// The words for the numbers of item types.
pub(super) const TYPES: [&str; 8] =
    ["none ", "frep ", "drep ", "fprop", "dprop", "node ", "chgs ", "rep  "];

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "dump-index",
    aliases: &[],
    help: "usage: svnfsfs dump-index REPOS_PATH -r REV\n\n\
         Print the index of the revision file or pack that holds a revision, for formats\n\
         7 and 8.  After a heading there is one line an item, in the order in which they\n\
         lie in the file:\n\n\
         \x20  * where it starts, and its length, in bytes (hexadecimal)\n\
         \x20  * what it is: none (unused), frep, drep (contents of a file or directory),\n\
         \x20    fprop, dprop (their properties), node (a node-revision), chgs (changed\n\
         \x20    paths), rep (contents of any kind), ??? (the index is corrupt)\n\
         \x20  * its revision, and its number there\n\
         \x20  * its FNV-1a checksum (hexadecimal)\n",
    options: &[name::REVISION, name::MEMORY_CACHE_SIZE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    // Without a revision it is revision 0 that is looked at, as ever.
    let revision = match invocation.options.revision.start {
        RevisionSpec::Number(revision) => revision,
        _ => Revnum::ZERO,
    };
    let fs = super::open(invocation)?;
    fs.require_fsfs()?;
    let out = &mut invocation.out;
    out.text("       Start       Length Type   Revision     Item Checksum\n")?;
    fs.dump_index(revision, &crate::signals::cancel_token(), &mut |entry| {
        let kind = TYPES.get(usize::from(entry.item_type.number())).unwrap_or(&"???");
        Ok(out.text(&format!(
            "{:>12x} {:>12x} {kind} {:>9} {:>8} {:08x}\n",
            entry.offset,
            entry.size,
            entry.revision.0.cast_signed(),
            entry.item,
            entry.fnv1
        ))?)
    })?;
    Ok(())
}
