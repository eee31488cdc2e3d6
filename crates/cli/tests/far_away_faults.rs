//! A commit over http whose requests go out together fails as one whose requests wait for each other: the same message,
//! exit code and repository, whichever request fails and however.
//!
//! A proxy between `svn` and our server lets one request of each commit fail. Where it closes the connection after each
//! reply, the client makes one request at a time: that is what it is compared with.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_testkit::Programs;

use crate::common::faults::{Fault, Plan, Proxy, without_names};
use crate::common::places::{LOGIN_PLACE, Served, svn_as_ada};

/// A working copy with changes of all kinds.
struct Site {
    proxy: Proxy,
    wc: PathBuf,
}

impl Site {
    fn new(served: &Served, name: &str, closes: bool) -> Self {
        let proxy = Proxy::start(served.port, closes);
        let wc = served.repo.parent().join(name);
        let url = format!("http://127.0.0.1:{}/svn/repo/base", proxy.port);
        let at = |name: &str| wc.join(name).to_str().unwrap().to_owned();
        svn_as_ada(&["checkout", "-q", &url, &at("")]).expect_success("checkout");
        let local = |args: &[&str]| svn_as_ada(args).expect_success("a change");
        for name in ["a", "b"] {
            fs::write(at(name), format!("other text of {name}\n")).unwrap();
        }
        fs::create_dir(at("new")).unwrap();
        for name in ["new/x", "new/y"] {
            fs::write(at(name), "new\n").unwrap();
        }
        fs::write(at("alone"), "new\n").unwrap();
        local(&["add", "-q", &at("new"), &at("alone")]);
        local(&["propset", "-q", "p", "v", &at("a"), &at("d")]);
        local(&["delete", "-q", &at("c")]);
        local(&["copy", "-q", &at("d/e"), &at("d/copy")]);
        local(&["move", "-q", &at("d/f"), &at("moved")]);
        Self { proxy, wc }
    }

    /// What comes of a commit: all that is said, without what is the site's own.
    fn commit(&self, plan: Option<Plan>) -> (String, i32, bool) {
        *self.proxy.plan.lock().unwrap() = plan;
        let wc = self.wc.to_str().unwrap();
        let patience = "servers:global:http-timeout=1";
        let outcome = svn_as_ada(&["commit", "-q", "-m", "all", "--config-option", patience, wc]);
        let said = outcome.stderr_text().replace(&format!(":{}/", self.proxy.port), ":PORT/");
        let said = said.replace(self.wc.to_str().unwrap(), "WC");
        // Names of transactions grow.
        let said = without_names(&said, "/!svn/txr/");
        let done = self.proxy.plan.lock().unwrap().is_some_and(|plan| plan.done);
        (said, outcome.code, done)
    }
}

fn youngest(repo: &Path) -> String {
    Programs::reference().run("svnlook", ["youngest", repo.to_str().unwrap()]).stdout_text()
}

#[test]
fn failures_are_those_of_one_request_at_a_time() {
    let served = Served::start(LOGIN_PLACE);
    let base = served.repo.parent().join("base");
    fs::create_dir_all(base.join("d/e")).unwrap();
    for name in ["a", "b", "c", "d/f", "d/e/g"] {
        fs::write(base.join(name), format!("text of {name}\n")).unwrap();
    }
    let repo = served.repo.path().to_owned();
    let url = format!("file://{}/base", repo.display());
    Programs::ours()
        .run("svn", ["import", "-q", "-m", "base", base.to_str().unwrap(), &url])
        .expect_success("import");
    let together = Site::new(&served, "together", false);
    let single = Site::new(&served, "single", true);
    let before = youngest(&repo);
    let faults = [403, 404, 405, 409, 412, 423, 500].map(Fault::Status);
    for fault in faults.into_iter().chain([Fault::Close]) {
        for left in 0..REQUESTS {
            let plan = Plan { left, fault, done: false };
            let expected = single.commit(Some(plan));
            let found = together.commit(Some(plan));
            assert_eq!(found, expected, "{plan:?}");
            assert!(found.1 != 0 && found.2, "{plan:?}");
            assert_eq!(youngest(&repo), before, "{plan:?}: nothing is committed");
        }
    }
    // A server that does not answer costs its timeout: only some of the requests.
    for left in [0, 4, REQUESTS - 1] {
        let plan = Plan { left, fault: Fault::Silence, done: false };
        let expected = single.commit(Some(plan));
        assert!(expected.0.contains("E175012") && expected.2, "{expected:?}");
        assert_eq!(together.commit(Some(plan)), expected, "{plan:?}");
        assert_eq!(youngest(&repo), before, "{plan:?}: nothing is committed");
    }
    // There are no more requests than these.
    let plan = Plan { left: REQUESTS, fault: Fault::Close, done: false };
    assert_eq!(together.commit(Some(plan)), (String::new(), 0, false));
}

/// The requests of the commit that change something.
const REQUESTS: usize = 13;
