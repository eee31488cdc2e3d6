//! Mergeinfo that says no more than what a node would inherit is taken away.

use sapwood_core::notify::{Action, Notify, State};
use sapwood_core::paths::RelPath;
use sapwood_core::{Inherit, SvnResult};
use sapwood_ra::Session;

use super::Merge;
use super::record::write_one;
use crate::context::Context;
use crate::mergeinfo::local::{MergeinfoCache, find_anywhere};
use crate::mergeinfo::place::RepoLocation;
use crate::mergeinfo::{Catalog, Mergeinfo};
use crate::working::Node;

/// Whether mergeinfo of a node says the same as what it would inherit.
#[must_use]
fn is_redundant(inherited: Option<&Mergeinfo>, own: &Mergeinfo) -> bool {
    match inherited.filter(|inherited| !inherited.is_empty()) {
        None => own.is_empty(),
        Some(inherited) => !own.is_empty() && inherited.equals(own, true),
    }
}

/// Takes away what is redundant in a catalog.
pub(super) fn elide_catalog(catalog: &mut Catalog) -> SvnResult<()> {
    let paths: Vec<String> = catalog.keys().cloned().collect();
    let mut redundant = Vec::new();
    for relpath in paths {
        let mut at = relpath.as_str();
        // The nearest with mergeinfo of its own, redundant or not.
        let above = loop {
            if at.is_empty() {
                break None;
            }
            at = sapwood_core::path::dirname(at);
            if let Some(found) = catalog.get(at) {
                break Some(found);
            }
        };
        let (Some(above), Some(own)) = (above, catalog.get(&relpath)) else { continue };
        let below = sapwood_core::path::rest_below(at, &relpath)?;
        if is_redundant(Some(&above.with_suffix(below)), own) {
            redundant.push(relpath);
        }
    }
    for relpath in redundant {
        catalog.remove(&relpath);
    }
    Ok(())
}

/// A value that cannot be parsed means here that there is nothing to compare.
fn readable<T>(result: SvnResult<T>) -> SvnResult<Option<T>> {
    match result {
        Err(error) if error.is_bad_mergeinfo() => Ok(None),
        other => other.map(Some),
    }
}

fn from_repository(
    ctx: &Context,
    node: &Node,
    session: Option<&dyn Session>,
) -> SvnResult<Option<Mergeinfo>> {
    let opened;
    let session = match (session, RepoLocation::origin(node)?) {
        (Some(session), _) => session,
        (None, None) => return Ok(None),
        (None, Some(place)) => {
            opened = sapwood_ra::open(&place.url(), &ctx.ra)?;
            opened.as_ref()
        }
    };
    Ok(find_anywhere(node, session, Inherit::NearestAncestor, true)?.mergeinfo)
}

impl Merge<'_> {
    /// Takes the mergeinfo of a node away if it is redundant. Looks no higher than `limit`; without
    /// it in the repository too (with `session`, or else a new one).
    pub(super) fn elide(
        &self,
        relpath: &RelPath,
        limit: Option<&RelPath>,
        session: Option<&dyn Session>,
        seen: &MergeinfoCache,
    ) -> SvnResult<()> {
        let (ctx, wc) = (self.ctx, self.wc());
        if limit == Some(relpath) {
            return Ok(());
        }
        let found = readable(seen.own_and_above(wc, relpath, limit))?;
        let Some((Some(own), above)) = found else { return Ok(()) };
        let mut inherited = above.mergeinfo;
        if inherited.is_none() {
            if limit.is_some() {
                return Ok(());
            }
            let node = self.node(relpath)?;
            let Some(found) = readable(from_repository(ctx, &node, session))? else {
                return Ok(());
            };
            inherited = found;
        }
        if !is_redundant(inherited.as_ref(), &own) {
            return Ok(());
        }
        write_one(wc, &self.undo, relpath, None, None)?;
        seen.forget();
        let path = wc.abspath(relpath);
        let shown = path.to_string_lossy();
        ctx.notify(&Notify::new(Action::MergeElideInfo, &shown));
        ctx.notify(&Notify { props: State::Changed, ..Notify::new(Action::UpdateUpdate, &shown) });
        Ok(())
    }

    /// Takes the target's mergeinfo away when what is above says the same.
    pub(super) fn elide_target(&self) -> SvnResult<()> {
        let session = self.same_repos.then_some(self.left.as_ref());
        self.elide(&self.target.relpath, None, session, &MergeinfoCache::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(text: &[u8]) -> Mergeinfo {
        Mergeinfo::parse(text).unwrap()
    }

    #[test]
    fn what_is_redundant() {
        for (inherited, own, want) in [
            (None, "", true),
            (Some(""), "", true),
            (Some("/a:3"), "", false),
            (None, "/a:3", false),
            (Some("/a:3"), "/a:3", true),
            (Some("/a:3*"), "/a:3", false),
        ] {
            let inherited = inherited.map(|text| info(text.as_bytes()));
            assert_eq!(is_redundant(inherited.as_ref(), &info(own.as_bytes())), want, "{own}");
        }
    }

    #[test]
    fn catalogs() {
        let mut catalog: Catalog = [("t", "/a:3"), ("t/x", "/a/x:3"), ("t/x/y", "/a/x/y:4")]
            .map(|(path, text)| (path.to_owned(), info(text.as_bytes())))
            .into();
        elide_catalog(&mut catalog).unwrap();
        assert_eq!(catalog.into_keys().collect::<Vec<_>>(), ["t", "t/x/y"]);
    }
}
