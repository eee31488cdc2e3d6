//! `svn upgrade`: working copies of older formats, with the externals in them.
//!
//! From 1.7 on the database knows what externals there are. Before, only `svn:externals` did: its values
//! are read, and existing externals are upgraded too and get their rows.

use std::path::Path;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, Url, UrlBuf};
use sapwood_core::{Depth, SvnError, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{ExternalRow, FORMAT_OPTIONAL_PRISTINES, Kind, Presence};
use sapwood_wc::externals::parse::External;
use sapwood_wc::upgrade::{Caller, UpgradeNotice};

use crate::context::Context;
use crate::externals::{items, number_of, wrap};

/// Root and UUID of the repositories that were asked.
type KnownRepositories = Vec<(UrlBuf, String)>;

/// Brings a working copy to the present format, or to a requested later one (then without its
/// externals). A failing external is reported and is not an error.
///
/// # Errors
/// Those of [`sapwood_wc::upgrade::upgrade`].
pub fn upgrade(ctx: &Context, target: &str, format: Option<i64>) -> SvnResult<()> {
    let abspath = ctx.absolute(target);
    upgrade_at(ctx, &abspath, &mut KnownRepositories::new())?;
    let (wc, relpath) = ctx.working_copy(&abspath)?;
    if relpath.is_empty()
        && format == Some(FORMAT_OPTIONAL_PRISTINES)
        && wc.db().format() < FORMAT_OPTIONAL_PRISTINES
    {
        let _lock = wc.lock(RelPath::ROOT, -1)?;
        wc.db().allow_missing_pristines()?;
        ctx.notify_path(&abspath, Action::UpgradedPath, None);
    }
    Ok(())
}

/// The repository that a URL is in.
fn repository_of(
    ctx: &Context,
    known: &mut KnownRepositories,
    url: &Url,
) -> SvnResult<(UrlBuf, String)> {
    if let Some(found) = known.iter().find(|(root, _)| url.below(root).is_some()) {
        return Ok(found.clone());
    }
    let session = ctx.open_following(url)?;
    let found = (session.root_url(), session.uuid());
    known.push(found.clone());
    Ok(found)
}

fn upgrade_at(ctx: &Context, abspath: &Path, known: &mut KnownRepositories) -> SvnResult<()> {
    ctx.check_cancel()?;
    let mut caller = Caller {
        access: ctx.wc.access,
        recorded: ctx.wc.recorded.clone(),
        cancel: ctx.cancel(),
        ask: &mut |url| {
            UrlBuf::canonicalize(url)
                .map_err(SvnError::from)
                .and_then(|url| repository_of(ctx, known, &url))
                .map_err(sapwood_wc::Error::Svn)
        },
        notify: &mut |path, notice| match notice {
            UpgradeNotice::Upgraded => ctx.notify_path(path, Action::UpgradedPath, None),
            UpgradeNotice::Skipped => {
                let shown = path.to_string_lossy();
                ctx.notify(&Notify::new(Action::Skip, &shown));
            }
        },
    };
    sapwood_wc::upgrade::upgrade(abspath, &mut caller)?;
    let (wc, relpath) = ctx.working_copy(abspath)?;
    let rows = wc.db().externals(RelPath::ROOT)?;
    let mut below =
        rows.iter().filter(|row| path::is_ancestor(&relpath, &row.def_relpath)).peekable();
    if below.peek().is_none() {
        return by_properties(ctx, &wc, &relpath, known);
    }
    for row in below.filter(|row| row.kind == Kind::Dir) {
        let at = wc.abspath(&row.relpath);
        let done = upgrade_at(ctx, &at, known);
        wrap(ctx, &at, done)?;
    }
    Ok(())
}

/// Upgrades the externals that properties define, and records them.
fn by_properties(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    known: &mut KnownRepositories,
) -> SvnResult<()> {
    for (owner, _, value) in wc.externals_definitions(relpath, Depth::Infinity)? {
        let at = wc.abspath(&owner);
        let parsed = match items(&value, &at) {
            Ok(parsed) => parsed,
            Err(error) => {
                wrap(ctx, &at, Err(error))?;
                continue;
            }
        };
        for item in parsed {
            let target = owner.join(RelPath::new(&item.target)?);
            let done = one(ctx, wc, &owner, &target, &item, known);
            wrap(ctx, &wc.abspath(&target), done)?;
        }
    }
    Ok(())
}

/// Upgrades one external and writes its row.
fn one(
    ctx: &Context,
    wc: &WorkingCopy,
    owner: &RelPath,
    target: &RelPath,
    item: &External,
    known: &mut KnownRepositories,
) -> SvnResult<()> {
    let repository = wc.db().repository(wc.repos_location(owner)?.0)?;
    let wanted = item.resolve(&repository.root, &wc.url(owner)?)?;
    let at = wc.abspath(target);
    if at.is_dir() && sapwood_wc::upgrade::is_old(&at) {
        upgrade_at(ctx, &at, known)?;
    }
    let (inside, relpath) = ctx.working_copy(&at)?;
    let Some(view) = inside.view(&relpath)? else {
        return Err(SvnError::from(sapwood_wc::Error::NodeNotFound(at)));
    };
    let mut kind = view.top().kind;
    let (root, uuid) = if inside.url(&relpath)? == wanted {
        let found = inside.db().repository(inside.repos_location(&relpath)?.0)?;
        (found.root, found.uuid)
    } else {
        // It is not checked out as the property says: its kind is not known before the next update.
        kind = Kind::Unknown;
        repository_of(ctx, known, &wanted)?
    };
    let Some(place) = wanted.below(&root) else {
        return Err(SvnError::internal("an external is not in its repository"));
    };
    let repos_id = wc.db().repository_id(&root, &uuid)?;
    wc.db().put_external(&ExternalRow {
        relpath: target.to_owned(),
        repos_id,
        presence: Presence::Normal,
        kind,
        def_relpath: owner.to_owned(),
        def_repos_relpath: place,
        def_peg: number_of(item.peg),
        def_revision: number_of(item.revision),
    })?;
    Ok(())
}
