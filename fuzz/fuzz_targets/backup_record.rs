//! libFuzzer's way into `harness/backup_record.rs`, which says what is tried.
#![no_main]
#[path = "../harness/backup_record.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
