//! libFuzzer's way into `harness/shelves.rs`, which says what is tried.
#![no_main]
#[path = "../harness/shelves.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
