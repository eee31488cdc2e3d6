//! libFuzzer's way into `harness/diff3.rs`, which says what is tried.
#![no_main]
#[path = "../harness/diff3.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
