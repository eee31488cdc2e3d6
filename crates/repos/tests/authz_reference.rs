//! Random authz files, judged by us and by the reference's `svnauthz`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a failure is a failed test"
)]

use std::process::Command;

use sapwood_repos::authz::{Access, Authz};
use sapwood_testkit::fspath;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % (n as u64)) as usize
    }
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

fn who(random: &mut Random) -> String {
    let name = random.pick(&[
        "ann",
        "bob",
        "eve",
        "@g1",
        "@g2",
        "@empty",
        "&al",
        "$anonymous",
        "$authenticated",
        "*",
        "*",
    ]);
    let mark = if name != "*" && random.below(5) == 0 { "~" } else { "" };
    format!("{mark}{name}")
}

fn authz_file(random: &mut Random) -> String {
    let mut text =
        String::from("[aliases]\nal = bob\n[groups]\ng1 = ann, &al\ng2 = @g1, eve\nempty =\n");
    for _ in 0..random.below(7) + 1 {
        let glob = random.below(3) == 0;
        text.push_str(if glob { "[:glob:" } else { "[" });
        text.push_str(random.pick(&["", "", "r:", "s:"]));
        let depth = random.below(4);
        if depth == 0 {
            text.push('/');
        }
        for _ in 0..depth {
            text.push('/');
            text.push_str(if glob {
                random.pick(&["a", "b", "ab", "*", "**", "a*", "*b", "?b", "[ab]", "**", "\\*"])
            } else {
                random.pick(&["a", "b", "ab", "*"])
            });
        }
        text.push_str("]\n");
        for _ in 0..random.below(3) + 1 {
            let who = who(random);
            text.push_str(&format!("{who} = {}\n", random.pick(&["", "r", "rw"])));
        }
    }
    text
}

fn needs_svnauthz() {
    let found = Command::new("svnauthz").arg("--version").output();
    assert!(found.is_ok(), "svnauthz is not installed: run `cargo xtask packages` as root");
}

#[test]
fn same_answers_as_the_reference() {
    needs_svnauthz();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("authz");
    let target = path.to_str().unwrap();
    let mut random = Random(20_260_101);
    let mut compared = 0;
    for round in 0..60 {
        let text = authz_file(&mut random);
        std::fs::write(&path, &text).unwrap();
        let ours = Authz::parse(text.as_bytes(), None, &mut |_| {});
        for _ in 0..12 {
            let repos = random.pick(&["", "r", "s", "other"]);
            let user = random.pick(&["", "ann", "bob", "eve", "zoe"]);
            let query = random.pick(&[
                "/",
                "/a",
                "/b",
                "/a/b",
                "/a/a",
                "/b/ab",
                "/a/b/ab",
                "/ab/b/a/b",
                "/cb",
                "/*",
                "",
            ]);
            let recursive = !query.is_empty() && random.below(2) == 0;
            let mut command = Command::new("svnauthz");
            command.args(["accessof", target]);
            if !repos.is_empty() {
                command.args(["--repository", repos]);
            }
            if !user.is_empty() {
                command.args(["--username", user]);
            }
            if !query.is_empty() {
                command.args(["--path", query]);
            }
            if recursive {
                command.arg("-R");
            }
            let output = command.output().unwrap();
            let theirs = String::from_utf8(output.stdout).unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            let context = format!("round {round}: {command:?}\n{text}");
            match &ours {
                Ok(authz) => {
                    let rules = authz.for_user(repos, Some(user).filter(|u| !u.is_empty()));
                    let at = Some(query).filter(|q| !q.is_empty()).map(fspath);
                    let word = if rules.allows(at, Access::WRITE, recursive) {
                        "rw\n"
                    } else if rules.allows(at, Access::READ, recursive) {
                        "r\n"
                    } else {
                        "no\n"
                    };
                    assert_eq!(word, theirs, "{message}{context}");
                    compared += 1;
                }
                Err(error) => {
                    assert_eq!(output.status.code(), Some(1), "{error} {context}");
                    assert!(message.contains(error.message()), "{error} | {message} {context}");
                }
            }
        }
    }
    assert!(compared > 300, "only {compared} answers compared");
}

#[test]
fn same_errors_as_the_reference() {
    needs_svnauthz();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("authz");
    for text in [
        "x = r\n",
        "[/]\n* = r\n\n bar\n",
        "[/]\n* = rx\n",
        "[/]\nann = w\n",
        "[/]\n~~ann = r\n",
        "[/]\n~* = r\n",
        "[/]\n*x = r\n",
        "[/]\n$foo = r\n",
        "[/]\n@g = r\n",
        "[/]\n&g = r\n",
        "[/]\n* = r\n[/]\n* = r\n",
        "[/a]\n* = r\n[:glob:/a]\n* = r\n",
        "[:glob:/**/**]\n* = r\n[:glob:/**]\n* = r\n",
        "[groups]\n@a = b\n[/]\n* = r\n",
        "[groups]\na = b\na = c\n",
        "[groups]\na = @a\n",
        "[groups]\na = @b\n",
        "[groups]\na = &b\n",
        "[aliases]\n&a = b\n",
        "[aliases]\na = b\na = b\n",
        "[other]\n",
        "[/a/./b]\n",
        "[/a/]\n",
        "[:glob:r:]\n",
        "[groups]\n= a\n",
        "[groups]\ng=\n[/]\n@g = r\n",
        "[/]\n* r\n",
        "[/\n* = r\n",
        " [/]\n",
        " # x\n",
    ] {
        std::fs::write(&path, text).unwrap();
        let output = Command::new("svnauthz").arg("validate").arg(&path).output().unwrap();
        let theirs = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut ours = String::new();
        let result = Authz::parse(text.as_bytes(), None, &mut |w| ours = format!("warning: {w}"));
        if let Err(error) = &result {
            for part in error.chain() {
                assert!(
                    theirs.contains(&format!("{}: {}", part.code(), part.message())),
                    "{text}\n{theirs}\n{error}"
                );
            }
        }
        assert_eq!(output.status.code(), Some(i32::from(result.is_err())), "{text}\n{theirs}");
        assert_eq!(theirs.contains("warning: "), !ours.is_empty(), "{text}\n{theirs}");
    }
}

#[test]
fn answers_for_subtrees_hold_for_their_paths() {
    use sapwood_repos::{PathAuthorizer, SubtreeAccess};
    let mut random = Random(42);
    let tops = ["/", "/a", "/b", "/a/b", "/ab"];
    let (mut readable, mut unreadable) = (0, 0);
    for _ in 0..3000 {
        let text = authz_file(&mut random);
        let Ok(authz) = Authz::parse(text.as_bytes(), None, &mut |_| {}) else { continue };
        for user in [None, Some("ann"), Some("zoe")] {
            let rules = authz.for_user(random.pick(&["", "r", "s"]), user);
            let top = random.pick(&tops);
            let whole = rules.subtree(fspath(top)).unwrap();
            readable +=
                usize::from(whole == SubtreeAccess::Readable && !rules.everything_readable());
            unreadable += usize::from(whole == SubtreeAccess::Unreadable);
            for below in ["", "/a", "/b", "/a/b", "/b/a", "/ab/b/a"] {
                let path = format!("{}{below}", top.trim_end_matches('/'));
                let path = if path.is_empty() { "/" } else { &path };
                let read = rules.readable(fspath(path)).unwrap();
                let fits = match whole {
                    SubtreeAccess::Readable => read,
                    SubtreeAccess::Unreadable => !read,
                    SubtreeAccess::Mixed => true,
                };
                assert!(fits, "{path} below {top} is {read}, all is {whole:?}, {user:?}\n{text}");
            }
        }
    }
    assert!(readable > 20 && unreadable > 20, "{readable} {unreadable}");
}
