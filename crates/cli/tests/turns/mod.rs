//! Two programs take turns on one working copy: random operations, each made by 1.14's `svn` or by
//! ours, and beside it the same operations on a working copy that only 1.14 touches.
//!
//! After each operation both working copies have the same files, and status, info and properties
//! of the first, as either program shows them, are those of the second. What an operation itself
//! prints and its exit code are compared too. The second working copy is the model: it is what 1.14
//! alone makes of the same steps.
//!
//! `SAPWOOD_LONG=1` makes the walks longer; `SAPWOOD_TURNS=SEED` makes one walk only, prints its steps
//! and leaves both places, and `SAPWOOD_TURNS=SEED:PERCENT` one in which so many steps are ours.
//! `SAPWOOD_BIN=/usr/bin` lets the reference walk with itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "tests"
)]

mod site;
mod step;

use std::fmt::Write as _;

use sapwood_testkit::compare::difference;
use sapwood_testkit::{Output, Programs, Rng};

use site::Site;
use step::{Actor, Step};

/// One walk: both sites, and what was done so far.
struct Walk {
    rng: Rng,
    reference: Programs,
    ours: Programs,
    /// Where both programs work.
    mixed: Site,
    /// Where only the reference works.
    model: Site,
    /// How many of a hundred steps are ours.
    share: usize,
    /// For the message of a failure.
    story: String,
}

impl Walk {
    fn new(seed: u64, share: usize) -> Self {
        let reference = Programs::reference();
        let mixed = Site::new(&reference);
        let model = Site::new(&reference);
        let rng = Rng::new(seed);
        let story = format!("seed {seed}\n");
        Self { rng, reference, ours: Programs::ours(), mixed, model, share, story }
    }

    /// Makes one step in both places and compares all that can be seen.
    fn step(&mut self, number: usize, aloud: bool) {
        let step = Step::choose(&mut self.rng, &self.model);
        let by_ours = self.rng.chance(self.share);
        let program = if by_ours { &self.ours } else { &self.reference };
        let line = format!("{number}: {} {step:?}", if by_ours { "ours" } else { "1.14" });
        if aloud {
            println!("{line}");
        }
        writeln!(self.story, "{line}").unwrap();
        let mixed = step.run(&self.mixed, Actor { turn: program, other: &self.reference });
        let model = step.run(&self.model, Actor { turn: &self.reference, other: &self.reference });
        self.same("what the operation says", &model, &mixed);
        self.look(&line);
    }

    /// What both programs say of the working copy, and the files.
    fn look(&self, after: &str) {
        for question in site::QUESTIONS {
            let model = self.model.ask(&self.reference, question);
            for program in [&self.reference, &self.ours] {
                let mixed = self.mixed.ask(program, question);
                let what = format!("{question:?} by {} after {after}", program.label);
                self.same(&what, &model, &mixed);
            }
        }
        let (model, mixed) = (self.model.files(), self.mixed.files());
        for (path, content) in &model {
            let found = mixed.get(path);
            assert!(found == Some(content), "{}'{path}': {found:?}, not {content:?}", self.story);
        }
        let more: Vec<_> = mixed.keys().filter(|path| !model.contains_key(*path)).collect();
        assert!(more.is_empty(), "{}files that 1.14 does not leave: {more:?}", self.story);
    }

    fn same(&self, what: &str, model: &Output, mixed: &Output) {
        if model != mixed {
            let story = &self.story;
            let difference = difference(model, mixed).unwrap_or_default();
            panic!("{story}{what} differs\n{difference}");
        }
    }
}

fn walk(seed: u64) {
    let steps = if sapwood_testkit::long() { 1_000 } else { 40 };
    let only = std::env::var("SAPWOOD_TURNS").ok();
    let (seed, share) = only.as_deref().map_or((seed, 50), |text| {
        let (seed, share) = text.split_once(':').unwrap_or((text, "50"));
        let wrong = "SAPWOOD_TURNS is SEED or SEED:PERCENT";
        (seed.parse().expect(wrong), share.parse().expect(wrong))
    });
    let mut walk = Walk::new(seed, share);
    for number in 0..steps {
        walk.step(number, only.is_some());
    }
}

#[test]
fn random_operations_by_both_programs() {
    walk(0);
}

#[test]
fn other_random_operations_by_both_programs() {
    walk(1);
    for seed in 2..if sapwood_testkit::long() { 10 } else { 2 } {
        walk(seed);
    }
}
