//! The steps of an edit wait here, in order, until the left sides of many files can be requested at once.
//!
//! Invariant: what waits is bounded, in number and by what is known of its size; so a comparison of any size shows
//! its beginning early and needs little room.

use std::collections::HashMap;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{PropList, Revnum, SvnResult, len64};
use sapwood_delta::svndiff::{Encoder, Version};
use sapwood_delta::{ApplyReader, StoredDelta, TextDelta};
use sapwood_diff::LargeText as _;
use sapwood_ra::Session;
use sapwood_wc::conflict::PropChange;

use super::left::{LeftFile, fetch, fetch_all};
use super::regular::{is_regular, patched, regular};
use super::sides::{Difference, DirSide, FileSide, Keeper, Processor, Text};

/// The most steps that wait.
const STEPS: usize = 1024;
/// The most bytes of waiting texts, with their left sides as far as the sizes are known.
const BYTES: u64 = 8 << 20;

/// The text of a file that changed, as what makes it of the left one.
pub(super) struct Delta {
    svndiff: Text,
    /// How long one of the texts is at least.
    len: u64,
}

impl Delta {
    /// Keeps what came.
    pub(super) fn keep(from: &mut dyn TextDelta) -> SvnResult<Self> {
        let mut encoder = Encoder::new(Version::V0, 0);
        let (mut kept, mut out, mut len, mut source) = (Keeper::default(), Vec::new(), 0_u64, 0);
        let mut put = |out: &mut Vec<u8>| {
            let written = std::io::Write::write_all(&mut kept, out);
            out.clear();
            written.map_err(sapwood_core::SvnError::from_stream)
        };
        while let Some(window) = from.next_window()? {
            len.tally(len64(window.target_len));
            source = window.source_offset;
            encoder.encode(&window, &mut out);
            put(&mut out)?;
        }
        encoder.finish(&mut out);
        put(&mut out)?;
        Ok(Self { svndiff: kept.finish()?, len: len.max(source) })
    }

    /// The right text.
    fn apply(&self, left: &Text) -> SvnResult<Text> {
        let delta = StoredDelta::new(self.svndiff.reader()?);
        Text::keep(&mut ApplyReader::new(delta, left.reader()?))
    }
}

/// The change of a file.
pub(super) enum FileStep {
    Deleted,
    /// With this text.
    Added(Text),
    /// Whether its text changed too, with the text if it is known.
    Changed {
        text: bool,
        delta: Option<Delta>,
    },
}

/// One node of the comparison.
pub(super) enum Step {
    File { path: RelPathBuf, step: FileStep, changes: Vec<PropChange> },
    DirDeleted { path: RelPathBuf, props: PropList },
    Dir { path: RelPathBuf, added: bool, changes: Vec<PropChange> },
}

impl Step {
    /// How much it takes at least, its left side counted.
    fn len(&self) -> u64 {
        match self {
            Self::File { step: FileStep::Added(text), .. } => text.len(),
            Self::File { step: FileStep::Changed { delta: Some(delta), .. }, .. } => delta.len,
            _ => 0,
        }
    }

    /// The file whose left side is needed, and whether its text is.
    fn wants(&self, texts: bool) -> Option<(&RelPath, bool)> {
        match self {
            Self::File { path, step: FileStep::Deleted, .. } => Some((path, texts)),
            Self::File { path, step: FileStep::Changed { delta, .. }, .. } => {
                Some((path, delta.is_some()))
            }
            _ => None,
        }
    }
}

/// The steps that wait.
pub(super) struct Steps<'a> {
    /// Fetches the left side: at the start of the edit.
    session: &'a dyn Session,
    /// The revision of the left side.
    revision: Revnum,
    /// Whether texts are wanted.
    texts: bool,
    processor: &'a mut dyn Processor,
    waiting: Vec<Step>,
    bytes: u64,
}

impl<'a> Steps<'a> {
    pub(super) const fn new(
        session: &'a dyn Session,
        revision: Revnum,
        texts: bool,
        processor: &'a mut dyn Processor,
    ) -> Self {
        Self { session, revision, texts, processor, waiting: Vec::new(), bytes: 0 }
    }

    /// Adds a step, of a file of `size` bytes (0 if unknown); sends all when enough wait.
    pub(super) fn add(&mut self, step: Step, size: u64, target: Option<Revnum>) -> SvnResult<()> {
        self.bytes = self.bytes.plus(step.len().max(size));
        self.waiting.push(step);
        if self.waiting.len() < STEPS && self.bytes < BYTES {
            return Ok(());
        }
        self.take(target)
    }

    /// Sends all waiting steps to the processor. `target` is the revision of the right side.
    pub(super) fn take(&mut self, target: Option<Revnum>) -> SvnResult<()> {
        self.bytes = 0;
        let steps = std::mem::take(&mut self.waiting);
        let mut lefts = [self.lefts(&steps, false)?, self.lefts(&steps, true)?];
        steps.into_iter().try_for_each(|step| {
            let mut left = None;
            if let Some((path, text)) = step.wants(self.texts) {
                let [props_only, with_text] = &mut lefts;
                let found = if text { with_text } else { props_only }.remove(path);
                left = Some(match found {
                    Some(found) => found,
                    None => fetch(self.session, self.revision, path, text)?,
                });
            }
            self.send(step, left, target)
        })
    }

    /// The left sides of files, those with texts or those without.
    fn lefts(&self, steps: &[Step], texts: bool) -> SvnResult<HashMap<RelPathBuf, LeftFile>> {
        let wanted = steps.iter().filter_map(|step| step.wants(self.texts));
        let mut paths: Vec<&RelPath> =
            wanted.filter(|(path, text)| *text == texts && !path.is_empty()).map(|w| w.0).collect();
        if paths.len() < 2 {
            return Ok(HashMap::new());
        }
        paths.sort_by(|a, b| sapwood_core::path::compare(a, b));
        fetch_all(self.session, self.revision, &paths, texts)
    }

    fn send(
        &mut self,
        step: Step,
        left: Option<LeftFile>,
        target: Option<Revnum>,
    ) -> SvnResult<()> {
        match step {
            Step::File { path, step, changes } => {
                self.send_file((&path, step, &changes), left, target)
            }
            Step::DirDeleted { path, props } => self.processor.take(
                &path,
                Difference::DirDeleted(&DirSide { revision: Some(self.revision), props }),
            ),
            Step::Dir { path, added: true, changes } => {
                let props = patched(&PropList::new(), &changes);
                self.processor
                    .take(&path, Difference::DirAdded(None, &DirSide { revision: target, props }))
            }
            Step::Dir { path, added: false, changes } => {
                let found = self.session.get_dir(&path, Some(self.revision), None, true)?;
                let props = regular(&found.props);
                let right = DirSide { revision: target, props: patched(&props, &changes) };
                let left = DirSide { revision: Some(self.revision), props };
                if left.props == right.props {
                    return Ok(());
                }
                self.processor.take(&path, Difference::DirChanged(&left, &right))
            }
        }
    }

    fn send_file(
        &mut self,
        (path, step, changes): (&RelPath, FileStep, &[PropChange]),
        left: Option<LeftFile>,
        target: Option<Revnum>,
    ) -> SvnResult<()> {
        let left = left.unwrap_or_else(|| LeftFile { text: Text::Empty, props: PropList::new() });
        let right_props = patched(&left.props, changes);
        let right = |text| FileSide { revision: target, text, props: right_props };
        let LeftFile { text, props } = left;
        match step {
            FileStep::Added(text) => {
                self.processor.take(path, Difference::FileAdded(None, &right(text)))
            }
            FileStep::Deleted => {
                let left = FileSide { revision: Some(self.revision), text, props };
                self.processor.take(path, Difference::FileDeleted(&left))
            }
            FileStep::Changed { text: changed, delta } => {
                let new = delta.map_or(Ok(Text::Empty), |delta| delta.apply(&text))?;
                let left = FileSide { revision: Some(self.revision), text, props };
                let right = right(new);
                if !changed && left.props == right.props {
                    return Ok(());
                }
                self.processor.take(
                    path,
                    Difference::FileChanged { left: &left, right: &right, text: changed },
                )
            }
        }
    }
}

/// Whether any of the changes is of a regular property.
pub(super) fn any_regular(changes: &[PropChange]) -> bool {
    changes.iter().any(|(name, _)| is_regular(name))
}
