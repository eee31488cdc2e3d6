//! Comparing the working versions of two paths, in whatever working copies.

use std::collections::BTreeSet;
use std::path::Path;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, NodeKind, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::view::{Status, View};

use super::local::working_text;
use super::sides::{DirSide, FileSide, Processor};
use super::writer::LabelParts;
use super::{Request, Sink};
use crate::context::Context;
use crate::working::Node;

/// One side.
struct Tree<'a> {
    wc: &'a WorkingCopy,
    relpath: RelPathBuf,
}

impl Tree<'_> {
    /// The node that the user sees; nothing of what is deleted or hidden.
    fn view(&self, at: &RelPath) -> SvnResult<Option<View>> {
        let view = self.wc.view(&self.relpath.join(at))?;
        Ok(view
            .filter(|v| matches!(v.status(), Status::Normal | Status::Incomplete | Status::Added)))
    }

    fn children(&self, at: &RelPath) -> SvnResult<BTreeSet<String>> {
        let rows = self.wc.db().children_top(&self.relpath.join(at))?;
        Ok(rows.iter().filter(|r| r.presence.is_there()).map(|r| r.name().to_owned()).collect())
    }

    fn file(&self, view: &View) -> SvnResult<FileSide> {
        let props = view.props()?;
        let text = working_text(self.wc, &view.top().relpath, &props)?;
        Ok(FileSide { revision: None, text, props })
    }
}

fn kind(view: Option<&View>) -> Option<NodeKind> {
    view.and_then(|view| view.top().kind.node_kind())
}

pub(super) fn run(ctx: &Context, request: &Request<'_>, sink: Sink<'_>) -> SvnResult<()> {
    let (old, new) = (Node::find(ctx, request.old)?, Node::find(ctx, request.new)?);
    let dirs = old.abspath().is_dir() && new.abspath().is_dir();
    let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned());
    let places = LabelParts {
        anchor: Some(if dirs { String::new() } else { name(&old.abspath()).unwrap_or_default() }),
        originals: [request.old.to_owned(), request.new.to_owned()],
        session_relpath: None,
    };
    sink.with(ctx, places, &mut |processor, _| {
        let mut walk = Walk {
            ctx,
            left: Tree { wc: &old.wc, relpath: old.relpath.clone() },
            right: Tree { wc: &new.wc, relpath: new.relpath.clone() },
            processor,
        };
        walk.compare(RelPath::ROOT, request.depth)
    })
}

struct Walk<'a> {
    ctx: &'a Context,
    left: Tree<'a>,
    right: Tree<'a>,
    processor: &'a mut dyn Processor,
}

impl Walk<'_> {
    fn compare(&mut self, at: &RelPath, depth: Depth) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        let (left, right) = (self.left.view(at)?, self.right.view(at)?);
        match (kind(left.as_ref()), kind(right.as_ref())) {
            (Some(NodeKind::File), Some(NodeKind::File)) => {
                if let (Some(left), Some(right)) = (&left, &right) {
                    let (old, new) = (self.left.file(left)?, self.right.file(right)?);
                    let text = !old.text.is_same(&new.text)?;
                    if text || old.props != new.props {
                        self.processor.file_changed(at, &old, &new, text)?;
                    }
                }
                Ok(())
            }
            (Some(NodeKind::Dir), Some(NodeKind::Dir)) => {
                let names = self.left.children(at)?;
                let names: BTreeSet<String> =
                    names.union(&self.right.children(at)?).cloned().collect();
                for name in names {
                    let child = at.child(&name);
                    let is_dir = kind(self.left.view(&child)?.as_ref()) == Some(NodeKind::Dir)
                        || kind(self.right.view(&child)?.as_ref()) == Some(NodeKind::Dir);
                    match depth {
                        Depth::Empty => {}
                        Depth::Files if is_dir => {}
                        Depth::Files | Depth::Immediates => self.compare(&child, Depth::Empty)?,
                        _ => self.compare(&child, depth)?,
                    }
                }
                if let (Some(left), Some(right)) = (&left, &right) {
                    let side = |view: &View| -> SvnResult<DirSide> {
                        Ok(DirSide { revision: None, props: view.props()? })
                    };
                    let (old, new) = (side(left)?, side(right)?);
                    if old.props != new.props {
                        self.processor.dir_changed(at, &old, &new)?;
                    }
                }
                Ok(())
            }
            _ => {
                if let Some(left) = &left {
                    self.only(at, left, true)?;
                }
                match &right {
                    Some(right) => self.only(at, right, false),
                    None => Ok(()),
                }
            }
        }
    }

    /// A node that one side has, with all below it.
    fn only(&mut self, at: &RelPath, view: &View, is_left: bool) -> SvnResult<()> {
        let is_dir = kind(Some(view)) == Some(NodeKind::Dir);
        let tree = if is_left { &self.left } else { &self.right };
        if !is_dir {
            let side = tree.file(view)?;
            return if is_left {
                self.processor.file_deleted(at, &side)
            } else {
                self.processor.file_added(at, None, &side)
            };
        }
        for name in tree.children(at)? {
            let child = at.child(&name);
            let tree = if is_left { &self.left } else { &self.right };
            if let Some(view) = tree.view(&child)? {
                self.only(&child, &view, is_left)?;
            }
        }
        let side = DirSide { revision: None, props: view.props()? };
        if is_left {
            self.processor.dir_deleted(at, &side)
        } else {
            self.processor.dir_added(at, None, &side)
        }
    }
}
