//! Random rules, and requests for what they hide, to `sapwood serve` and to httpd with mod_authz_svn: both
//! refuse the same, and nothing that httpd hides shows in our replies. (`SAPWOOD_LONG=1` for more.)

use crate::common::places;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use places::serve;
use sapwood_core::rng::Rng;
use sapwood_testkit::Programs;
use sapwood_testkit::server::free_port;

/// Every name is there in one meaning only, so that a reply shows which nodes it tells of.
const DIRS: [&str; 5] = ["/n01", "/n01/n02", "/n01/n02/n03", "/n04", "/n04/n05"];
const FILES: [&str; 6] =
    ["/n01/f06", "/n01/n02/f07", "/n01/n02/n03/f08", "/n04/f09", "/n04/n05/f10", "/f11"];
const LATER: [&str; 7] = [
    "/n04/n12",
    "/n04/n12/f07",
    "/n04/n12/n03",
    "/n04/n12/n03/f08",
    "/n04/f13",
    "/n14",
    "/n14/f15",
];
const USERS: &str =
    "ada:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\nbob:{SHA}6dcfXufJLW3J6S/9rRe4vUlBj5g=\n";
/// An anonymous user, ada and bob.
const WHO: [&str; 3] =
    ["", "Authorization: Basic YWRhOmE=\r\n", "Authorization: Basic Ym9iOmI=\r\n"];
/// Places where no, all and some users have to log in; the last is one repository.
const PLACES: [&str; 4] = ["/open/repo", "/closed/repo", "/mixed/repo", "/alone"];
const MODULES: &str = "/usr/lib/apache2/modules";

struct Both {
    ours: (Child, u16),
    httpd: (Child, u16),
    folder: tempfile::TempDir,
}

impl Drop for Both {
    fn drop(&mut self) {
        for child in [&mut self.ours.0, &mut self.httpd.0] {
            // httpd's first process ends the others when it is asked to.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Lets httpd's own user in.
fn let_in(folder: &Path) {
    let mut above = Some(folder);
    while let Some(dir) = above.filter(|dir| dir.starts_with(std::env::temp_dir())) {
        let mode = fs::metadata(dir).unwrap().permissions().mode();
        let _ = fs::set_permissions(dir, fs::Permissions::from_mode(mode | 0o055));
        above = dir.parent();
    }
}

fn repository(folder: &Path) {
    let reference = Programs::reference();
    let repo = folder.join("repo");
    let run = |program: &str, args: &[&str]| {
        reference.run(program, args).expect_success(program);
    };
    run("svnadmin", &["create", repo.to_str().unwrap()]);
    let url = format!("file://{}", repo.display());
    let text = folder.join("text");
    fs::write(&text, "a text\n").unwrap();
    let text = text.to_str().unwrap();
    let commit = |actions: &[&str]| {
        let begin = ["-m", "a change", "-U", &url];
        run("svnmucc", &[&begin[..], actions].concat());
    };
    let dirs = DIRS.iter().flat_map(|dir| ["mkdir", &dir[1..]]);
    let files = FILES.iter().flat_map(|file| ["put", text, &file[1..]]);
    commit(&dirs.chain(files).collect::<Vec<_>>());
    commit(&["cp", "1", "n01/n02", "n04/n12"]);
    commit(&["cp", "2", "n01/f06", "n04/f13", "rm", "n01/f06"]);
    commit(&["propset", "p", "v", "n01/n02/f07", "propset", "p", "v", "n04"]);
    commit(&["mkdir", "n14", "cp", "4", "n01/n02/n03/f08", "n14/f15"]);
    let is_root = reference_is_root();
    if is_root {
        let done = Command::new("chown").args(["-R", "www-data"]).arg(&repo).status().unwrap();
        assert!(done.success());
    }
}

fn reference_is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

fn httpd_conf(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    let load =
        |name: &str, file: &str| format!("LoadModule {name}_module {MODULES}/mod_{file}.so\n");
    let mut conf: String = [
        "mpm_event",
        "authn_core",
        "authn_file",
        "authz_core",
        "authz_user",
        "access_compat",
        "auth_basic",
        "dav",
        "dav_svn",
        "authz_svn",
    ]
    .iter()
    .map(|name| load(name, name))
    .collect();
    if reference_is_root() {
        conf += "User www-data\nGroup www-data\n";
    }
    conf += &format!(
        "Listen 127.0.0.1:{port}\nServerName localhost\nPidFile {folder}/pid\nErrorLog {folder}/error\n\
         DocumentRoot {folder}\nStartServers 1\nServerLimit 1\n"
    );
    for place in PLACES {
        let url = place.trim_end_matches("/repo");
        let path = if place == "/alone" { "SVNPath" } else { "SVNParentPath" };
        let path_of = if place == "/alone" { "/repo" } else { "" };
        let login = match place {
            "/open/repo" => "Require all granted".to_owned(),
            _ => format!(
                "AuthType Basic\nAuthName R\nAuthUserFile {folder}/users\nRequire valid-user"
            ),
        };
        let any = if matches!(place, "/mixed/repo" | "/alone") { "Satisfy Any" } else { "" };
        conf += &format!(
            "<Location {url}>\nDAV svn\n{path} {folder}{path_of}\nAuthzSVNAccessFile {folder}/authz\n\
             {login}\n{any}\n</Location>\n"
        );
    }
    conf
}

fn our_conf(port: u16) -> String {
    let mut conf = format!("http-port = {port}\n");
    for place in PLACES {
        let url = place.trim_end_matches("/repo");
        let path = if place == "/alone" { "repository = 'repo'" } else { "folder = '.'" };
        let users = "users = 'users'\npassword-delay = 0\n";
        let login = match place {
            "/open/repo" => String::new(),
            "/closed/repo" => users.to_owned(),
            _ => format!("{users}login = 'optional'\n"),
        };
        conf += &format!(
            "[[location]]\nurl = '{url}'\n{path}\nauthz = 'authz'\nplain-pages = true\n{login}"
        );
    }
    conf
}

impl Both {
    fn start() -> Self {
        let modules = Path::new(MODULES).join("mod_authz_svn.so");
        assert!(modules.exists(), "httpd is needed (package 'libapache2-mod-svn')");
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let_in(at);
        repository(at);
        fs::write(at.join("users"), USERS).unwrap();
        fs::write(at.join("authz"), "[/]\n").unwrap();
        let (port, ours) = (free_port(), free_port());
        fs::write(at.join("httpd.conf"), httpd_conf(at, port)).unwrap();
        fs::write(at.join("ours.toml"), our_conf(ours)).unwrap();
        let httpd = Command::new("/usr/sbin/apache2")
            .arg("-f")
            .arg(at.join("httpd.conf"))
            .arg("-DFOREGROUND")
            .spawn()
            .unwrap();
        let both =
            Self { ours: (serve(&at.join("ours.toml")), ours), httpd: (httpd, port), folder };
        let is_up =
            sapwood_testkit::patience::wait(10, || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let error = fs::read_to_string(both.folder.path().join("error")).unwrap_or_default();
        assert!(is_up, "httpd does not answer: {error}");
        both
    }
}

/// A request, but for its place and user.
#[derive(Clone, Debug)]
struct Ask {
    method: &'static str,
    path: String,
    headers: String,
    body: String,
}

/// The status of an answer and the names in it. Each on a connection of its own: httpd keeps rules
/// for the time of one.
fn answer(port: u16, ask: &Ask, who: &str) -> (u16, BTreeSet<String>, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let Ask { method, path, headers, body } = ask;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{who}{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (status, names(&text), text)
}

/// The names of nodes in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_name = |w: &&str| {
        w.len() == 3 && w.starts_with(['n', 'f']) && w[1..].bytes().all(|b| b.is_ascii_digit())
    };
    words.filter(is_name).map(str::to_owned).collect()
}

fn pick<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    rng.choose(all).unwrap()
}

fn paths() -> Vec<&'static str> {
    DIRS.iter().chain(&FILES).chain(&LATER).copied().collect()
}

fn rules(rng: &mut Rng) -> String {
    let mut text = "[groups]\ng = bob\n".to_owned();
    let mut wanted = vec!["/"];
    wanted.extend((0..=rng.below(4)).map(|_| *pick(rng, &paths())));
    wanted.dedup();
    let mut said = BTreeSet::new();
    for path in wanted {
        let section = match rng.below(4) {
            0 => format!("repo:{path}"),
            1 => format!("alone:{path}"),
            _ => path.to_owned(),
        };
        if !said.insert(section.clone()) {
            continue;
        }
        text += &format!("[{section}]\n");
        let all = ["*", "ada", "@g", "bob", "$anonymous", "$authenticated", "~ada"];
        let mut users = BTreeSet::new();
        for _ in 0..=rng.below(3) {
            let user = pick(rng, &all);
            if users.insert(user) {
                text += &format!("{user} = {}\n", pick(rng, &["", "r", "rw", "r"]));
            }
        }
    }
    text
}

fn report(rng: &mut Rng, revision: usize) -> String {
    let body = match rng.below(10) {
        0 | 1 => {
            "<S:log-report><S:start-revision>5</S:start-revision><S:end-revision>0</S:end-revision>\
              <S:discover-changed-paths/><S:all-revprops/><S:path></S:path></S:log-report>"
        }
        2 => {
            "<S:log-report><S:start-revision>5</S:start-revision><S:end-revision>0</S:end-revision>\
              <S:strict-node-history/><S:path></S:path></S:log-report>"
        }
        3 => {
            "<S:get-locations><S:path></S:path><S:peg-revision>R</S:peg-revision>\
              <S:location-revision>1</S:location-revision><S:location-revision>2</S:location-revision>\
              </S:get-locations>"
        }
        4 => {
            "<S:get-location-segments><S:path></S:path><S:peg-revision>R</S:peg-revision>\
              <S:start-revision>R</S:start-revision><S:end-revision>0</S:end-revision>\
              </S:get-location-segments>"
        }
        5 => {
            "<S:file-revs-report><S:start-revision>1</S:start-revision><S:end-revision>R</S:end-revision>\
              <S:path></S:path></S:file-revs-report>"
        }
        6 => {
            "<S:list-report><S:path></S:path><S:revision>R</S:revision><S:depth>infinity</S:depth>\
              </S:list-report>"
        }
        7 => {
            "<S:mergeinfo-report><S:revision>R</S:revision><S:inherit>explicit</S:inherit>\
              <S:path></S:path><S:include-descendants>yes</S:include-descendants></S:mergeinfo-report>"
        }
        8 => {
            "<S:inherited-props-report><S:revision>R</S:revision><S:path></S:path>\
              </S:inherited-props-report>"
        }
        _ => "<S:get-locks-report depth=\"infinity\"/>",
    };
    let body = body.replace('R', &revision.to_string());
    body.replacen('>', " xmlns:S=\"svn:\" xmlns:D=\"DAV:\">", 1)
        .replace("/ xmlns", " xmlns")
        .replace(
            "depth=\"infinity\" xmlns:S=\"svn:\" xmlns:D=\"DAV:\">",
            "depth=\"infinity\" xmlns:S=\"svn:\" xmlns:D=\"DAV:\"/>",
        )
}

fn random(rng: &mut Rng, place: &str) -> Ask {
    // With SVNPath mod_authz_svn asks for nothing at the root itself: a user who may read anything may
    // read that. Ours asks the rules there, too.
    let has_root = place != "/alone";
    let path = if has_root && rng.below(8) == 0 { "" } else { *pick(rng, &paths()) };
    let revision = rng.below(5) + 1;
    let special = |kind: &str| format!("{place}/!svn/{kind}");
    let address = match rng.below(8) {
        0 => special(&format!("rvr/{revision}{path}")),
        1 => special(&format!("bc/{revision}{}", if path.is_empty() { "/" } else { path })),
        2 => special(&format!("ver/{revision}{path}")),
        3 => {
            let kinds = ["rev/2", "bln/2", "vcc/default", "me"];
            let kind: &&str = pick(rng, &kinds);
            special(kind)
        }
        4 => format!("{place}{path}?p={}&r={revision}", rng.below(5) + 1),
        _ => format!("{place}{}", if path.is_empty() { "/" } else { path }),
    };
    let ask = |method, path, headers: &str, body: &str| {
        let (headers, body) = (headers.to_owned(), body.to_owned());
        Ask { method, path, headers, body }
    };
    match rng.below(20) {
        0..=3 => ask("GET", address, "", ""),
        4 => ask("HEAD", address, "", ""),
        5..=7 => ask("PROPFIND", address, &format!("Depth: {}\r\n", rng.below(2)), ""),
        8 => ask("OPTIONS", address, "", ""),
        9..=14 => {
            let body = report(rng, revision);
            ask("REPORT", address, "Content-Type: text/xml\r\n", &body)
        }
        15 => {
            let body = format!(
                "<S:update-report xmlns:S=\"svn:\" send-all=\"true\"><S:src-path>http://127.0.0.1{place}\
                 {path}</S:src-path><S:target-revision>{revision}</S:target-revision>\
                 <S:depth>infinity</S:depth><S:entry rev=\"{revision}\" start-empty=\"true\"></S:entry>\
                 </S:update-report>"
            );
            ask("REPORT", special("me"), "Content-Type: text/xml\r\n", &body)
        }
        16 => {
            let body = format!(
                "<S:replay-report xmlns:S=\"svn:\"><S:revision>{revision}</S:revision><S:low-water-mark>0\
                 </S:low-water-mark><S:send-deltas>0</S:send-deltas></S:replay-report>"
            );
            ask("REPORT", special("me"), "Content-Type: text/xml\r\n", &body)
        }
        17 => {
            let to = format!("Destination: http://127.0.0.1{place}{}x\r\n", pick(rng, &paths()));
            ask(*pick(rng, &["COPY", "MOVE"]), address, &to, "")
        }
        _ => {
            let all = ["PUT", "MKCOL", "DELETE", "PROPPATCH", "LOCK", "UNLOCK", "CHECKOUT"];
            ask(*pick(rng, &all), address, "", "")
        }
    }
}

/// Whether an answer is that this is not for the user.
fn refuses(status: u16, text: &str) -> bool {
    // mod_dav has its own reasons for 403.
    let is_meant = !text.contains("Server: Apache") || text.contains("permission to access");
    status == 401 || (status == 403 && is_meant) || text.contains("errcode=\"22000")
}

#[test]
fn as_mod_authz_svn_decides() {
    let both = Both::start();
    let (httpd, ours) = (both.httpd.1, both.ours.1);
    let rounds = if std::env::var_os("SAPWOOD_LONG").is_some() { 130 } else { 10 };
    let mut compared = 0;
    for seed in 1..=rounds {
        let mut rng = Rng::new(seed);
        let rules = rules(&mut rng);
        fs::write(both.folder.path().join("authz"), &rules).unwrap();
        let place = *pick(&mut rng, &PLACES);
        for (number, who) in WHO.iter().enumerate() {
            // What httpd lets the user see, in any revision.
            let mut seen = BTreeSet::new();
            for path in paths() {
                let path =
                    format!("{place}/!svn/rvr/{}{path}", if path == "/n01/f06" { 2 } else { 5 });
                let ask = Ask {
                    method: "PROPFIND",
                    path,
                    headers: "Depth: 0\r\n".into(),
                    body: "".into(),
                };
                let (status, ..) = answer(httpd, &ask, who);
                if status == 207 {
                    // With the path of one the names above it are known.
                    seen.extend(names(&ask.path));
                }
            }
            for _ in 0..25 {
                let ask = random(&mut rng, place);
                let (theirs, told) = (answer(httpd, &ask, who), answer(ours, &ask, who));
                let what = || {
                    let (a, b) = (&theirs.2, &told.2);
                    format!("seed {seed}, user {number}: {ask:?}\n{rules}\nhttpd: {a}\nours: {b}")
                };
                let (is_refused, by_us) = (refuses(theirs.0, &theirs.2), refuses(told.0, &told.2));
                // What makes no sense anyway need not be refused by httpd, too.
                // And to a user who may read nothing of a repository ours does not tell that it is there.
                let whole = ["/!svn/me", "/!svn/vcc/", "/!svn/rev/", "/!svn/bln/"];
                let is_of_the_whole = whole.iter().any(|part| ask.path.contains(part));
                let is_nonsense = matches!(theirs.0, 400 | 403 | 405 | 409) || is_of_the_whole;
                assert!(is_refused == by_us || (is_nonsense && by_us), "{}", what());
                let asked = names(&format!("{} {} {}", ask.path, ask.headers, ask.body));
                let shown: Vec<_> = told.1.difference(&theirs.1).collect();
                let leaked: Vec<_> =
                    shown.iter().filter(|n| !asked.contains(**n) && !seen.contains(**n)).collect();
                assert!(leaked.is_empty(), "{leaked:?} shows: {}", what());
                compared += 1;
            }
        }
    }
    assert!(compared >= 700, "{compared}");
}

/// CVE-2021-28544: where something was copied from that may not be read is not in a log.
#[test]
fn hidden_sources_of_copies_are_not_in_logs() {
    let both = Both::start();
    fs::write(both.folder.path().join("authz"), "[/]\n* = r\n[/n01/n02]\n* =\n").unwrap();
    let log = "<S:log-report xmlns:S=\"svn:\"><S:start-revision>5</S:start-revision><S:end-revision>0\
               </S:end-revision><S:discover-changed-paths/><S:path></S:path></S:log-report>";
    let path = "/open/repo/!svn/rvr/5/n04".to_owned();
    let ask = Ask { method: "REPORT", path, headers: String::new(), body: log.to_owned() };
    let (status, names, text) = answer(both.ours.1, &ask, "");
    assert_eq!(status, 200);
    assert!(names.contains("n12") && names.contains("f13"), "{text}");
    assert!(!names.contains("n02") && text.contains("copyfrom-path=\"/n01/f06\""), "{text}");
}
