//! libFuzzer's way into `harness/coloured_text.rs`, which says what is tried.
#![no_main]
#[path = "../harness/coloured_text.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
