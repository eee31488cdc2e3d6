//! A working copy is made, with a root that an update then fills.

use std::fs;
use std::path::Path;

use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{FORMAT, FORMAT_OPTIONAL_PRISTINES, Kind, NodeRow, Presence};

use crate::context::Context;
use crate::revision::Revision;

/// How a working copy is made.
#[derive(Clone, Copy, Debug)]
pub struct Checkout {
    /// The revision; unspecified is that of the peg, or HEAD.
    pub revision: Revision,
    /// How deep.
    pub depth: Depth,
    /// Whether externals are left out.
    pub ignore_externals: bool,
    /// Whether existing files and directories may be taken for added ones.
    pub allow_obstructions: bool,
    /// The form of a new working copy.
    pub form: Form,
}

/// The form of a new working copy: format and text bases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Its format, if one was requested.
    pub format: Option<i64>,
    /// Whether it keeps all text bases.
    pub store_pristine: Option<bool>,
}

impl Form {
    fn stores_pristines(self) -> bool {
        self.store_pristine.unwrap_or(true)
    }

    /// The format to make: the oldest that has the requested features.
    ///
    /// # Errors
    /// E155042 when the requested format lacks them.
    fn format(self) -> SvnResult<i64> {
        let able = if self.stores_pristines() { FORMAT } else { FORMAT_OPTIONAL_PRISTINES };
        match self.format {
            Some(format) if format < able => {
                let message = format!(
                    "A working copy of format {format} keeps all pristine texts: \
                     '--store-pristine=no' needs one of Subversion 1.15"
                );
                Err(SvnError::new(ErrorCode::WC_INCOMPATIBLE_SETTINGS, message))
            }
            asked => Ok(asked.unwrap_or(able)),
        }
    }
}

/// The location that a new working copy is of.
pub(crate) struct Area<'a> {
    pub(crate) root: &'a Url,
    pub(crate) uuid: &'a str,
    pub(crate) place: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) revision: Revnum,
}

/// Makes the directory a working copy, or sees that it is one of this URL.
pub(crate) fn prepare(
    ctx: &Context,
    abspath: &Path,
    area: &Area<'_>,
    how: &Checkout,
) -> SvnResult<()> {
    let shown = abspath.display();
    match fs::symlink_metadata(abspath) {
        Ok(found) if found.is_dir() || (found.is_symlink() && abspath.is_dir()) => {
            let own = fs::symlink_metadata(sapwood_wc::layout::db(abspath)).is_ok();
            let versioned = || {
                let node = crate::working::Node::find(ctx, &abspath.to_string_lossy());
                node.is_ok_and(|node| node.top.kind == Kind::Dir && !node.is_deleted())
            };
            if !own && !versioned() {
                return initialize(ctx, abspath, area, how);
            }
        }
        Ok(_) => {
            let message = format!("'{shown}' already exists and is not a directory");
            return Err(SvnError::new(ErrorCode::WC_NODE_KIND_CHANGE, message));
        }
        Err(_) => {
            fs::create_dir_all(abspath)
                .map_err(|e| SvnError::io(&e, format!("Can't make directory '{shown}'")))?;
            return initialize(ctx, abspath, area, how);
        }
    }
    let (wc, relpath) = ctx.working_copy(abspath)?;
    // A checkout that was stopped before the database had a root.
    if relpath.is_empty() && wc.db().top(RelPath::ROOT)?.is_none() {
        return put_root(&wc, area, how);
    }
    if wc.url(&relpath)? != area.url {
        let message = format!("'{shown}' is already a working copy for a different URL");
        return Err(SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message));
    }
    let different = |what: &str| {
        let message =
            format!("'{shown}' is an existing working copy with different '{what}' setting");
        Err(SvnError::new(ErrorCode::WC_INCOMPATIBLE_SETTINGS, message))
    };
    let settings = wc.db().settings();
    if how.form.store_pristine.is_some_and(|asked| asked != settings.store_pristine) {
        return different("store-pristine");
    }
    if how.form.format.is_some_and(|asked| asked != settings.format) {
        return different("compatible-version");
    }
    Ok(())
}

/// The option of the `config` file with which all new working copies keep no text bases, but where
/// something else is requested.
pub const STORE_PRISTINE: (&str, &str) = ("sapwood", "store-pristine");

fn initialize(ctx: &Context, abspath: &Path, area: &Area<'_>, how: &Checkout) -> SvnResult<()> {
    let mut form = how.form;
    if form == Form::default() {
        let (section, option) = STORE_PRISTINE;
        form.store_pristine = Some(ctx.config().get_bool(section, option, true)?);
    }
    let format = form.format()?;
    let wc = WorkingCopy::create(abspath, ctx.wc.clone())?;
    if format == FORMAT_OPTIONAL_PRISTINES {
        wc.db().allow_missing_pristines()?;
        wc.db().set_store_pristine(form.stores_pristines())?;
    }
    put_root(&wc, area, how)
}

/// The root's row, incomplete: the update brings the rest.
fn put_root(wc: &WorkingCopy, area: &Area<'_>, how: &Checkout) -> SvnResult<()> {
    wc.db().write(|db| {
        let repos = db.repository_id(area.root, area.uuid)?;
        let mut row = NodeRow::new(RelPath::ROOT, 0, Presence::Incomplete, Kind::Dir);
        row.repos_id = Some(repos);
        row.repos_path = Some(RelPath::new(area.place)?.to_owned());
        row.revision = Some(area.revision);
        row.depth = Some(if how.depth == Depth::Unknown { Depth::Infinity } else { how.depth });
        row.properties = Some(b"()".to_vec());
        db.put_node(&row)
    })?;
    Ok(())
}
