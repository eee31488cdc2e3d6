//! libFuzzer's way into `harness/protocol.rs`, which says what is tried.
#![no_main]
#[path = "../harness/protocol.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
