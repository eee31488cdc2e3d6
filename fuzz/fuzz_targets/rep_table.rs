//! libFuzzer's way into `harness/rep_table.rs`, which says what is tried.
#![no_main]
#[path = "../harness/rep_table.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
