//! Files: what becomes of them. A change that has begun is not
//! stopped halfway.

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, NodeKind, PropList, SvnError, SvnResult, path};
use sapwood_diff::LargeText as _;
use sapwood_wc::conflict::{PropChange, PropState, TextOutcome, preserved_extension};
use sapwood_wc::merge::FileMerge;
use sapwood_wc::translate::{Translation, same_as_pristine};

use super::apply::Apply;
use super::props::{is_regular, props_state, same_props};
use crate::diff::sides::{Text, TextFile};

/// A file that both sides have.
pub(super) struct FileChange<'c> {
    /// The texts, if they differ.
    pub(super) texts: Option<(&'c Text, &'c Text)>,
    /// The left text, if it is the text base of the file, and short.
    pub(super) pristine: Option<&'c [u8]>,
    /// The left side's properties.
    pub(super) left: &'c PropList,
    /// How they differ from the right side's.
    pub(super) changes: &'c [PropChange],
}

impl Apply<'_, '_> {
    /// A file that both sides have.
    pub(super) fn file_changed(&mut self, id: u64, changed: &FileChange<'_>) -> SvnResult<()> {
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedUpdate)? {
            return Ok(());
        }
        let relpath = self.node(id)?.relpath.clone();
        let changes = self.merge.prepare_props(&relpath, changed.changes)?;
        let texts = changed.texts.filter(|_| !self.merge.options.record_only);
        let (content, props) = match texts {
            Some(texts) => match self.merge_plain(&relpath, texts.1, changed, &changes)? {
                Some(content) => (content, PropState::Unchanged),
                None => self.merge_texts(&relpath, texts, changed.left, &changes)?,
            },
            None if changes.is_empty() => return Ok(()),
            None => {
                let props = self.merge_props(&relpath, NodeKind::File, changed.left, &changes)?;
                (State::Unchanged, props)
            }
        };
        let merge = &mut *self.merge;
        if content == State::Conflicted || props == PropState::Conflicted {
            merge.conflicted.insert(relpath.clone());
        }
        let reported = [State::Conflicted, State::Merged, State::Changed];
        let props = props_state(props);
        if reported.contains(&content) || reported.contains(&props) {
            merge.record_change(&relpath, NodeKind::File, content, props);
        }
        Ok(())
    }

    /// Merges a text in the simplest case.
    fn merge_plain(
        &mut self,
        relpath: &RelPath,
        right: &Text,
        changed: &FileChange<'_>,
        changes: &[PropChange],
    ) -> SvnResult<Option<State>> {
        let (Some(old), Text::Memory(new), []) = (changed.pristine, right, changes) else {
            return Ok(None);
        };
        let merge = &*self.merge;
        let Some(seen) = self.node_on_disk(relpath) else { return Ok(None) };
        let dry_run = merge.options.dry_run;
        let merged = merge.wc().merge_plain(seen, old, new, dry_run)?;
        self.forget_seen();
        Ok(merged.map(|outcome| match outcome {
            TextOutcome::Merged => State::Changed,
            TextOutcome::Unchanged => State::Unchanged,
            TextOutcome::Conflict => State::Conflicted,
        }))
    }

    fn merge_texts(
        &self,
        relpath: &RelPath,
        (left, right): (&Text, &Text),
        left_props: &PropList,
        changes: &[PropChange],
    ) -> SvnResult<(State, PropState)> {
        let merge = &*self.merge;
        let wc = merge.wc();
        let kept = preserved_extension(path::basename(relpath), &wc.options().preserved_extensions);
        let labels = [
            format!(".merge-left.r{}{kept}", self.left_revision),
            format!(".merge-right.r{}{kept}", self.right_revision),
            format!(".working{kept}"),
        ];
        let modified = match wc.view(relpath)? {
            Some(view) => wc.file_modified(&view)?,
            None => false,
        };
        let kind = Some(NodeKind::File);
        let (left, right) = (merge.in_file(left)?, merge.in_file(right)?);
        let external = merge.ctx.merge_text.as_deref();
        let merge_file = || {
            let file = FileMerge {
                relpath,
                left: left.as_ref().map(TextFile::path),
                right: right.as_ref().map(TextFile::path),
                labels: [&labels[0], &labels[1], &labels[2]],
                suffix: None,
                locations: Some(merge.locations(relpath, None, kind, kind)),
                left_props,
                changes,
                options: merge.options.diff,
                external,
                dry_run: merge.options.dry_run,
            };
            wc.merge_file(&file, merge.ctx.cancel())
        };
        // Another program may take its time.
        let merged = match external {
            Some(_) => wc.db().released(merge_file),
            None => merge_file(),
        }?;
        let content = match merged.text {
            None => State::Missing,
            Some(TextOutcome::Conflict) => State::Conflicted,
            Some(TextOutcome::Unchanged) => State::Unchanged,
            Some(TextOutcome::Merged) if modified => State::Merged,
            Some(TextOutcome::Merged) => State::Changed,
        };
        Ok((content, merged.props))
    }

    /// A file that comes.
    pub(super) fn file_added(&mut self, id: u64, text: &Text, props: &PropList) -> SvnResult<()> {
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedAdd)? || self.merge.options.record_only {
            return Ok(());
        }
        let (relpath, replaces) = (self.node(id)?.relpath.clone(), self.node(id)?.replaces);
        let inside = self.parent_is_added(id)?;
        let revision = self.right_revision;
        let merge = &mut *self.merge;
        if merge.notes_paths() && !inside {
            merge.touched.added.insert(relpath.clone());
        }
        if !merge.options.dry_run {
            let wc = merge.wc().clone();
            let mut pristine = wc.write_pristine()?;
            std::io::copy(&mut text.reader()?, &mut pristine).map_err(|e| {
                SvnError::io(
                    &e,
                    format_args!("Can't copy file '{}'", wc.abspath(&relpath).display()),
                )
            })?;
            if merge.same_repos {
                let origin = merge.origin_of(&relpath, revision)?;
                wc.add_repos_file(&relpath, pristine, props, Some(&origin), &CancelToken::new())?;
                if props.get(names::MERGEINFO).is_some() {
                    merge.new_mergeinfo.insert(relpath.clone());
                }
            } else {
                let kept = |name: &str| is_regular(name) && name != names::MERGEINFO;
                let props = props.iter().filter(|(name, _)| kept(name)).collect();
                wc.add_foreign_file(&relpath, pristine, &props, &CancelToken::new())?;
            }
        }
        merge.record_add(&relpath, NodeKind::File, replaces);
        Ok(())
    }

    /// A file that goes, if it is what the left side has.
    pub(super) fn file_deleted(&mut self, id: u64, text: &Text, props: &PropList) -> SvnResult<()> {
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedDelete)? || self.merge.options.record_only
        {
            return Ok(());
        }
        let (relpath, parent) = (self.node(id)?.relpath.clone(), self.node(id)?.parent);
        let same = self.merge.options.force_delete || self.same_file(&relpath, text, props)?;
        if let Some(check) = self.check_of_parent(id)? {
            let check = self.check_mut(check)?;
            if same {
                check.compared.insert(relpath);
            } else {
                check.differs = true;
            }
            return Ok(());
        }
        if !same {
            return self.conflict_edited(&relpath, parent, NodeKind::File);
        }
        let merge = &mut *self.merge;
        if !merge.options.dry_run {
            let target = [relpath.clone()];
            merge.wc().delete_unchecked(&target, false, &CancelToken::new(), &|_| {})?;
        }
        merge.deleted_mergeinfo.insert(relpath.clone());
        self.deleted(&relpath, parent, NodeKind::File)
    }

    /// Whether a working file has a text, in normal form, and properties (but for mergeinfo).
    fn same_file(&self, relpath: &RelPath, text: &Text, left: &PropList) -> SvnResult<bool> {
        let wc = self.merge.wc();
        let props = wc.require_view(relpath)?.props()?;
        if !same_props(left, &props) {
            return Ok(false);
        }
        let path = wc.abspath(relpath);
        let failed = |e: std::io::Error| SvnError::io(&e, "Can't open a temporary file of a merge");
        if matches!(text, Text::Empty) {
            return Ok(std::fs::metadata(path).is_ok_and(|found| found.len() == 0));
        }
        let translation = Translation::of(&props, None);
        same_as_pristine(&path, &translation, text.len(), || text.open().map_err(failed))
    }
}
