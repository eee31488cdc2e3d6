//! `--pin-externals`: the values of `svn:externals` in a tree that is copied, with the revisions that
//! are meant now written into them.

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::Kind;
use sapwood_wc::externals::parse::{External, Form, Revision as Spec};

use crate::context::Context;
use crate::externals::items;
use crate::props::{Request, list};
use crate::revision::Revision;

/// New values, by the path below the root of what is copied.
pub(crate) type PinnedExternals = Vec<(RelPathBuf, Vec<u8>)>;

/// Pins what a tree of a working copy defines, to what is checked out there.
///
/// # Errors
/// E155035 for an external that is not checked out, or not as a revision has it.
pub(crate) fn pin_local(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
) -> SvnResult<PinnedExternals> {
    let mut pinned = PinnedExternals::new();
    for (owner, _, value) in wc.externals_definitions(relpath, Depth::Infinity)? {
        let shown = wc.abspath(&owner);
        let revision = |item: &External| checked_out(ctx, wc, &owner, item);
        if let Some(value) = pin(&items(&value, &shown)?, &revision)? {
            let below = owner.rest_below(relpath)?;
            pinned.push((below.to_owned(), value));
        }
    }
    Ok(pinned)
}

/// Pins what a directory of a repository defines, to the youngest revisions.
///
/// # Errors
/// Those of sessions.
pub(crate) fn pin_remote(
    ctx: &Context,
    url: &Url,
    revision: Revnum,
    root: &Url,
) -> SvnResult<PinnedExternals> {
    let number = Revision::Number(revision);
    let request = Request {
        target: url,
        peg: number,
        revision: number,
        depth: Depth::Infinity,
        changelists: &[],
        inherited: false,
        name: Some(names::EXTERNALS),
    };
    let mut found: Vec<(UrlBuf, String)> = Vec::new();
    list(ctx, &request, &mut |node| {
        if let Some(value) = node.props.as_ref().and_then(|props| props.get(names::EXTERNALS)) {
            let owner = Url::new(&node.path)?.to_owned();
            found.push((owner, String::from_utf8_lossy(value).into_owned()));
        }
        Ok(())
    })?;
    let mut pinned = PinnedExternals::new();
    for (owner, value) in found {
        let revision = |item: &External| {
            let session = sapwood_ra::open(&item.resolve(root, &owner)?, &ctx.ra)?;
            session.latest_revnum()
        };
        if let Some(value) = pin(&items(&value, std::path::Path::new(owner.as_str()))?, &revision)?
        {
            pinned.push((owner.relpath(url)?, value));
        }
    }
    Ok(pinned)
}

/// The revision of an external that is checked out.
fn checked_out(
    ctx: &Context,
    wc: &WorkingCopy,
    owner: &RelPath,
    item: &External,
) -> SvnResult<Revnum> {
    let relpath = owner.join(RelPath::new(&item.target)?);
    let at = wc.abspath(&relpath);
    let refuse = |why: String| {
        Err(SvnError::new(
            ErrorCode::WC_PATH_UNEXPECTED_STATUS,
            format!(
                "Cannot pin external '{}' defined in {} at '{}' because {why}",
                item.url,
                names::EXTERNALS,
                wc.abspath(owner).display()
            ),
        ))
    };
    let nowhere = || {
        format!("it is not checked out in the working copy at '{}'", wc.abspath(&relpath).display())
    };
    let Some(row) = wc.db().external(&relpath)? else { return refuse(nowhere()) };
    if row.kind != Kind::Dir {
        let base = wc.db().base(&relpath)?.and_then(|base| base.revision);
        return base.map_or_else(|| refuse(nowhere()), Ok);
    }
    let (inner, below) = ctx.working_copy(&at)?;
    let summary = inner.summary(&below, None, false, ctx.cancel())?;
    let shown = at.display();
    if summary.switched {
        return refuse(format!(
            "'{shown}' has switched subtrees (switches cannot be represented in {})",
            names::EXTERNALS
        ));
    }
    if inner.has_local_changes(&below)? {
        return refuse(format!(
            "'{shown}' has local modifications (local modifications cannot be represented in {})",
            names::EXTERNALS
        ));
    }
    match summary.revisions {
        Some((least, most)) if least == most => Ok(least),
        _ => refuse(format!(
            "'{shown}' is a mixed-revision working copy (mixed-revisions cannot be represented in \
             {})",
            names::EXTERNALS
        )),
    }
}

/// A value with every external pinned; `None` when all of them are already.
fn pin(
    externals: &[External],
    revision: &dyn Fn(&External) -> SvnResult<Revnum>,
) -> SvnResult<Option<Vec<u8>>> {
    let mut value = String::new();
    let mut changed = false;
    for item in externals {
        let now = match item.peg {
            Spec::Number(_) | Spec::Date(_) => None,
            Spec::Head | Spec::WorkingCopy => Some(revision(item)?),
        };
        changed |= now.is_some();
        value.push_str(&line(item, now));
    }
    Ok(changed.then(|| value.into_bytes()))
}

/// One external as a line; `now` is what its peg revision becomes.
fn line(item: &External, now: Option<Revnum>) -> String {
    let fixed = item.revision_text.as_ref().filter(|_| item.revision != Spec::Head);
    let words = fixed.map_or_else(String::new, |text| format!("{text} "));
    match item.form {
        Form::DirectoryFirst => {
            let words = match (fixed, now) {
                (None, Some(now)) => format!("-r{now} "),
                _ => words,
            };
            format!("{} {words}{}\n", quoted(&item.target), quoted(&item.url))
        }
        Form::UrlFirst => {
            let peg = match (item.peg_text.as_ref().filter(|_| item.peg != Spec::Head), now) {
                (Some(text), _) => text.clone(),
                (None, Some(now)) => format!("@{now}"),
                (None, None) => String::new(),
            };
            format!("{words}{} {}\n", quoted(&format!("{}{peg}", item.url)), quoted(&item.target))
        }
    }
}

/// A word as it must be written to be read as one word.
fn quoted(word: &str) -> String {
    let special = |c: char| c.is_ascii_whitespace() || matches!(c, '\'' | '"' | '\\');
    if !word.is_empty() && !word.contains(special) {
        return word.to_owned();
    }
    let mut out = String::from("\"");
    for c in word.chars() {
        if matches!(c, '\\' | '"' | '\'') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(value: &str) -> Option<String> {
        let externals = items(value, std::path::Path::new("/x")).unwrap();
        let value = pin(&externals, &|_| Ok(Revnum(7))).unwrap();
        value.map(|v| String::from_utf8(v).unwrap())
    }

    #[test]
    fn lines() {
        for (value, want) in [
            ("^/a b", Some("^/a@7 b\n")),
            ("-r 3 ^/a b", Some("-r3 ^/a@7 b\n")),
            ("b svn://h/a", Some("b -r7 svn://h/a\n")),
            ("^/a@2 b", None),
            ("^/a@2 b\n^/c@HEAD 'd e'", Some("^/a@2 b\n^/c@7 \"d e\"\n")),
            ("b -r3 svn://h/a\n^/c d", Some("b -r3 svn://h/a\n^/c@7 d\n")),
        ] {
            assert_eq!(pinned(value).as_deref(), want, "{value}");
        }
    }
}
