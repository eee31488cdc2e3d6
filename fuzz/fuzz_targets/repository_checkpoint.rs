//! libFuzzer's way into `harness/repository_checkpoint.rs`, which says what is tried.
#![no_main]
#[path = "../harness/repository_checkpoint.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
