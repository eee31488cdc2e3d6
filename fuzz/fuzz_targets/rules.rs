//! libFuzzer's way into `harness/rules.rs`, which says what is tried.
#![no_main]
#[path = "../harness/rules.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
