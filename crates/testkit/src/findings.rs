//! Collects differences, so that one run of a comparison tells all of them and not only the first.
//!
//! Invariant: a comparison that made no comparisons fails: a test must not pass by doing nothing.

use crate::compare::{Output, Trees, difference};
use crate::programs::Programs;
use std::ffi::OsStr;

/// The differences found so far.
#[derive(Debug)]
pub struct Findings {
    subject: String,
    compared: usize,
    found: Vec<String>,
}

/// How many differences are told in full.
const TOLD: usize = 12;

impl Findings {
    /// Nothing found yet about `subject`.
    #[must_use]
    pub fn new(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), compared: 0, found: Vec::new() }
    }

    /// Compares what two commands did.
    pub fn outputs(&mut self, what: &str, reference: &Output, ours: &Output) {
        self.compared += 1;
        if let Some(difference) = difference(reference, ours) {
            self.found.push(format!("{what}\n{difference}"));
        }
    }

    /// Compares what two commands did, where the order of the output is no contract.
    pub fn unordered(&mut self, what: &str, reference: &Output, ours: &Output) {
        if reference == ours {
            self.compared += 1;
        } else {
            self.outputs(what, &reference.unordered(), &ours.unordered());
        }
    }

    /// Compares the trees that two commands left.
    pub fn trees(&mut self, what: &str, reference: &Trees, ours: &Trees) {
        self.compared += 1;
        if let Some(difference) = reference.difference(ours) {
            self.found.push(format!("{what}: tree differs: {difference}\n"));
        }
    }

    /// Notes a difference that was found in another way.
    pub fn note(&mut self, what: impl Into<String>) {
        self.compared += 1;
        self.found.push(what.into());
    }

    /// Runs a program of both sides with the same arguments and compares what they do.
    pub fn program<S: AsRef<OsStr> + std::fmt::Debug>(&mut self, name: &str, args: &[S]) {
        let reference = Programs::reference().run(name, args);
        let ours = Programs::ours().run(name, args);
        self.outputs(&format!("{name} {args:?}"), &reference, &ours);
    }

    /// Ends the comparison.
    ///
    /// # Panics
    /// If anything was found, or nothing was compared.
    #[track_caller]
    pub fn finish(self) {
        assert!(self.compared > 0, "{}: nothing was compared", self.subject);
        let told: String = self.found.iter().take(TOLD).map(|f| format!("- {f}")).collect();
        assert!(
            self.found.is_empty(),
            "{}: {} of {} comparisons differ:\n{told}",
            self.subject,
            self.found.len(),
            self.compared
        );
    }
}
