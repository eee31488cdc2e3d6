//! libFuzzer's way into `harness/load.rs`, which says what is tried.
#![no_main]
#[path = "../harness/load.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
