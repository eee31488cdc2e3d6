//! Running our program and the reference's with the same arguments.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

pub mod authority;
pub mod certificates;
pub mod cluster;
pub mod faults;
pub mod httpd;
pub mod ldap;
pub mod merge_walk;
pub mod old_wc;
pub mod places;
pub mod probes;
pub mod provider;
pub mod relay;
pub mod schemes;
pub mod sides;
pub mod talk;

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs};

/// Both sets of programs.
pub struct Both {
    pub reference: Programs,
    pub ours: Programs,
}

impl Both {
    pub fn new() -> Self {
        Self { reference: Programs::reference(), ours: Programs::ours() }
    }

    /// Runs both and compares everything; returns the result.
    #[track_caller]
    pub fn same(&self, program: &str, args: &[&str]) -> Output {
        let reference = self.reference.run(program, args);
        let ours = self.ours.run(program, args);
        assert_same(&format!("{program} {}", args.join(" ")), &reference, &ours);
        ours
    }

    /// Runs both and compares everything, but the order of lines in stdout does not count: that
    /// of the reference is random.
    #[track_caller]
    pub fn same_lines(&self, program: &str, args: &[&str]) -> Output {
        let mut reference = self.reference.run(program, args);
        let mut ours = self.ours.run(program, args);
        for output in [&mut reference, &mut ours] {
            let mut lines: Vec<Vec<u8>> =
                output.stdout.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            output.stdout = lines.concat();
        }
        assert_same(&format!("{program} {}", args.join(" ")), &reference, &ours);
        ours
    }

    /// Runs both and compares exit codes and stdout only.
    #[track_caller]
    pub fn same_stdout(&self, program: &str, args: &[&str]) -> Output {
        let mut reference = self.reference.run(program, args);
        let mut ours = self.ours.run(program, args);
        reference.stderr.clear();
        let stderr = std::mem::take(&mut ours.stderr);
        assert_same(&format!("{program} {}", args.join(" ")), &reference, &ours);
        ours.stderr = stderr;
        ours
    }
}
