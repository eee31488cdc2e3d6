//! libFuzzer's way into `harness/patch.rs`, which says what is tried.
#![no_main]
#[path = "../harness/patch.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
