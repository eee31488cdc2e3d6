//! Authz files: parse, compile for some users, ask. What is said of a whole subtree must hold for
//! every path in it.

use sapwood_core::FsPath;
use sapwood_repos::authz::{Access, Authz};
use sapwood_repos::{PathAuthorizer, SubtreeAccess};

const PATHS: [&str; 7] = ["/", "/a", "/a/b", "/a/b/c", "/b", "/b/a/a", "/c"];

pub fn run(data: &[u8]) {
    // A zero byte separates the authz file from a groups file.
    let mut parts = data.splitn(2, |b| *b == 0);
    let rules = parts.next().unwrap_or_default();
    let Ok(authz) = Authz::parse(rules, parts.next(), &mut |_| {}) else { return };
    let fspath = |text| FsPath::new(text).expect("a canonical path");
    for repos in ["", "r"] {
        for user in [None, Some("u"), Some("v")] {
            let rules = authz.for_user(repos, user);
            for top in PATHS {
                let write = rules.allows(Some(fspath(top)), Access::WRITE, false);
                let read = rules.readable(fspath(top)).unwrap_or(false);
                assert!(read || !write, "writing without reading at {top}");
                if rules.everything_readable() {
                    assert!(read, "all but {top} is readable");
                }
                let below = PATHS.iter().filter(|p| {
                    p.strip_prefix(top)
                        .is_some_and(|r| top == "/" || r.is_empty() || r.starts_with('/'))
                });
                let Ok(whole) = rules.subtree(fspath(top)) else { continue };
                for path in below {
                    let read = rules.readable(fspath(path)).unwrap_or(false);
                    match whole {
                        SubtreeAccess::Readable => assert!(read, "{path} below {top}"),
                        SubtreeAccess::Unreadable => assert!(!read, "{path} below {top}"),
                        SubtreeAccess::Mixed => {}
                    }
                }
            }
        }
    }
}
