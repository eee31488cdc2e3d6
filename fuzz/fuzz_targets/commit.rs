//! libFuzzer's way into `harness/commit.rs`, which says what is tried.
#![no_main]
#[path = "../harness/commit.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
