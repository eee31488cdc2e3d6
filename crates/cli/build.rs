//! How the program is linked: relocations in the packed form, where the system's loader knows it (glibc does
//! since 2.36); the debug program, which tests start tens of thousands of times, at a fixed address, so without them.
//!
//! There are 24,000 of them. In the packed form they take 6 KB of the file instead of 580, and each start of the program
//! reads all of them. The debug program has four times as many, and to relocate them takes more than all else that a start
//! does: 680 pages are copied, and 5 ms of processor become 2 without it.

#![allow(clippy::print_stdout, reason = "this is how cargo is told")]

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_for_this_machine() {
        return;
    }
    if is_debug() {
        println!("cargo::rustc-link-arg-bin=sapwood=-no-pie");
        println!("cargo::rustc-link-arg-tests=-no-pie");
    } else if loader_knows_them() {
        println!("cargo::rustc-link-arg-bin=sapwood=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether this is the profile of tests. That of `try`, which serves, is derived from it: only the folder says which it is.
fn is_debug() -> bool {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    // PROFILE/build/PACKAGE/out
    out.ancestors().nth(3).is_some_and(|profile| profile.ends_with("debug"))
}

/// Whether the program is for a machine like this one, whose linker is known to write that form.
fn is_for_this_machine() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && env::var("HOST").is_ok_and(|host| is("TARGET", &host))
}

fn loader_knows_them() -> bool {
    let Ok(done) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&done.stdout);
    let version = text.trim().strip_prefix("glibc ").and_then(|version| version.split_once('.'));
    let number = |text: &str| text.split('.').next().and_then(|text| text.parse::<u32>().ok());
    version
        .and_then(|(major, minor)| Some((number(major)?, number(minor)?)))
        .is_some_and(|version| version >= (2, 36))
}
