//! libFuzzer's way into `harness/dav.rs`, which says what is tried.
#![no_main]
#[path = "../harness/dav.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
