//! libFuzzer's way into `harness/queue.rs`, which says what is tried.
#![no_main]
#[path = "../harness/queue.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
