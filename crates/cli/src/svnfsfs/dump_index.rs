//! `svnfsfs dump-index`.

use sapwood_core::{Revnum, SvnResult};

use crate::command::Invocation;
use crate::revision::RevisionSpec;

/// The words for the numbers of item types.
pub(super) const TYPES: [&str; 8] =
    ["none ", "frep ", "drep ", "fprop", "dprop", "node ", "chgs ", "rep  "];

/// `svnfsfs dump-index`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    // Without a revision it is revision 0 that is looked at, as ever.
    let revision = match invocation.options.revision.start {
        RevisionSpec::Number(revision) => revision,
        _ => Revnum::ZERO,
    };
    let fs = super::open(invocation)?;
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
