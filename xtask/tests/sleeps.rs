//! Holds that tests wait for events (`testkit::patience::wait`), and not for a time: one that sleeps is slow on each
//! machine, and too quick on one that is busy.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is a failed test")]

use std::path::Path;

/// Files of tests that sleep, how often, and why nothing can be waited for.
const SLEEPS: [(&str, usize, &str); 19] = [
    ("cli/tests/company/disks.rs", 1, "load beside the others"),
    ("cli/tests/company/killed.rs", 2, "programs are killed at any moment"),
    ("cli/tests/company/mixed.rs", 2, "load beside the others"),
    ("cli/tests/http_hostile.rs", 1, "a client that is slow"),
    ("cli/tests/https.rs", 1, "a client that is slow"),
    ("cli/tests/interop/sync.rs", 1, "programs are killed at any moment"),
    ("cli/tests/signals.rs", 2, "programs that wait, and one that must not end"),
    ("cli/tests/soak/coarse.rs", 2, "a file system whose clock is coarse"),
    ("cli/tests/svnserve/hostile.rs", 2, "clients that are slow; the fewest threads of a while"),
    ("cli/tests/wc_kills.rs", 1, "programs are killed at any moment"),
    ("fsfs/tests/storage.rs", 2, "a folder that is looked at once a second; nothing is read"),
    ("ra/tests/reconnect.rs", 1, "the kernel has no event for an end that arrived"),
    ("repos/tests/group_commit.rs", 1, "commits that gather behind a lock"),
    ("server/src/dav/idle.rs", 5, "a connection is idle when nothing comes for a while"),
    ("server/src/svn/transport.rs", 2, "a client that is slow"),
    ("server/tests/slow.rs", 3, "clients that are slow"),
    ("store/src/cache/loading.rs", 1, "a value that takes a while to load"),
    ("testkit", 3, "what waits for the others"),
    ("wc/src/status/cache/tests.rs", 12, "the file clock must go on, and a monitor begin"),
];

/// Adds how often each file of tests below `dir` sleeps.
fn count(dir: &Path, crates: &Path, found: &mut Vec<(String, usize)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let file = path.strip_prefix(crates).unwrap().to_str().unwrap();
        if path.is_dir() {
            count(&path, crates, found);
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let is_test = file.contains("/tests/") || file.contains("tests.rs");
        let tests = match text.split_once("#[cfg(test)]") {
            _ if is_test || file.starts_with("testkit/") => text.as_str(),
            Some((_, tests)) => tests,
            None => continue,
        };
        let times = tests.lines().filter(|line| line.contains("sleep(")).count();
        if times > 0 && file.ends_with(".rs") {
            found.push((file.to_owned(), times));
        }
    }
}

#[test]
fn tests_wait_for_events() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut found = Vec::new();
    count(&crates, &crates, &mut found);
    for (file, most, reason) in SLEEPS {
        let here = found.iter().filter(|(name, _)| name.starts_with(file));
        let times: usize = here.map(|(_, times)| times).sum();
        assert!(times <= most, "{file} sleeps {times} times: wait for the event");
        assert!(times == most, "{file} sleeps {times} times: lower the {most}");
        assert!(!reason.is_empty(), "{file} needs a reason");
    }
    found.retain(|(name, _)| !SLEEPS.iter().any(|(file, ..)| name.starts_with(file)));
    assert!(found.is_empty(), "wait for the event, by `testkit::patience::wait`: {found:#?}");
}
