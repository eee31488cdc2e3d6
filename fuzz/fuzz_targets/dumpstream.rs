//! libFuzzer's way into `harness/dumpstream.rs`, which says what is tried.
#![no_main]
#[path = "../harness/dumpstream.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
