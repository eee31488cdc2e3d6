//! libFuzzer's way into `harness/hooks_env.rs`, which says what is tried.
#![no_main]
#[path = "../harness/hooks_env.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
