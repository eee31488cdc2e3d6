//! Files that threads write behind the edit, or behind the walk through a working copy: small texts, and files to copy,
//! gather, and while the next ones come those before are checked and written. Each is reported in its order, once it is
//! written; the first failure in that order ends the export. Of what comes after it some may be there already.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use sapwood_core::{ErrorCode, Exact as _, Md5, SvnError, SvnResult};
use sapwood_wc::translate::Translation;

use super::Export;
use super::file_form::FileForm;
use super::source::Source;

/// The number of files that are written together.
const FILES: usize = 256;
/// The most bytes that wait in memory, while [`WRITERS`] times as many are written.
const BYTES: usize = 4 << 20;
/// The number of threads that write. Checking and writing is more work than reading, so one would be too slow.
const WRITERS: usize = 2;

/// A file whose text is here.
pub(super) struct File {
    pub(super) to: PathBuf,
    pub(super) form: FileForm,
    pub(super) translation: Translation,
    pub(super) text: Vec<u8>,
    /// What the text must be.
    pub(super) expected: Option<Md5>,
}

/// A file whose text is read when it is written.
pub(super) struct FileCopy {
    pub(super) from: Source,
    pub(super) to: PathBuf,
    pub(super) form: FileForm,
    pub(super) translation: Translation,
    pub(super) how: Export,
}

/// What is reported, in order.
pub(super) enum Step {
    /// A directory that exists now, as it is shown.
    Dir(String),
    /// A file, as it is shown.
    File(String, Box<File>),
    /// A file whose text lies in another one, as it is shown.
    Copy(String, Box<FileCopy>),
}

/// What there is to report, up to the first failure.
type WriteResult = (Vec<WrittenPath>, SvnResult<()>);

/// A path as it is shown, and whether it is a file.
pub(super) struct WrittenPath {
    pub(super) shown: String,
    pub(super) is_file: bool,
}

/// Steps that wait, and those that are being taken.
#[derive(Default)]
pub(super) struct BackgroundWriter {
    waiting: Vec<Step>,
    files: usize,
    bytes: usize,
    /// In the order of the edit.
    taken: VecDeque<JoinHandle<WriteResult>>,
}

impl BackgroundWriter {
    /// Whether a step must wait for others.
    pub(super) fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || !self.taken.is_empty()
    }

    /// Adds a step.
    pub(super) fn add(&mut self, step: Step, notify: &mut dyn FnMut(WrittenPath)) -> SvnResult<()> {
        match &step {
            Step::Dir(_) => {}
            Step::File(_, file) => {
                self.files = self.files.plus(1);
                self.bytes = self.bytes.plus(file.text.len());
            }
            Step::Copy(..) => self.files = self.files.plus(1),
        }
        self.waiting.push(step);
        if self.files < FILES && self.bytes < BYTES {
            return Ok(());
        }
        if self.taken.len() >= WRITERS {
            self.wait(notify)?;
        }
        let steps = self.gathered();
        self.taken.push_back(thread::spawn(|| take(steps)));
        Ok(())
    }

    /// Takes all steps that there are.
    pub(super) fn finish(&mut self, notify: &mut dyn FnMut(WrittenPath)) -> SvnResult<()> {
        while !self.taken.is_empty() {
            self.wait(notify)?;
        }
        notify_all(take(self.gathered()), notify)
    }

    fn gathered(&mut self) -> Vec<Step> {
        (self.files, self.bytes) = (0, 0);
        std::mem::take(&mut self.waiting)
    }

    /// Waits for the first of those that are being taken; after a failure there are no others.
    fn wait(&mut self, notify: &mut dyn FnMut(WrittenPath)) -> SvnResult<()> {
        let Some(taken) = self.taken.pop_front() else { return Ok(()) };
        let done = taken.join().unwrap_or_else(|_| {
            (Vec::new(), Err(SvnError::internal("a thread that writes files")))
        });
        notify_all(done, notify).inspect_err(|_| {
            // The files that they wrote stay, and are not reported.
            self.taken.drain(..).for_each(|other| drop(other.join()));
            drop(self.gathered());
        })
    }
}

fn notify_all(
    (written, result): WriteResult,
    notify: &mut dyn FnMut(WrittenPath),
) -> SvnResult<()> {
    written.into_iter().for_each(notify);
    result
}

fn take(steps: Vec<Step>) -> WriteResult {
    let mut written = Vec::with_capacity(steps.len());
    for step in steps {
        let (shown, done) = match step {
            Step::Dir(shown) => {
                written.push(WrittenPath { shown, is_file: false });
                continue;
            }
            Step::File(shown, file) => (shown, file.write()),
            Step::Copy(shown, file) => (shown, file.write()),
        };
        if let Err(error) = done {
            return (written, Err(error));
        }
        written.push(WrittenPath { shown, is_file: true });
    }
    (written, Ok(()))
}

impl FileCopy {
    fn write(self) -> SvnResult<()> {
        let mut text = self.from.open()?;
        self.form.write_from(&self.to, &mut text, &self.translation, &self.how)
    }
}

impl File {
    pub(super) fn write(self) -> SvnResult<()> {
        if self.expected.is_some_and(|expected| expected != Md5::of(&self.text)) {
            let message = format!("Checksum mismatch for '{}'", self.to.display());
            return Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message));
        }
        self.form.write_bytes(&self.to, self.text, &self.translation)
    }
}
