//! Random rules about groups: where the directory says who is in a group, each request has the reply that it has where
//! the rules file itself says so. (`SAPWOOD_LONG=1` for 3,000 requests.)
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::fs;

use sapwood_core::rng::Rng;
use sapwood_testkit::Programs;
use sapwood_testkit::slapd::{READER, SUFFIX, Slapd};

use crate::common::places::{self, Served};

/// Who is in which group.
const MEMBERS: [(&str, &[&str]); 3] =
    [("one", &["ada"]), ("two", &["ada", "bob"]), ("three", &["eve"])];
const NAMES: [&str; 3] = ["ada", "bob", "eve"];
/// The same passwords as in the directory: `secret of NAME`.
const USERS: &str = "ada:{SHA}O3SKqHMCfR/aK2yVAjm6A7PODFo=\nbob:{SHA}dav9w3vfRt0uEkPauYFSic3zLxY=\n\
     eve:{SHA}xkAW0DT+/NEmPjZHIJwM16XWYoU=\n";

fn company() -> Slapd {
    let user = |name: &str| {
        format!(
            "dn: uid={name},{SUFFIX}\nobjectClass: account\nobjectClass: simpleSecurityObject\nuid: {name}\n\
             userPassword: secret of {name}\n\n"
        )
    };
    let group = |(name, members): &(&str, &[&str])| {
        let members = members.iter().map(|who| format!("member: uid={who},{SUFFIX}\n"));
        let members: String = members.collect();
        format!("dn: cn={name},{SUFFIX}\nobjectClass: groupOfNames\n{members}\n")
    };
    let users = NAMES.map(user).concat();
    let groups: String = MEMBERS.iter().map(group).collect();
    Slapd::start(&(users + &groups), None)
}

/// The repository twice, at paths of the same length: `/afar` has its groups from the directory, `/near` from the rules file.
fn served(company: &Slapd) -> Served {
    let location = |url: &str, login: &str| {
        format!(
            "[[location]]\nurl = '/{url}'\nfolder = '.'\nauthz = '{url}.authz'\npassword-delay = 0\n\
             realm = 'R'\n{login}\n"
        )
    };
    Served::start_with(
        &format!(
            "{}{}[[directory]]\nname = 'company'\nservers = ['{}']\nbase = '{SUFFIX}'\nbind-dn = '{}'\n\
             bind-password-file = 'secret'\n",
            location("afar", "directory = 'company'"),
            location("near", "users = 'near.users'"),
            company.url(),
            READER.0,
        ),
        // The files are there before the server is.
        |command| {
            let config = command.get_args().last().unwrap().to_owned();
            let base = std::path::Path::new(&config).parent().unwrap();
            fs::write(base.join("near.users"), USERS).unwrap();
            fs::write(base.join("secret"), READER.1).unwrap();
            for name in ["afar.authz", "near.authz"] {
                fs::write(base.join(name), "[/]\n* =\n").unwrap();
            }
        },
    )
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
fn sections(rng: &mut Rng, paths: &[String]) -> String {
    let subjects =
        ["*", "@one", "@two", "@three", "@both", "~@two", "ada", "$authenticated", "~bob"];
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

fn write_rules(served: &Served, sections: &str) {
    let both = "both = @one, @three\n";
    let far: String = MEMBERS.iter().map(|(name, _)| format!("{name} = group:{name}\n")).collect();
    let near: String =
        MEMBERS.iter().map(|(name, who)| format!("{name} = {}\n", who.join(", "))).collect();
    for (name, groups) in [("afar", far), ("near", near)] {
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

/// A request, `LOCATION` in place of the location's name.
fn ask(rng: &mut Rng, paths: &[String]) -> (&'static str, String, &'static str, String) {
    let path = if rng.below(8) == 0 { "" } else { rng.choose(paths).unwrap() };
    let at = |middle: &str| format!("/LOCATION/repo{middle}{path}");
    let log = format!(
        "<S:log-report xmlns:S=\"svn:\"><S:start-revision>3</S:start-revision><S:end-revision>0</S:end-revision>\
         <S:discover-changed-paths/><S:path>{}</S:path></S:log-report>",
        path.trim_start_matches('/')
    );
    match rng.below(8) {
        0 | 1 => ("GET", at(""), "", String::new()),
        2 => ("PROPFIND", at(""), "Depth: 1\r\n", String::new()),
        3 => ("PROPFIND", at("/!svn/rvr/2"), "Depth: 0\r\n", String::new()),
        4 => ("REPORT", "/LOCATION/repo/!svn/rvr/3".into(), "Content-Type: text/xml\r\n", log),
        5 => ("GET", at("/-/tree"), "", String::new()),
        6 => ("GET", at("/-/api/v1/log"), "", String::new()),
        _ => ("MKCOL", at("/!svn/txr/none"), "", String::new()),
    }
}

#[test]
fn groups_of_the_directory_count_as_those_of_the_rules_file() {
    let company = company();
    let served = served(&company);
    let paths = paths(&served);
    let rounds = if std::env::var_os("SAPWOOD_LONG").is_some() { 60 } else { 4 };
    let (mut allowed, mut refused) = (0, 0);
    for seed in 1..=rounds {
        let mut rng = Rng::new(seed);
        write_rules(&served, &sections(&mut rng, &paths));
        for number in 0..50 {
            let (method, path, headers, body) = ask(&mut rng, &paths);
            let who = *rng.choose(&["ada", "bob", "eve", "nobody"]).unwrap();
            let login = sapwood_core::base64::encode(format!("{who}:secret of {who}").as_bytes());
            let headers = format!("Authorization: Basic {login}\r\n{headers}");
            let [far, near] = ["afar", "near"].map(|location| {
                let path = path.replace("LOCATION", location);
                let reply = served.request(method, &path, &headers, &body);
                (places::status(&reply), comparable(&reply, location))
            });
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
