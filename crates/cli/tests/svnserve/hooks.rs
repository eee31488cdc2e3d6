//! Hooks of commits over the wire: what they get, what they see of the transaction, and what the
//! client hears of them, from both servers.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs, Repository, Server, Shape};

struct Side {
    repository: Repository,
    server: Server,
}

impl Side {
    fn new(programs: &Programs, shape: &Shape, conf: &str) -> Self {
        let repository = Repository::scripted(shape);
        let conf = format!("[general]\nanon-access = write\n{conf}\n");
        std::fs::write(repository.path().join("conf/svnserve.conf"), conf).unwrap();
        let server = Server::start(programs, repository.parent(), &[]);
        Self { repository, server }
    }

    /// A hook that writes to a log of its name. `$1` is the repository.
    fn hook(&self, name: &str, script: &str) {
        let path = self.repository.path().join("hooks").join(name);
        let text = format!("#!/bin/sh\nexec >> \"$1/{name}.log\"\n{script}\n");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn log(&self, hook: &str) -> String {
        let path = self.repository.path().join(format!("{hook}.log"));
        let log = std::fs::read_to_string(path).unwrap_or_default();
        log.replace(&*self.repository.path().to_string_lossy(), "REPOSITORY")
    }

    /// What `svnmucc` says.
    fn commit(&self, message: &str, args: &[&str]) -> Output {
        let url = self.server.url("repo");
        let mut command = Programs::reference().command("svnmucc");
        let mut out = Output::of(command.args(["-m", message, "-U", &url]).args(args));
        if let Some(at) = out.stdout.windows(4).position(|part| part == b" at ") {
            // The date that follows is not the same twice.
            out.stdout.drain(at..at + 31);
        }
        out.replacing(&format!(":{}", self.server.port()), ":PORT")
    }
}

#[test]
fn what_hooks_see() {
    for shape in ["1.4", "1.8", "1.10"] {
        let sides = [Programs::reference(), Programs::ours()].map(|programs| {
            let side = Side::new(&programs, &Shape::new(shape), "");
            let text = side.repository.parent().join("text");
            std::fs::write(&text, "some text\n".repeat(1000)).unwrap();
            let look = "export PATH=/usr/bin:/bin LC_ALL=C.UTF-8\n\
                        echo \"$# [$2] [$3]\"; env | grep -v -e PATH -e LC_ALL -e PWD -e SHLVL -e _=\n\
                        cat\n";
            let show = "svnlook changed --copy-info -t $txn $1; svnlook tree -t $txn $1 new\n\
                        svnlook log -t $txn $1; svnlook author -t $txn $1\n\
                        svnadmin lstxns $1; svnlook propget --revprop -t $txn $1 x:y\n";
            let more = "svnlook cat -t $txn $1 new/text; svnlook proplist -v -t $txn $1 new\n\
                        svnlook diff -t $txn $1 | grep -v '^[-+][-+]'\n\
                        [ \"$(svnlook log -t $txn $1)\" != refuse ] || { echo 'not this' >&2; exit 3; }\n\
                        [ \"$(svnlook log -t $txn $1)\" != silence ] || exit 4\n\
                        [ \"$(svnlook log -t $txn $1)\" != die ] || kill -TERM $$\n\
                        exit 0";
            side.hook("start-commit", &format!("{look}txn=$4\n{show}"));
            side.hook("pre-commit", &format!("{look}txn=$2\n{show}{more}"));
            side.hook(
                "post-commit",
                "echo \"$# [$2] [$3]\"; ls \"$1/db/transactions\"\n\
                 [ ! -d \"$1/db/txn-protorevs\" ] || ls \"$1/db/txn-protorevs\"\n\
                 [ \"$2\" = 45 ] || exit 0; echo 'after all' >&2; exit 5",
            );
            let text = text.to_str().unwrap().to_owned();
            let mut said = Vec::new();
            for message in ["yes é", "refuse", "silence", "die"] {
                said.push(side.commit(
                    message,
                    &["--with-revprop", "x:y=z", "mkdir", "new", "put", &text, "new/text"],
                ));
                said.push(side.commit(
                    message,
                    &["cp", "3", "trunk", "new/copy", "propset", "p", "v", "new", "rm", "branches"],
                ));
            }
            // Nothing is left of those that were refused.
            let left = std::fs::read_dir(side.repository.path().join("db/transactions")).unwrap();
            assert_eq!(left.count(), 0);
            let logs = ["start-commit", "pre-commit", "post-commit"].map(|hook| side.log(hook));
            (said, logs)
        });
        let [reference, ours] = sides;
        for (reference, ours) in reference.0.iter().zip(&ours.0) {
            assert_same(shape, reference, ours);
        }
        for (reference, ours) in reference.1.iter().zip(&ours.1) {
            assert_eq!(reference, ours, "{shape}");
        }
        assert!(ours.1[1].contains("A   new/text"), "{}", ours.1[1]);
    }
}

#[test]
fn environments() {
    let env = "[default]\nBOTH = default\nONLY = here\n[pre-commit]\nBOTH = own\nX = a b\n";
    for conf in ["", "hooks-env = other", "hooks-env = missing"] {
        let sides = [Programs::reference(), Programs::ours()].map(|programs| {
            let side = Side::new(&programs, &Shape::new("1.10"), conf);
            let folder = side.repository.path().join("conf");
            std::fs::write(folder.join("hooks-env"), env).unwrap();
            std::fs::write(folder.join("other"), env.replace("own", "other")).unwrap();
            for hook in ["start-commit", "pre-commit", "post-commit"] {
                side.hook(hook, "/usr/bin/env | /usr/bin/sort | /bin/grep -v _=");
            }
            let said = side.commit("m", &["mkdir", "new"]);
            (said, ["start-commit", "pre-commit", "post-commit"].map(|hook| side.log(hook)))
        });
        let [reference, ours] = sides;
        assert_same(conf, &reference.0, &ours.0);
        assert_eq!(reference.1, ours.1, "{conf}");
    }
}

#[test]
fn a_hook_that_hangs() {
    let side = Side::new(&Programs::ours(), &Shape::new("1.10"), "hook-timeout = 1");
    side.hook("pre-commit", "echo before >&2; exec sleep 600");
    let begun = Instant::now();
    let said = side.commit("m", &["mkdir", "new"]).stderr_text();
    assert!(begun.elapsed() < Duration::from_secs(300));
    assert!(said.contains("E165001: 'pre-commit' hook failed (it was killed after 1 s)"), "{said}");
    std::fs::remove_file(side.repository.path().join("hooks/pre-commit")).unwrap();
    side.hook("post-commit", "exec sleep 600");
    let said = side.commit("m", &["mkdir", "new"]);
    assert_eq!(said.code, 0, "{said:?}");
    let warning = "Warning: 'post-commit' hook failed (it was killed after 1 s)";
    assert!(said.stdout_text().contains(warning), "{said:?}");
}
