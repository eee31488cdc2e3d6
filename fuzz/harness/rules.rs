//! Files of rules: what is read decides on any commit without harm, in little time.

use sapwood_core::{FsPath, SvnResult};
use sapwood_rules::{Change, Commit, RevpropRequest, Rules};

struct Made;

impl Commit for Made {
    fn repository(&self) -> &str {
        "repository"
    }

    fn user(&self) -> Option<&str> {
        None
    }

    fn is_in_group(&self, _: &str) -> bool {
        false
    }

    fn message(&self) -> &str {
        "ABC-1: \u{e9}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    }

    fn changes(&self, visit: &mut dyn FnMut(Change<'_>) -> SvnResult<()>) -> SvnResult<()> {
        for path in ["/", "/tags/1/a", "/trunk/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/b.psd"] {
            let path = FsPath::new(path).expect("a path");
            visit(Change { path, is_new: true, is_gone: true, is_file: true })?;
        }
        Ok(())
    }

    fn was_there(&self, _: &FsPath) -> SvnResult<bool> {
        Ok(true)
    }

    fn size(&self, _: &FsPath) -> SvnResult<u64> {
        Ok(u64::MAX)
    }

    fn repository_size(&self) -> SvnResult<u64> {
        Ok(1 << 20)
    }

    fn has_property(&self, _: &FsPath, _: &str) -> SvnResult<bool> {
        Ok(false)
    }

    fn names(&self, _: &FsPath, visit: &mut dyn FnMut(&str)) -> SvnResult<()> {
        visit("A");
        visit("a");
        Ok(())
    }
}

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(rules) = Rules::parse("rules.toml", text) else { return };
    let refusal = rules.check(&Made).expect("nothing is read");
    assert!(refusal.is_none() || rules.has_rules_for_commits("repository"));
    let request = RevpropRequest {
        repository: "repository",
        name: "svn:log",
        user: None,
        groups: &[],
        author: None,
    };
    assert!(!rules.may_change_revprop(&request), "no one may change it");
}
