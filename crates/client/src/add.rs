//! Additions: of what is on disk, and of new directories.

use std::collections::BTreeMap;
use std::fs;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::autoprops::AutoProps;
use sapwood_wc::gather::GatheredChanges;
use sapwood_wc::local::AddOptions;

use crate::context::Context;
use crate::gathered::each_located;

/// The options of an addition.
#[derive(Clone, Copy, Debug)]
pub struct Add {
    /// How deep.
    pub depth: Depth,
    /// Leaves alone what is versioned already.
    pub force: bool,
    /// Adds ignored names, too.
    pub no_ignore: bool,
    /// No automatic properties.
    pub no_auto_props: bool,
    /// Adds directories above, too.
    pub parents: bool,
}

impl Context {
    /// `[auto-props]` of the configuration, if they are enabled.
    ///
    /// # Errors
    /// A value that is neither yes nor no.
    pub fn auto_props(&self) -> SvnResult<AutoProps> {
        let mut auto = AutoProps::default();
        if self.config().get_bool("miscellany", "enable-auto-props", false)? {
            for (pattern, value) in self.config().options("auto-props") {
                auto.add(pattern, &String::from_utf8_lossy(&value));
            }
        }
        Ok(auto)
    }
}

/// Adds what is at local paths. `failed` decides what an error of one means for the others.
///
/// # Errors
/// Those of `failed`, which gets: those of [`WorkingCopy::add`], and E155007 for what is in no working copy.
pub fn add(
    ctx: &Context,
    targets: &[String],
    how: Add,
    failed: &mut dyn FnMut(SvnError) -> SvnResult<()>,
) -> SvnResult<()> {
    let options = AddOptions {
        depth: how.depth,
        force: how.force,
        no_ignore: how.no_ignore,
        ignores: ctx.ignores(),
        auto_props: if how.no_auto_props { None } else { Some(ctx.auto_props()?) },
        media_types: media_types(ctx)?,
        parents: how.parents,
    };
    let mut each = |gathered: &GatheredChanges<'_>, _: &str, relpath: &RelPath| {
        Ok(gathered.wc().add(relpath, &options, gathered)?)
    };
    each_located(ctx, targets, &mut |target| locate(ctx, target, how), &mut each, failed)
}

/// The working copy that a path is added to, and its path there.
fn locate(ctx: &Context, target: &str, how: Add) -> SvnResult<(WorkingCopy, RelPathBuf)> {
    let abspath = ctx.absolute(target);
    let is_root = abspath.join(".svn").is_dir() && !abspath.is_symlink();
    if is_root && !how.force {
        let message = format!("'{}' is already under version control", abspath.display());
        return Err(SvnError::new(ErrorCode::ENTRY_EXISTS, message));
    }
    if is_root {
        return ctx.working_copy(&abspath);
    }
    let parent = abspath.parent().unwrap_or(&abspath);
    let (wc, _) = ctx.working_copy(parent)?;
    let relpath = wc.relpath(&abspath)?;
    // One unversioned folder above is reported below. With two, locking fails, as in 1.14.
    let unknown = |dir: &RelPath| Ok::<_, SvnError>(!dir.is_empty() && wc.db().top(dir)?.is_none());
    let above = relpath.parent();
    let further = above.parent();
    if !how.parents && unknown(above)? && unknown(further)? {
        return Err(sapwood_wc::Error::NodeNotFound(wc.abspath(further)).into());
    }
    Ok((wc, relpath))
}

/// The media types in the file that the option `mime-types-file` names, by extension.
pub(crate) fn media_types(ctx: &Context) -> SvnResult<BTreeMap<String, String>> {
    let mut types = BTreeMap::new();
    let Some(file) = ctx.config().get("miscellany", "mime-types-file") else { return Ok(types) };
    let text = fs::read_to_string(&*file)
        .map_err(|e| SvnError::io(&e, format!("Can't open file '{file}'")))?;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_ascii_whitespace();
        if let Some(media) = words.next() {
            types.extend(words.map(|ext| (ext.to_ascii_lowercase(), media.to_owned())));
        }
    }
    Ok(types)
}

/// Makes a directory and adds it.
///
/// # Errors
/// When it exists or cannot be made; those of [`add`].
pub fn make_directory(ctx: &Context, path: &str, parents: bool) -> SvnResult<()> {
    let abspath = ctx.absolute(path);
    let was_there = abspath.exists();
    let made = if parents { fs::create_dir_all(&abspath) } else { fs::create_dir(&abspath) };
    made.map_err(|e| SvnError::io(&e, format!("Can't create directory '{}'", abspath.display())))?;
    let how =
        Add { depth: Depth::Empty, force: false, no_ignore: false, no_auto_props: false, parents };
    add(ctx, &[path.to_owned()], how, &mut Err).inspect_err(|_| {
        if !was_there {
            // A directory that cannot be added is removed again.
            let _ = fs::remove_dir(&abspath);
        }
    })
}
