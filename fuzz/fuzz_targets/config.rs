//! libFuzzer's way into `harness/config.rs`, which says what is tried.
#![no_main]
#[path = "../harness/config.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
