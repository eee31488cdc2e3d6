//! Probes of authorization: random rules about groups, at two locations of one repository. At `/afar` a directory or a
//! provider says who is in a group, at `/near` the rules file itself does; each request has the same reply at both.
//!
//! `SAPWOOD_LONG=1` asks 3,000 times instead of 200.

use std::fs;

use sapwood_core::rng::Rng;
use sapwood_testkit::Programs;

use super::ldap::Group;
use super::places::{self, Served};

/// Who is in which group.
pub(crate) const MEMBERS: [Group<'_>; 3] =
    [("one", &["ada"]), ("two", &["ada", "bob"]), ("three", &["eve"])];
/// Those who are in groups.
pub(crate) const NAMES: [&str; 3] = ["ada", "bob", "eve"];
/// Those who ask; the last is in no group.
const ALL: [&str; 4] = ["ada", "bob", "eve", "nobody"];

/// A request, with `LOCATION` in place of the location's name.
pub(crate) struct Probe {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: &'static str,
    pub(crate) body: String,
}

/// Compares replies. `suffix` ends the names of all users, `ask` makes a request about one of some paths, and `send` sends it
/// for a user to a location, whose reply it returns.
pub(crate) fn compare(
    served: &Served,
    suffix: &str,
    ask: impl Fn(&mut Rng, &[String]) -> Probe,
    send: impl Fn(&Probe, &str, &str) -> String,
) {
    let paths = paths(served);
    let rounds = if std::env::var_os("SAPWOOD_LONG").is_some() { 60 } else { 4 };
    let (mut allowed, mut refused) = (0, 0);
    for seed in 1..=rounds {
        let mut rng = Rng::new(seed);
        write_rules(served, suffix, &sections(&mut rng, suffix, &paths));
        for number in 0..50 {
            let probe = ask(&mut rng, &paths);
            let who = *rng.choose(&ALL).unwrap();
            let [far, near] = ["afar", "near"].map(|location| {
                let path = probe.path.replace("LOCATION", location);
                let reply = send(&Probe { path, body: probe.body.clone(), ..probe }, who, location);
                (places::status(&reply), comparable(&reply, location))
            });
            let Probe { method, path, .. } = probe;
            assert_eq!(far, near, "seed {seed}, request {number}: {method} {path} by {who}");
            match far.0 {
                200 | 207 => allowed += 1,
                401 | 403 | 404 => refused += 1,
                _ => {}
            }
        }
    }
    // Both happen often, or nothing was compared.
    assert!(allowed * 5 > refused && refused * 5 > allowed, "{allowed} allowed, {refused} refused");
}

/// Every path of the repository, with a slash before it.
fn paths(served: &Served) -> Vec<String> {
    let url = format!("file://{}", served.repo.path().display());
    let listed = Programs::reference().run("svn", ["ls", "-R", &url]).expect_success("ls");
    let paths = listed.stdout_text();
    let paths = paths.lines().map(|line| format!("/{}", line.trim_end_matches('/')));
    paths.filter(|path| path.is_ascii() && !path.contains([' ', '%'])).collect()
}

/// The sections of a rules file; what the groups are is said elsewhere.
fn sections(rng: &mut Rng, suffix: &str, paths: &[String]) -> String {
    let (ada, not_bob) = (format!("ada{suffix}"), format!("~bob{suffix}"));
    let subjects =
        ["*", "@one", "@two", "@three", "@both", "~@two", &ada, "$authenticated", &not_bob];
    let mut text = String::new();
    let mut wanted: Vec<&str> = vec!["/"];
    wanted.extend((0..4).map(|_| rng.choose(paths).unwrap().as_str()));
    wanted.sort_unstable();
    wanted.dedup();
    for path in wanted {
        text += &format!("[{path}]\n");
        let mut subjects = subjects.to_vec();
        for _ in 0..=rng.below(3) {
            let subject = subjects.swap_remove(rng.below(subjects.len()));
            text += &format!("{subject} = {}\n", rng.choose(&["", "r", "rw", "r"]).unwrap());
        }
    }
    text
}

fn write_rules(served: &Served, suffix: &str, sections: &str) {
    let both = "both = @one, @three\n";
    let far: String = MEMBERS.iter().map(|(name, _)| format!("{name} = group:{name}\n")).collect();
    let near = MEMBERS.iter().map(|(name, who)| {
        let who: Vec<String> = who.iter().map(|who| format!("{who}{suffix}")).collect();
        format!("{name} = {}\n", who.join(", "))
    });
    for (name, groups) in [("afar", far), ("near", near.collect())] {
        let file = served.repo.parent().join(format!("{name}.authz"));
        fs::write(file, format!("[groups]\n{groups}{both}{sections}")).unwrap();
    }
}

/// What is the same in both replies: all of it but times, numbers of requests and the location's name.
fn comparable(reply: &str, location: &str) -> String {
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((reply, ""));
    let is_own = |line: &&str| {
        let line = line.to_ascii_lowercase();
        !["date:", "x-request-id:", "etag:"].iter().any(|name| line.starts_with(name))
    };
    let head: Vec<&str> = head.lines().filter(is_own).collect();
    format!("{}\n{body}", head.join("\n")).replace(&format!("/{location}/"), "/L/")
}
