//! libFuzzer's way into `harness/diff.rs`, which says what is tried.
#![no_main]
#[path = "../harness/diff.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
