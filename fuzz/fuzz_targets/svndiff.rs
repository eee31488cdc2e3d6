//! libFuzzer's way into `harness/svndiff.rs`, which says what is tried.
#![no_main]
#[path = "../harness/svndiff.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
