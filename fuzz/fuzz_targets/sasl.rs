//! libFuzzer's way into `harness/sasl.rs`, which says what is tried.
#![no_main]
#[path = "../harness/sasl.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
