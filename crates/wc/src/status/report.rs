//! Reports what a walk found.
//!
//! Invariant: wc.db is not locked meanwhile. The receiver of a report may wait, as a pager does, and comparing texts takes
//! as long as they are; other programs can change the working copy all that time.

use std::collections::HashMap;

use sapwood_core::paths::RelPath;

use super::assemble::{Context, assemble, unversioned};
use super::listing::Look;
use super::table::{Layer, Node, Table};
use super::value::Status;
use super::walk::{self, Item, Items};
use super::{Options, Visit};
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use crate::text_check::{TextCheck, record_times};

/// How many nodes are looked up under one lock of wc.db before their texts are compared.
const BATCH: usize = 256;

/// The target of a walk itself.
#[derive(Default)]
pub(super) enum Target {
    /// Not to be reported.
    #[default]
    Nothing,
    /// A node of the table, with what is on disk; with its context where it is no directory that was walked.
    Node(u32, Option<Look>, Option<Context>),
    /// Reported as it is.
    Ready(Box<Status>),
}

impl Target {
    /// A node of a table, if it is there.
    pub(super) fn at(
        table: &Table,
        relpath: &RelPath,
        on_disk: Option<Look>,
        context: Option<Context>,
    ) -> Self {
        table.number(relpath).map_or(Self::Nothing, |at| Self::Node(at, on_disk, context))
    }
}

/// What a walk found, with what one snapshot of wc.db says of it.
#[derive(Default)]
pub(super) struct WalkResult {
    pub(super) target: Target,
    pub(super) table: Table,
    pub(super) items: Items,
    /// That of the children of the target; `None` without a walk.
    pub(super) context: Option<Context>,
}

impl WalkResult {
    /// Compares texts, and reports one node after the other.
    ///
    /// # Errors
    /// Those of the disk, of wc.db and of `visit`.
    pub(super) fn report(
        self,
        wc: &WorkingCopy,
        options: &Options,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let Self { target, table, items, context } = self;
        match target {
            Target::Nothing => {}
            Target::Ready(status) => visit(*status)?,
            Target::Node(at, on_disk, context) => {
                if let Some(node) = table.node(at) {
                    let modified = compare_one(wc, node, on_disk)?;
                    let all = options.wants(node);
                    let context = context.as_ref();
                    let status = assemble(wc, &table, node, on_disk, modified, context, all)?;
                    status.map_or(Ok(()), &mut *visit)?;
                }
            }
        }
        let Some(context) = context else { return Ok(()) };
        let modified = compare(wc, &table, &items)?;
        let (table, items, modified) = (&table, &items, &modified);
        Reporter { wc, table, items, modified, options, visit }.directory(&context)
    }
}

/// Whether the text of a node on disk is another; a node that is gone by now has not changed.
pub(super) fn compare_one(wc: &WorkingCopy, node: &Node, look: Option<Look>) -> Result<bool> {
    if !walk::needs_text_check(node, look) {
        return Ok(false);
    }
    let check = wc.db().questions(|| TextCheck::of_path(wc, &node.relpath))?;
    // A text may be long: wc.db is not locked while it is read.
    check.map_or(Ok(false), |check| wc.db().released(|| check.run(wc)))
}

/// Compares the texts that must be compared: which nodes of the table are modified.
pub(super) fn compare(
    wc: &WorkingCopy,
    table: &Table,
    items: &Items,
) -> Result<HashMap<u32, bool>> {
    let is_unsure = |item: &&Item| matches!(item, Item::Versioned { check_text: true, .. });
    let unsure: Vec<&Item> = items.values().flatten().filter(is_unsure).collect();
    let mut modified = HashMap::new();
    for batch in unsure.chunks(BATCH) {
        let checks = wc.db().questions(|| text_checks(wc, table, batch))?;
        let mut times = Vec::new();
        wc.db().released(|| {
            for (at, check) in checks {
                modified.insert(at, check.run_among(wc, &mut times)?);
            }
            Ok::<_, Error>(())
        })?;
        record_times(wc.db(), &times)?;
    }
    Ok(modified)
}

fn text_checks(wc: &WorkingCopy, table: &Table, items: &[&Item]) -> Result<Vec<(u32, TextCheck)>> {
    let mut checks = Vec::new();
    for item in items {
        let Item::Versioned { node: at, .. } = item else { continue };
        let Some(node) = table.node(*at) else { continue };
        checks.extend(TextCheck::of_path(wc, &node.relpath)?.map(|check| (*at, check)));
    }
    Ok(checks)
}

/// Passes on what was found, in order.
struct Reporter<'t, 'v> {
    wc: &'t WorkingCopy,
    table: &'t Table,
    items: &'t Items,
    modified: &'t HashMap<u32, bool>,
    options: &'t Options,
    visit: &'t mut Visit<'v>,
}

impl Reporter<'_, '_> {
    fn directory(&mut self, context: &Context) -> Result<()> {
        let Some(items) = self.items.get(&context.dir) else { return Ok(()) };
        for item in items {
            match item {
                Item::Unversioned { name, kind, ignored } => {
                    let path = context.dir.child(name);
                    let status = unversioned(self.table, &path, Some(*kind), *ignored, false);
                    (self.visit)(status)?;
                }
                Item::Versioned { node: at, look, .. } => {
                    let Some(node) = self.table.node(*at) else { continue };
                    self.node(context, *at, node, *look)?;
                }
            }
        }
        Ok(())
    }

    fn node(&mut self, context: &Context, at: u32, node: &Node, look: Option<Look>) -> Result<()> {
        if node.top().is_none_or(Layer::is_marker) {
            let kind = look.map(|l| l.kind);
            let status = unversioned(self.table, &node.relpath, kind, false, true);
            return (self.visit)(status);
        }
        let modified = self.modified.get(&at).copied().unwrap_or(false);
        let all = self.options.wants(node);
        let status = assemble(self.wc, self.table, node, look, modified, Some(context), all)?;
        if let Some(status) = status {
            (self.visit)(status)?;
        }
        if self.items.contains_key(&node.relpath) {
            let below = context.below(self.table, node);
            self.directory(&below)?;
        }
        Ok(())
    }
}
