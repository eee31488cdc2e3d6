//! Properties of revisions out of a dump stream, for revisions that are there already.

use std::io::BufRead;
use std::sync::Arc;

use sapwood_core::{CancelToken, PropList, Revnum, SvnResult};
use sapwood_fs::txn::{WriteOptions, Writer};

use super::{LoadEvent, LoadNotify, number_of, utf8};
use crate::dumpstream::{self, DumpVisitor, Headers, TextBlock};
use crate::prop_rules;
use crate::repository::Repository;

/// How to load properties of revisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct RevpropsLoadOptions {
    /// Only take revisions of the stream from one number to another.
    pub range: Option<(u64, u64)>,
    /// Take values that are not valid.
    pub bypass_validation: bool,
    /// Mend line endings in the values of `svn:` properties.
    pub normalize_props: bool,
    /// Do not wait for the disk.
    pub no_flush: bool,
}

/// Gives revisions the properties that the stream `input` says they have.
///
/// # Errors
/// Those of [`dumpstream::parse`]; E160006 for revisions that are not there; E125005 for values
/// that are not valid. Revisions that come earlier in the stream are then changed already.
pub fn load_revprops(
    repository: &Repository,
    input: &mut dyn BufRead,
    options: RevpropsLoadOptions,
    notify: &mut LoadNotify<'_>,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let write = WriteOptions { flush_to_disk: !options.no_flush, ..WriteOptions::default() };
    let writer = Writer::new(repository.fs(), write)?;
    let mut loader = Loader { writer, options, notify, revision: None };
    dumpstream::parse(input, &mut loader, false, cancel)
}

struct Loader<'a, 'b> {
    writer: Arc<Writer>,
    options: RevpropsLoadOptions,
    notify: &'a mut LoadNotify<'b>,
    /// The revision and its properties, unless it is skipped.
    revision: Option<(Revnum, PropList)>,
}

/// What values are taken, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) validate: bool,
    pub(super) normalize: bool,
}

impl Rules {
    /// Makes the properties of `revision` those of the stream. Only values that change are looked
    /// at.
    pub(super) fn replace(
        self,
        writer: &Writer,
        revision: Revnum,
        wanted: &PropList,
    ) -> SvnResult<()> {
        if *writer.fs().revprops(revision)? == *wanted {
            return Ok(());
        }
        let done = writer.change_revision_props(revision, &mut |present| {
            let mut props = present.clone();
            for (name, value) in present.diff_to(wanted) {
                let Some(value) = value else {
                    props.remove(&name);
                    continue;
                };
                let value =
                    if self.normalize { prop_rules::normalize(&name, value) } else { value };
                if self.validate {
                    prop_rules::check(&name, &value)?;
                }
                props.set(name, value);
            }
            Ok(Some(props))
        });
        Ok(done?)
    }
}

impl DumpVisitor for Loader<'_, '_> {
    fn format_version(&mut self, _version: i64) -> SvnResult<()> {
        Ok(())
    }

    fn uuid(&mut self, _uuid: &[u8]) -> SvnResult<()> {
        Ok(())
    }

    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        let number = number_of(headers);
        if self.options.range.is_some_and(|(first, last)| number < first || number > last) {
            self.revision = None;
            return (self.notify)(LoadEvent::Skipped(number));
        }
        self.revision = Some((Revnum(number), PropList::new()));
        Ok(())
    }

    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        if let Some((_, props)) = &mut self.revision {
            props.set(utf8(name)?, value);
        }
        Ok(())
    }

    fn close_revision(&mut self) -> SvnResult<()> {
        let Some((revision, props)) = self.revision.take() else { return Ok(()) };
        let rules = Rules {
            validate: !self.options.bypass_validation,
            normalize: self.options.normalize_props,
        };
        rules.replace(&self.writer, revision, &props)?;
        (self.notify)(LoadEvent::PropsSet(revision))
    }

    fn node(&mut self, _headers: &Headers) -> SvnResult<()> {
        Ok(())
    }

    fn remove_node_props(&mut self) -> SvnResult<()> {
        Ok(())
    }

    fn node_prop(&mut self, _name: &[u8], _value: Vec<u8>) -> SvnResult<()> {
        Ok(())
    }

    fn delete_node_prop(&mut self, _name: &[u8]) -> SvnResult<()> {
        Ok(())
    }

    fn text(&mut self, _text: &mut TextBlock<'_>) -> SvnResult<()> {
        Ok(())
    }

    fn close_node(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
