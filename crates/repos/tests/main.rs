//! Tests of the whole crate, in one test program.
//!
//! Invariant: every file beside this one is named here (`xtask/tests/house.rs` looks); a test is found by its
//! file's name: `cargo test -p sapwood-repos --test it FILE::`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

mod ahead;
mod authz_caches;
mod authz_reference;
mod bulk_commit;
mod cancelled;
mod commit;
mod common;
mod convert;
mod convert_compared;
mod deep;
mod engines;
mod faults;
mod group_commit;
mod hotcopy_faults;
mod hotcopy_notices;
mod locks;
mod log_reference;
mod maintenance_faults;
mod out_of_date;
mod reads;
mod rep_sharing;
mod revprop_faults;
mod txn_on_disk;
