//! Where the result of a comparison goes.

use std::io::Write;

use sapwood_core::SvnResult;

use super::sides::Processor;
use super::summary::{Receiver, Summarizer};
use super::writer::{LabelParts, Style, Writer};
use crate::context::Context;
use crate::working::Node;

/// Where the comparison goes.
pub enum Sink<'a> {
    /// Written as a diff.
    Diff {
        /// The output.
        style: Style<'a>,
        /// Where it goes.
        out: &'a mut dyn Write,
    },
    /// Reported node by node.
    Summary(&'a mut Receiver<'a>),
}

impl Sink<'_> {
    pub(crate) const fn is_summary(&self) -> bool {
        matches!(self, Self::Summary(_))
    }

    /// Runs a comparison with the processor; also says whether texts are wanted.
    pub(crate) fn with(
        self,
        ctx: &Context,
        places: LabelParts,
        run: &mut dyn FnMut(&mut dyn Processor, bool) -> SvnResult<()>,
    ) -> SvnResult<()> {
        match self {
            Self::Summary(receiver) => run(&mut Summarizer(receiver), false),
            Self::Diff { style, out } => {
                let find = |path: &str| -> SvnResult<String> {
                    let node = Node::find(ctx, path)?;
                    Ok(node.wc.db().questions(|| node.repository())?.2)
                };
                run(&mut Writer { style, places, find: &find, out }, true)
            }
        }
    }
}
