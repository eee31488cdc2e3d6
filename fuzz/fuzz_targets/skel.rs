//! libFuzzer's way into `harness/skel.rs`, which says what is tried.
#![no_main]
#[path = "../harness/skel.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
