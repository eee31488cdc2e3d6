//! libFuzzer's way into `harness/entries.rs`, which says what is tried.
#![no_main]
#[path = "../harness/entries.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
