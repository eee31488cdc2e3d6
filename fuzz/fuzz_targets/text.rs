//! libFuzzer's way into `harness/text.rs`, which says what is tried.
#![no_main]
#[path = "../harness/text.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
