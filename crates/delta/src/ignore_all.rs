//! An editor that takes every call and keeps nothing: where only the driver is of interest, in
//! measurements, tests and fuzzing.

use sapwood_core::SvnResult;

use crate::editor::Handle;
use crate::step::{EditStep, StepEditor};

/// Takes everything, texts to their ends, and keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoreAll;

impl StepEditor for IgnoreAll {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        if let EditStep::Text { delta, .. } = step {
            while delta.next_window()?.is_some() {}
        }
        Ok(Handle::NONE)
    }
}
