//! libFuzzer's way into `harness/externals.rs`, which says what is tried.
#![no_main]
#[path = "../harness/externals.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
