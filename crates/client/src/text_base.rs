//! Text bases of working copies that do not keep all of them: fetched before an operation that needs
//! them, dropped after it.
//!
//! Every operation that may read the text base of a modified file runs within [`with_text_bases`]. Where
//! all text bases are kept, that costs nothing.

use sapwood_core::SvnResult;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, UrlBuf};
use sapwood_wc::text_base::MissingText;
use sapwood_wc::{Error, WorkingCopy};

use crate::context::Context;

/// Whether fetched texts are reported: not where the output is the requested text itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextNotices {
    Yes,
    No,
}

/// Does `work` with the text bases of all modified files at and below a path at hand.
///
/// # Errors
/// Those of `work`; that a text cannot be fetched, before `work` is begun.
pub(crate) fn with_text_bases<T>(
    ctx: &Context,
    (wc, relpath): (&WorkingCopy, &RelPath),
    notices: TextNotices,
    work: impl FnOnce() -> SvnResult<T>,
) -> SvnResult<T> {
    if wc.stores_pristines() {
        return work();
    }
    wc.db().released(|| {
        fetch(ctx, wc, relpath, notices)?;
        let done = work();
        let dropped = wc.drop_text_bases(relpath, ctx.cancel());
        let done = done?;
        dropped?;
        Ok(done)
    })
}

/// Fetches what modified files need and the store does not have.
fn fetch(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    notices: TextNotices,
) -> SvnResult<()> {
    let missing = wc.missing_text_bases(relpath, ctx.cancel())?;
    let Some(first) = missing.first() else { return Ok(()) };
    let say = |action| {
        if notices == TextNotices::Yes {
            ctx.notify(&Notify::new(action, ""));
        }
    };
    say(Action::FetchingTextBases);
    let session = ctx.open_following(&place(first).0)?;
    for text in &missing {
        ctx.check_cancel()?;
        let (folder, name) = place(text);
        if session.url() != folder {
            session.reparent(&folder)?;
        }
        wc.hydrate(text, |to| {
            let fetched =
                session.get_file(RelPath::trusted(&name), Some(text.revision), Some(to), false);
            fetched.map(drop).map_err(Error::Svn)
        })?;
        say(Action::FetchedTextBase);
    }
    say(Action::FetchedTextBases);
    Ok(())
}

/// The URL of the folder that a text is in, and its name there.
fn place(text: &MissingText) -> (UrlBuf, String) {
    let (folder, name) = sapwood_core::path::split(&text.repos_path);
    (text.root.join(RelPath::trusted(folder)), name.to_owned())
}
