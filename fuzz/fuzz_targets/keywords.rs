//! libFuzzer's way into `harness/keywords.rs`, which says what is tried.
#![no_main]
#[path = "../harness/keywords.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
