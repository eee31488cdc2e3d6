//! The target of a patch: which path of the working copy it means, what is there, and what the patch is
//! to do to it as a whole.
//!
//! Nothing outside the folder that the patch is applied to is a target: not by `..`, not by an absolute name, and
//! not through a symbolic link on the way that leads out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, SvnError, SvnResult, path};
use sapwood_diff::patch::{Hunk, Operation, Patch};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, Presence};
use sapwood_wc::root::disk_kind;
use sapwood_wc::status::State;
use sapwood_wc::translate::{EolStyle, Translation, special};
use sapwood_wc::view::{Status, View};

use super::content::Content;
use super::output::Output;
use super::place::HunkPosition;
use super::{PatchRun, WcDir};

/// A property that a patch is applied to.
pub(super) struct PropTarget {
    pub(super) operation: Operation,
    pub(super) content: Content,
    /// Its value before, if it had one that was not empty.
    pub(super) had_value: bool,
    /// Its value after.
    pub(super) patched: Vec<u8>,
    pub(super) placed: Vec<HunkPosition>,
    /// Whether it stays as it is.
    pub(super) skipped: bool,
}

/// The target of a patch.
#[derive(Default)]
pub(super) struct Target {
    /// The name in the patch.
    pub(super) said: String,
    /// The same without what is stripped.
    pub(super) stripped: String,
    /// The path, absolute; `None` for what is outside.
    pub(super) abspath: Option<String>,
    /// The kind under version control.
    pub(super) kind: Option<NodeKind>,
    /// The kind on disk; links count as files.
    pub(super) on_disk: Option<NodeKind>,
    pub(super) is_link: bool,
    /// Whether the path on disk is a file without contents.
    pub(super) is_empty: bool,
    /// Whether it is a special file afterwards.
    pub(super) is_special: bool,
    /// Whether the patch has links as git has them, without `link `.
    pub(super) git_link: bool,
    pub(super) executable: bool,
    pub(super) locally_deleted: bool,
    pub(super) skipped: bool,
    pub(super) obstructed: bool,
    pub(super) operation: Operation,
    pub(super) added: bool,
    pub(super) deleted: bool,
    /// Where it is moved to, absolute.
    pub(super) move_to: Option<String>,
    pub(super) has_text: bool,
    pub(super) has_props: bool,
    pub(super) had_rejects: bool,
    pub(super) had_prop_rejects: bool,
    pub(super) had_applied: bool,
    pub(super) had_prop_applied: bool,
    /// Its properties, of a plain file of BASE.
    pub(super) plain: Option<PropList>,
    pub(super) translation: Translation,
    pub(super) content: Option<Content>,
    pub(super) placed: Vec<HunkPosition>,
    pub(super) props: BTreeMap<String, PropTarget>,
    pub(super) patched: Output,
    /// Hunks that do not fit, with the property that they are for.
    pub(super) rejects: Vec<(Option<String>, Hunk)>,
    /// The names above them.
    pub(super) reject_names: (String, String),
}

impl Target {
    /// The path that is shown.
    pub(super) fn display_path(&self) -> &str {
        self.abspath.as_deref().unwrap_or(&self.stripped)
    }

    /// The path, of a target that is not skipped.
    pub(super) fn abspath(&self) -> SvnResult<&str> {
        self.abspath.as_deref().ok_or_else(|| SvnError::internal("a patch target without a path"))
    }

    /// Whether there is nothing under version control.
    pub(super) const fn is_missing(&self) -> bool {
        self.locally_deleted || self.kind.is_none()
    }
}

impl PatchRun<'_> {
    /// Looks at what a patch is about.
    pub(super) fn target(&self, patch: &Patch) -> SvnResult<Target> {
        self.leaf.take();
        let mut target = Target { operation: patch.operation, ..Target::default() };
        let has_text = !patch.hunks.is_empty() || patch.binary.is_some();
        let follow = match patch.operation {
            // A node that was moved away may be replaced.
            Operation::Added | Operation::Moved => false,
            Operation::Unchanged => match patch.hunks.as_slice() {
                [only] => only.before.start != 0,
                _ => true,
            },
            _ => true,
        };
        self.find(&mut target, chosen_name(patch), has_text, follow)?;
        if !target.skipped {
            let links = [patch.old_mode.symlink, patch.new_mode.symlink];
            target.git_link = links.contains(&Some(true));
            match patch.operation {
                Operation::Added => target.added = true,
                Operation::Deleted => target.deleted = true,
                Operation::Moved => self.find_move(&mut target, &patch.new_name)?,
                _ => {}
            }
            if target.skipped {
                return Ok(target);
            }
            self.open(&mut target)?;
            self.open_props(&mut target, patch)?;
        }
        target.imply(patch);
        let name = |gone: bool| if gone { "/dev/null" } else { &target.said }.to_owned();
        target.reject_names = (name(target.added), name(target.deleted));
        Ok(target)
    }

    /// Finds the path that a name in a patch means.
    fn find(&self, target: &mut Target, name: &str, has_text: bool, follow: bool) -> SvnResult<()> {
        name.clone_into(&mut target.said);
        // A text cannot be that of the folder itself.
        if has_text && name.is_empty() {
            target.skipped = true;
            return Ok(());
        }
        target.stripped = strip(name, self.request.strip)?;
        let Some(abspath) = self.inside(&target.stripped)? else {
            target.skipped = true;
            return Ok(());
        };
        if let Some(below) = path::skip_ancestor(&self.root, &target.stripped) {
            target.stripped = below.to_owned();
        }
        target.abspath = Some(abspath.clone());
        if self.through_link(&abspath)? {
            target.skipped = true;
            target.obstructed = fs::symlink_metadata(&abspath).is_ok();
            return Ok(());
        }
        if self.known.is_deleted(&abspath) {
            target.locally_deleted = true;
            return Ok(());
        }
        self.look(target, &abspath, follow)
    }

    /// Looks at a path: what may not be touched is skipped.
    fn look(&self, target: &mut Target, abspath: &str, follow: bool) -> SvnResult<()> {
        let (wc, relpath) = self.place_of(abspath)?;
        if let Some(props) = self.plain_props(&wc, &relpath)? {
            target.kind = Some(NodeKind::File);
            target.on_disk = target.kind;
            target.plain = Some(props);
            return Ok(());
        }
        match wc.status_of(&relpath).map_err(SvnError::from) {
            Err(error) if error.is_not_versioned() => {
                // Nothing above is versioned either.
                if fs::symlink_metadata(abspath).is_ok() {
                    target.skipped = true;
                    target.obstructed = true;
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
            Ok(status) => {
                let left_alone = matches!(
                    status.node,
                    State::Ignored | State::Unversioned | State::Missing | State::Obstructed
                );
                if left_alone || status.conflicted {
                    target.skipped = true;
                    target.obstructed = true;
                    return Ok(());
                }
                target.locally_deleted = status.node == State::Deleted;
                target.kind = status.kind.filter(|_| status.versioned);
            }
        }
        target.see_disk(abspath)?;
        if !target.locally_deleted {
            return Ok(());
        }
        let followed = follow && !self.known.is_added(abspath);
        let moved = match wc.view(&relpath)? {
            Some(view) if followed && view.status() == Status::Deleted => wc.moved_to(&view)?,
            _ => None,
        };
        let Some((to, _)) = moved else {
            target.skipped = target.on_disk.is_some();
            return Ok(());
        };
        let to = wc.abspath(&to).to_string_lossy().into_owned();
        match path::skip_ancestor(&self.root, &to) {
            Some(below) if !below.is_empty() => below.clone_into(&mut target.stripped),
            _ => target.skipped = true,
        }
        target.abspath = Some(to.clone());
        target.skipped |= self.through_link(&to)?;
        if target.skipped {
            return Ok(());
        }
        target.locally_deleted = false;
        target.see_disk(&to)
    }

    /// The properties of a path with a plain file, of BASE and without a conflict: nothing else in its
    /// status matters. `None` for everything that needs a closer look.
    fn plain_props(&self, wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Option<PropList>> {
        if !self.leaf.borrow().is_file {
            return Ok(None);
        }
        let Some(view) = wc.view(relpath)? else { return Ok(None) };
        let top = view.top();
        let plain = top.op_depth == 0
            && top.presence == Presence::Normal
            && top.kind == Kind::File
            && !top.file_external
            && view.conflict_data().is_none();
        if !plain {
            return Ok(None);
        }
        let props = view.props()?;
        Ok(props.get(names::SPECIAL).is_none().then_some(props))
    }

    /// Finds the path that a file is moved to.
    fn find_move(&self, target: &mut Target, name: &str) -> SvnResult<()> {
        let to = match self.inside(&strip(name, self.request.strip)?)? {
            Some(to) if !self.through_link(&to)? => to,
            _ => {
                target.skipped = true;
                return Ok(());
            }
        };
        let (wc, relpath) = self.place_of(&to)?;
        let kind = self.kind_of(&to)?;
        let on_disk = disk_kind(to.as_ref())?;
        if kind.is_none() {
            target.skipped = on_disk.is_some() || self.known.is_added(&to);
            target.move_to = (!target.skipped).then_some(to);
            return Ok(());
        }
        let view = wc.require_view(&relpath)?;
        let from = wc.moved_from(&view)?;
        let from = from.map(|(from, _)| wc.abspath(&from).to_string_lossy().into_owned());
        if from.is_none() || from != target.abspath {
            target.skipped = true;
            return Ok(());
        }
        // It was moved already: what is left is its text.
        target.operation = Operation::Modified;
        target.locally_deleted = false;
        target.kind = kind;
        target.had_applied = true;
        target.see_disk(&to)?;
        target.abspath = Some(to);
        Ok(())
    }

    /// Opens the present content.
    fn open(&self, target: &mut Target) -> SvnResult<()> {
        let abspath = target.abspath()?.to_owned();
        let ignore = self.request.ignore_whitespace;
        let failed = |e| SvnError::io(&e, format!("Can't open file '{abspath}'"));
        if target.is_link {
            let normal = special::link_normal_form(abspath.as_ref()).map_err(failed)?;
            let text = match normal.strip_prefix(b"link ") {
                Some(rest) if target.git_link => rest.to_vec(),
                _ => normal,
            };
            target.content = Some(Content::of_value(text, ignore)?);
        } else if target.on_disk == Some(NodeKind::File) {
            let file = File::open(&abspath).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            target.executable = found.permissions().mode() & 0o100 != 0;
            target.is_empty = found.is_file() && found.len() == 0;
            let (wc, relpath) = self.place_of(&abspath)?;
            let viewed = match &target.plain {
                Some(_) => None,
                None => wc.view(&relpath)?.map(|view| view.props()).transpose()?,
            };
            if let Some(props) = target.plain.as_ref().or(viewed.as_ref()) {
                target.translation = wc.translation(&relpath, props)?;
                if target.translation.eol == EolStyle::Unknown {
                    target.translation.eol = EolStyle::None;
                }
            }
            let file = (file, found.len());
            target.content = Some(Content::of_file(file, &target.translation, ignore)?);
        }
        Ok(())
    }

    /// Opens the properties that a patch is about, those that are implied by bits included.
    fn open_props(&self, target: &mut Target, patch: &Patch) -> SvnResult<()> {
        for (name, prop) in &patch.props {
            let opened = self.open_prop(target, name, prop.operation)?;
            target.props.insert(name.clone(), opened);
        }
        let bits = [
            (names::EXECUTABLE, patch.old_mode.executable, patch.new_mode.executable),
            (names::SPECIAL, patch.old_mode.symlink, patch.new_mode.symlink),
        ];
        for (name, old, new) in bits {
            let operation = match (old, new) {
                (old, new) if old == new => continue,
                (_, Some(true)) => Operation::Added,
                (Some(true), Some(false)) => Operation::Deleted,
                _ => continue,
            };
            match target.props.get(name) {
                None => {
                    let opened = self.open_prop(target, name, operation)?;
                    target.props.insert(name.to_owned(), opened);
                }
                Some(prop) if prop.operation != operation => {
                    let shown = target.display_path();
                    return Err(SvnError::new(
                        ErrorCode::INVALID_INPUT,
                        format!(
                            "Invalid patch: specifies contradicting mode changes and {name} changes \
                             (for '{shown}')"
                        ),
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn open_prop(
        &self,
        target: &Target,
        name: &str,
        operation: Operation,
    ) -> SvnResult<PropTarget> {
        let mut value = None;
        if !target.deleted && target.kind.is_some() {
            let (wc, relpath) = self.place_of(target.abspath()?)?;
            // A deleted node has no properties.
            if let Some(view) = wc.view(&relpath)?.filter(is_there) {
                value = view.props()?.get(name).map(<[u8]>::to_vec);
            }
        }
        let had_value = value.as_ref().is_some_and(|value| !value.is_empty());
        let content = match value {
            Some(value) => Content::of_value(value, self.request.ignore_whitespace)?,
            None => Content::none(),
        };
        let (patched, placed) = (Vec::new(), Vec::new());
        Ok(PropTarget { operation, content, had_value, patched, placed, skipped: false })
    }

    /// The absolute path that a name means, if it is below the folder that the patch is applied to (or is it).
    fn inside(&self, name: &str) -> SvnResult<Option<String>> {
        let mut rest = name;
        if name.starts_with('/') {
            match path::skip_ancestor(&self.root, name) {
                Some(below) if !below.is_empty() => rest = below,
                _ => return Ok(None),
            }
        }
        let mut found: Vec<&str> = Vec::new();
        for part in path::components(rest) {
            match part {
                "." => {}
                ".." if found.pop().is_none() => return Ok(None),
                ".." => {}
                // A file inside the administrative directory is not the user's.
                ".svn" => return Ok(None),
                part if part.contains('\0') => return Ok(None),
                part => found.push(part),
            }
        }
        Ok(Some(path::join(&self.root, &found.join("/"))))
    }

    /// Whether a symbolic link on the way to a path leads out of the folder, into an administrative folder, or
    /// nowhere. Links that stay inside are followed, as by any other program.
    fn through_link(&self, abspath: &str) -> SvnResult<bool> {
        let Some(below) = path::skip_ancestor(&self.root, abspath) else { return Ok(true) };
        let mut at = self.root.clone();
        for name in path::components(path::dirname(below)) {
            at = path::join(&at, name);
            match disk_kind(at.as_ref())? {
                Some(kind) if kind.is_symlink() && !self.stays_inside(&at) => return Ok(true),
                Some(_) => {}
                None => break,
            }
        }
        Ok(false)
    }

    fn stays_inside(&self, link: &str) -> bool {
        let (Ok(root), Ok(real)) = (fs::canonicalize(&self.root), fs::canonicalize(link)) else {
            return false;
        };
        let below = real.strip_prefix(root);
        below.is_ok_and(|below| below.components().all(|part| part.as_os_str() != ".svn"))
    }

    /// The working copy that a path is in, and the path in it. Looked for once for all that is in the same
    /// directory: a patch is about many files of few; and at the same file once a patch.
    pub(super) fn place_of(&self, abspath: &str) -> SvnResult<(WorkingCopy, RelPathBuf)> {
        let (dir, name) = path::split(abspath);
        if let Some(place) = self.place.borrow().as_ref()
            && place.dir == dir
            && self.leaf.borrow().abspath == abspath
        {
            return Ok((place.wc.clone(), place.relpath.child(name)));
        }
        let on_disk = disk_kind(abspath.as_ref())?;
        let is_dir = on_disk.is_some_and(|kind| kind.is_dir());
        // A directory may be the root of another working copy, and a link lead to one.
        let is_leaf = !is_dir && on_disk.is_none_or(|kind| !kind.is_symlink());
        match self.place.borrow().as_ref() {
            Some(place) if is_dir && place.dir == abspath => {
                return Ok((place.wc.clone(), place.relpath.clone()));
            }
            Some(place) if is_leaf && place.dir == dir => {
                let is_file = on_disk.is_some_and(|kind| kind.is_file());
                let mut leaf = self.leaf.borrow_mut();
                abspath.clone_into(&mut leaf.abspath);
                leaf.is_file = is_file;
                return Ok((place.wc.clone(), place.relpath.child(name)));
            }
            _ => {}
        }
        let (wc, relpath) = self.ctx.working_copy(abspath.as_ref())?;
        if is_leaf && !relpath.is_empty() {
            let relpath = relpath.parent().to_owned();
            let place = WcDir { dir: dir.to_owned(), wc: wc.clone(), relpath };
            self.place.replace(Some(place));
        }
        Ok((wc, relpath))
    }

    /// The kind of what is under version control and not deleted.
    pub(super) fn kind_of(&self, abspath: &str) -> SvnResult<Option<NodeKind>> {
        let (wc, relpath) = self.place_of(abspath)?;
        let view = wc.view(&relpath)?;
        Ok(view
            .filter(is_there)
            .map(|view| if view.is_dir() { NodeKind::Dir } else { NodeKind::File }))
    }
}

impl Target {
    fn see_disk(&mut self, abspath: &str) -> SvnResult<()> {
        let found = disk_kind(abspath.as_ref())?;
        self.is_link = found.is_some_and(|kind| kind.is_symlink());
        self.on_disk = found.map(|kind| if kind.is_dir() { NodeKind::Dir } else { NodeKind::File });
        Ok(())
    }

    /// What the hunks alone say: a file that is not there and gets lines is new, one that loses all of them goes.
    fn imply(&mut self, patch: &Patch) {
        if self.operation != Operation::Unchanged || self.added {
            return;
        }
        let only = match patch.hunks.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        if self.is_missing() {
            self.added = match only {
                Some(only) => only.before.start == 0,
                None => {
                    patch.hunks.len() != 1
                        && !patch.props.is_empty()
                        && patch.props.values().all(|prop| prop.operation == Operation::Added)
                }
            };
        } else if !self.deleted {
            self.deleted = only.is_some_and(|only| only.after.start == 0);
        }
    }
}

fn is_there(view: &View) -> bool {
    matches!(view.status(), Status::Normal | Status::Added | Status::Incomplete)
}

/// The name of a patch's target: as `patch` chooses, the one with fewer and shorter parts.
fn chosen_name(patch: &Patch) -> &str {
    let (old, new) = (patch.old_name.as_str(), patch.new_name.as_str());
    if old == "/dev/null" {
        return new;
    }
    if new == "/dev/null" || patch.operation == Operation::Moved {
        return old;
    }
    let rank = |name: &str| {
        let root = usize::from(name.starts_with('/'));
        let count = path::components(name).count().plus(root);
        (count, path::basename(name).len(), name.len())
    };
    if rank(old) < rank(new) { old } else { new }
}

/// A name without its first parts. The slash of an absolute name counts as one.
fn strip(name: &str, count: u64) -> SvnResult<String> {
    if count == 0 {
        return Ok(name.to_owned());
    }
    let root = name.starts_with('/').then_some("/");
    let parts: Vec<&str> = root.into_iter().chain(path::components(name)).collect();
    let rest = usize::try_from(count).ok().and_then(|count| parts.get(count..));
    let rest = rest.ok_or_else(|| {
        let parts = if count == 1 { "component" } else { "components" };
        SvnError::new(
            ErrorCode::CLIENT_PATCH_BAD_STRIP_COUNT,
            format!("Cannot strip {count} {parts} from '{name}'"),
        )
    })?;
    Ok(rest.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripped_names() {
        assert_eq!(strip("a/b/c", 0).unwrap(), "a/b/c");
        assert_eq!(strip("a/b/c", 2).unwrap(), "c");
        assert_eq!(strip("/a/b", 1).unwrap(), "a/b");
        assert_eq!(strip("a", 1).unwrap(), "");
        assert_eq!(strip("a", 2).unwrap_err().message(), "Cannot strip 2 components from 'a'");
    }

    #[test]
    fn the_shorter_name() {
        let of = |old: &str, new: &str| {
            let patch = Patch { old_name: old.into(), new_name: new.into(), ..Patch::default() };
            chosen_name(&patch).to_owned()
        };
        assert_eq!(of("a/b", "b"), "b");
        assert_eq!(of("b.orig", "b"), "b");
        assert_eq!(of("aa/b", "a/bbb"), "aa/b");
        assert_eq!(of("/dev/null", "a/b/c"), "a/b/c");
        assert_eq!(of("a/b/c", "/dev/null"), "a/b/c");
    }
}
