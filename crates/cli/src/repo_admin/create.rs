//! `sapwood repo create`.
//!
//! Invariant: a repository that cannot be made whole is removed again.

use std::fs;
use std::path::Path;

use sapwood_core::SvnResult;
use sapwood_repos::create::create_of;

use super::layout::{Layout, USUAL};
use super::{cannot, owner, template};
use crate::command::Options;
use crate::svnadmin;

/// Makes a repository, from a template if one is named, with the usual folders if they are asked for.
pub(super) fn create(
    options: &Options,
    path: &str,
    template: Option<&str>,
    has_layout: bool,
) -> SvnResult<()> {
    let (kind, minor) = svnadmin::create::wanted(options)?;
    let template = template.map(Path::new);
    let mut layout = Layout::default();
    if has_layout {
        USUAL.iter().try_for_each(|folder| layout.add(folder))?;
    }
    if let Some(template) = template {
        template::read_layout(template, &mut layout)?;
    }
    let path = sapwood_core::paths::absolute(Path::new(crate::repo::local_style(
        &crate::repo::local_path(path)?,
    )));
    let path = path.map_err(|e| cannot(&e, "Can't determine absolute path of", Path::new("")))?;
    create_of(&path, &kind, minor)?;
    let finished = finish(&path, template, &layout);
    if finished.is_err() {
        // The folder was empty before, so nothing of others is in it. The first error counts.
        let _ = fs::remove_dir_all(&path);
    }
    finished
}

/// What comes after an empty repository. The layout is first: the template's hooks do not run for it.
fn finish(path: &Path, template: Option<&Path>, layout: &Layout) -> SvnResult<()> {
    let user = crate::svnserve::current_user();
    layout.commit(path, user.as_deref())?;
    if let Some(template) = template {
        template::copy(template, path)?;
    }
    owner::inherit(path)
}
