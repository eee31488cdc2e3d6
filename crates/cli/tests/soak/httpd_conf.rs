//! Random configurations of httpd, imported: httpd with mod_dav_svn and `sapwood serve` on the imported file are asked
//! the same as five users. Ours never lets in whom httpd does not.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Programs, Rng};

use super::httpd::{Httpd, hand_over};
use super::places::serve;

const USERS: &str = "alice:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\nbob:{SHA}6dcfXufJLW3J6S/9rRe4vUlBj5g=\n\
                     admin:{SHA}hKUWhBuneltGSN4s0N/LMOpG27Q=\n";
const RULES: &str = "[/]\n* = r\nadmin = rw\n[a:/secret]\n* =\nadmin = rw\n[b:/]\n* =\nbob = rw\n[one:/sub]\n$anonymous =\n";
const WHO: [(&str, &str); 5] = [
    ("none", ""),
    ("alice", "Authorization: Basic YWxpY2U6YQ==\r\n"),
    ("bob", "Authorization: Basic Ym9iOmI=\r\n"),
    ("admin", "Authorization: Basic YWRtaW46Yw==\r\n"),
    ("wrong", "Authorization: Basic YWxpY2U6eA==\r\n"),
];
const MODULES: [&str; 28] = [
    "mpm_event",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_user",
    "authz_host",
    "authz_groupfile",
    "access_compat",
    "auth_basic",
    "alias",
    "dir",
    "env",
    "setenvif",
    "headers",
    "rewrite",
    "macro",
    "allowmethods",
    "deflate",
    "filter",
    "mime",
    "autoindex",
    "unique_id",
    "dav",
    "dav_svn",
    "authz_svn",
    "authn_anon",
    "proxy",
    "proxy_http",
];
const READS: &str = "GET PROPFIND OPTIONS REPORT";

/// The folder with repositories, users and rules, made once.
struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let text = at.join("text");
        fs::write(&text, "a text\n").unwrap();
        for name in ["srv/a", "srv/b", "srv/one", "srv/group/deep", "alone"] {
            let repo = at.join(name);
            fs::create_dir_all(repo.parent().unwrap()).unwrap();
            let reference = Programs::reference();
            reference.run("svnadmin", ["create", repo.to_str().unwrap()]).expect_success("create");
            let (url, text) = (format!("file://{}", repo.display()), text.to_str().unwrap());
            let args = [
                "-m", "x", "-U", &url, "mkdir", "secret", "mkdir", "sub", "put", text, "f", "put",
                text, "secret/h", "put", text, "sub/g",
            ];
            reference.run("svnmucc", args).expect_success("svnmucc");
            fs::write(repo.join("conf/authz"), "[/]\nalice = rw\n* = r\n[/secret]\n* =\n").unwrap();
        }
        fs::write(at.join("users"), USERS).unwrap();
        fs::write(at.join("groups"), "devs: alice bob\n").unwrap();
        fs::write(at.join("rules"), RULES).unwrap();
        fs::create_dir(at.join("docs")).unwrap();
        fs::create_dir(at.join("inc")).unwrap();
        hand_over(at);
        Self { folder }
    }

    fn at(&self) -> &Path {
        self.folder.path()
    }
}

/// Writes a configuration.
struct Writer<'r> {
    rng: &'r mut Rng,
    at: PathBuf,
    port: u16,
    macros: usize,
    files: Vec<(PathBuf, String)>,
}

impl Writer<'_> {
    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        self.rng.pick::<&str>(all)
    }

    fn methods(&mut self) -> &'static str {
        let all = [
            READS,
            "GET",
            "POST PUT",
            "GET POST",
            "PROPFIND OPTIONS",
            "MERGE",
            "PUT DELETE",
            "GET PROPFIND OPTIONS REPORT POST",
        ];
        self.pick(&all)
    }

    /// One requirement that may stand alone.
    fn requirement(&mut self) -> String {
        let all = [
            "valid-user",
            "valid-user",
            "valid-user",
            "all granted",
            "all granted",
            "all denied",
            "user alice",
            "user alice admin",
            "group devs",
            "ip 127.0.0.1",
            "ip 10.0.0.0/8",
            "host localhost",
            "local",
            "env OK",
            "method GET OPTIONS PROPFIND REPORT",
            "method POST",
            "expr %{REQUEST_METHOD} == 'GET'",
            "expr req('X') == 'y'",
        ];
        format!("Require {}\n", self.pick(&all))
    }

    fn group(&mut self, depth: usize) -> String {
        let name = self.pick(&["RequireAll", "RequireAny", "RequireAll"]);
        let mut inner = self.requirement();
        for _ in 0..self.rng.below(3) {
            match self.rng.below(5) {
                0 if depth < 2 => inner += &self.group(depth + 1),
                1 if name == "RequireAll" => {
                    let what = self.pick(&[
                        "user bob",
                        "user alice",
                        "ip 127.0.0.1",
                        "ip 10.1.1.1",
                        "group devs",
                        "valid-user",
                    ]);
                    inner += &format!("Require not {what}\n");
                }
                2 if name == "RequireAll" => {
                    let what = self.pick(&["user bob", "ip 10.1.1.1", "valid-user", "env OK"]);
                    inner += &format!("<RequireNone>\nRequire {what}\n</RequireNone>\n");
                }
                _ => inner += &self.requirement(),
            }
        }
        format!("<{name}>\n{inner}</{name}>\n")
    }

    /// Who may come in, in one section.
    fn access(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.rng.below(3) {
            text += &match self.rng.below(9) {
                0..=3 => self.requirement(),
                4 => self.group(0),
                5 => {
                    let name = self.pick(&["Limit", "LimitExcept"]);
                    let methods = self.methods();
                    let what = match self.rng.below(3) {
                        0 => "Order allow,deny\nDeny from all\n".to_owned(),
                        _ => self.requirement(),
                    };
                    format!("<{name} {methods}>\n{what}</{name}>\n")
                }
                6 => {
                    let order = self.pick(&[
                        "Order allow,deny",
                        "Order deny,allow",
                        "Order mutual-failure",
                        "",
                    ]);
                    let more = self.pick(&[
                        "Allow from all",
                        "Deny from all",
                        "Deny from all\nAllow from 127.0.0.1",
                        "Allow from 10",
                        "Deny from 127.0.0.1\nAllow from all",
                        "Allow from env=OK",
                    ]);
                    format!("{order}\n{more}\n")
                }
                7 => format!("Satisfy {}\n", self.pick(&["Any", "Any", "All"])),
                _ => {
                    let all = [
                        "AuthMerging And",
                        "AuthMerging Or",
                        "AuthMerging Off",
                        "AuthType None",
                        "AllowMethods GET OPTIONS PROPFIND",
                        "AllowMethods reset",
                        "SetEnv OK 1",
                        "Options None",
                        "SetOutputFilter DEFLATE",
                        "Header set X y",
                        "<If \"%{REQUEST_METHOD} == 'GET'\">\nRequire all denied\n</If>",
                        "<If \"%{HTTP:X} == 'y'\">\nRequire all granted\n</If>",
                        "LimitXMLRequestBody 100000",
                        "AuthBasicProvider file",
                        "AuthzSendForbiddenOnFailure On",
                        "AuthBasicProvider anon file\nAnonymous *",
                        "AuthBasicFake bob b",
                        "AuthBasicAuthoritative Off",
                        "RequestHeader set Authorization \"Basic Ym9iOmI=\"",
                        "RequestHeader unset Authorization early",
                        "SetHandler None",
                        "SetHandler default-handler",
                        "RewriteEngine On\nRewriteRule . - [F]",
                        "Redirect 403 /svn/a/secret",
                        "ErrorDocument 401 /docs",
                        "<RequireNone>\nRequire user bob\n</RequireNone>\nRequire valid-user",
                        "<RequireAll>\n<Limit POST>\nRequire user alice\n</Limit>\nRequire valid-user\n</RequireAll>",
                    ];
                    format!("{}\n", self.pick(&all))
                }
            };
        }
        text
    }

    fn login(&mut self) -> String {
        format!(
            "AuthType Basic\nAuthName R\nAuthUserFile {0}/users\nAuthGroupFile {0}/groups\n",
            self.at.display()
        )
    }

    fn rules(&mut self) -> String {
        let mut text = match self.rng.below(6) {
            0 => "AuthzSVNReposRelativeAccessFile authz\n".to_owned(),
            1 => "AuthzSVNReposRelativeAccessFile nothere\n".to_owned(),
            _ => format!("AuthzSVNAccessFile {}/rules\n", self.at.display()),
        };
        if self.rng.chance(30) {
            let all = [
                "AuthzSVNAnonymous Off",
                "AuthzSVNNoAuthWhenAnonymousAllowed On",
                "AuthzSVNAuthoritative Off",
                "AuthzForceUsernameCase Upper",
            ];
            text += &format!("{}\n", self.pick(&all));
        }
        text
    }

    fn repositories(&mut self, url: &str) -> String {
        let at = self.at.display().to_string();
        let path = match url.trim_end_matches('/') {
            "/one" => format!("SVNPath {at}/alone"),
            _ => format!("SVNParentPath {at}/srv"),
        };
        let list = self.pick(&[
            "",
            "SVNListParentPath On\n",
            "SVNPathAuthz Off\n",
            "SVNPathAuthz short_circuit\n",
            "SVNAutoversioning Off\n",
        ]);
        format!("DAV svn\n{path}\n{list}")
    }

    fn section(&mut self, name: &str, arg: &str, body: &str) -> String {
        let arg = if arg.starts_with('~') || self.rng.chance(50) {
            arg.to_owned()
        } else {
            format!("\"{arg}\"")
        };
        let text = format!("<{name} {arg}>\n{body}</{name}>\n");
        match self.rng.below(12) {
            0 => {
                let cond = self.pick(&[
                    "IfModule mod_dav_svn.c",
                    "IfModule !mod_dav_svn.c",
                    "IfModule !mod_ssl.c",
                    "IfModule ssl_module",
                    "IfDefine ON",
                    "IfDefine !ON",
                    "IfDefine NOT",
                    "IfDefine !NOT",
                    "IfVersion >= 2.4",
                    "IfVersion < 2.4",
                    "IfVersion ~ ^2",
                ]);
                let name = cond.split(' ').next().unwrap();
                format!("<{cond}>\n{text}</{name}>\n")
            }
            1 => {
                self.macros += 1;
                let n = self.macros;
                let body = text.replacen("/svn", "$place", 1).replacen("/one", "$place", 1);
                let place =
                    if arg.contains("/one") && !arg.contains("/svn") { "/one" } else { "/svn" };
                format!("<Macro M{n} $place>\n{body}</Macro>\nUse M{n} {place}\nUndefMacro M{n}\n")
            }
            2 => {
                let file = self.at.join(format!("inc/{}.conf", self.files.len()));
                let line = format!("Include {}\n", file.display());
                self.files.push((file, text));
                line
            }
            3 if arg.contains("/svn") => {
                let body = text.replacen("/svn", "${PLACE}", 1);
                format!("Define PLACE /svn\n{body}")
            }
            _ => text,
        }
    }

    /// A section that is about a part of what is served, or all of it.
    fn more(&mut self) -> String {
        let mut body = self.access();
        if self.rng.chance(25) {
            body = self.login() + &body;
        }
        if self.rng.chance(12) {
            body += &self.rules();
        }
        if self.rng.chance(6) {
            body += self.pick(&["SVNPathAuthz Off\n", "DAV Off\n", "SVNListParentPath On\n"]);
        }
        match self.rng.below(4) {
            0 => {
                let arg = self.pick(&[
                    "^/svn/[^/]+/secret",
                    "^/svn",
                    "/secret",
                    "^/one/.*h$",
                    "^/nothing",
                    "^/(svn|one)/",
                    "^/svn/a",
                ]);
                if self.rng.chance(50) {
                    self.section("LocationMatch", arg, &body)
                } else {
                    self.section("Location", &format!("~ \"{arg}\""), &body)
                }
            }
            _ => {
                let arg = self.pick(&[
                    "/svn",
                    "/svn",
                    "/svn/",
                    "/svn/a",
                    "/svn/a/",
                    "/svn/b",
                    "/svn/a/secret",
                    "/one",
                    "/one/secret",
                    "/",
                    "/svn/*",
                    "/svn/a/s?cret",
                    "/nothing",
                    "/svn/a/!svn",
                ]);
                self.section("Location", arg, &body)
            }
        }
    }

    fn outside(&mut self) -> String {
        let all = [
            "RewriteEngine On\nRewriteRule ^/svn/a/secret - [F]\n",
            "RewriteEngine On\nRewriteCond %{REQUEST_METHOD} POST\nRewriteRule ^/svn - [F,L]\n",
            "RewriteRule ^/svn - [F]\n",
            "RewriteEngine On\nRewriteRule ^/nothing /svn/a [PT]\n",
            "RewriteEngine On\nRewriteRule secret - [G]\n",
            "RewriteEngine On\nRewriteRule ^/svn - [E=OK:1]\n",
            "Redirect permanent /old /svn/a\n",
            "Redirect /svn/b /one\n",
            "RedirectMatch 403 ^/svn/a/secret\n",
            "RedirectMatch ^/svn/(.*)/h$ /one/$1\n",
            "Redirect gone /one/secret\n",
            "SetEnvIf Remote_Addr . OK=1\n",
            "<If \"%{REQUEST_URI} =~ m#/secret#\">\nRequire all denied\n</If>\n",
            "<If \"-n req('X')\">\nRequire all granted\n</If>\n",
            "<Files h>\nRequire all denied\n</Files>\n",
            "<Directory />\nRequire all denied\n</Directory>\n",
            "<Directory />\nAllowOverride None\nRequire all granted\n</Directory>\n",
            "SVNPathAuthz Off\n",
            "SVNAllowBulkUpdates Off\n",
            "Alias /svn/a /tmp\n",
            "AliasMatch ^/svn/(b|c) /tmp\n",
            "ScriptAlias /one/secret /tmp\n",
            "ProxyPass /svn/b http://127.0.0.1:1/\n",
            "ProxyPass /svn/b !\n",
            "ProxyPassMatch ^/one/secret http://127.0.0.1:1/\n",
            "RequestHeader unset Authorization early\n",
            "<Proxy *>\nRequire all granted\n</Proxy>\n",
            "<IfFile /etc/passwd>\nRewriteEngine On\nRewriteRule secret - [F]\n</IfFile>\n",
            "<IfModule mod_rewrite.c>\n<IfModule !mod_ssl.c>\nRewriteEngine On\nRewriteRule ^/one - [F]\n</IfModule>\n</IfModule>\n",
            "TraceEnable off\n",
            "Header always set A b\n",
            "RequestHeader set X y\n",
        ];
        self.pick(&all).to_owned()
    }

    fn place(&mut self, url: &str) -> String {
        let mut body = self.repositories(url);
        if self.rng.chance(85) {
            body += &self.login();
        }
        if self.rng.chance(50) {
            body += &self.rules();
        }
        body += &self.access();
        self.section("Location", url, &body)
    }

    fn places(&mut self) -> String {
        let mut parts = vec![self.place("/svn")];
        if self.rng.chance(50) {
            parts.push(self.place("/one"));
        }
        if self.rng.chance(8) {
            parts.push(self.place("/svn"));
        }
        if self.rng.chance(8) {
            parts.push(self.place("/"));
        }
        for _ in 0..self.rng.below(4) {
            let more = self.more();
            let at = self.rng.below(parts.len() + 1);
            parts.insert(at, more);
        }
        for _ in 0..self.rng.below(3) {
            let more = self.outside();
            let at = self.rng.below(parts.len() + 1);
            parts.insert(at, more);
        }
        parts.concat()
    }

    fn whole(&mut self) -> String {
        let mut conf = String::new();
        for name in MODULES {
            let _ =
                writeln!(conf, "LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so");
        }
        let at = self.at.display();
        let _ = write!(
            conf,
            "User www-data\nGroup www-data\nListen 127.0.0.1:{}\nServerName localhost\nPidFile {at}/pid\nErrorLog {at}/error\n\
             DocumentRoot {at}/docs\nStartServers 1\nServerLimit 1\nTypesConfig /dev/null\nDefine ON\n",
            self.port
        );
        let port = self.port;
        let host = |name: &str, body: &str| {
            format!("<VirtualHost *:{port}>\nServerName {name}\n{body}</VirtualHost>\n")
        };
        conf += &match self.rng.below(8) {
            0 => host("a", &self.places()),
            1 => {
                let (first, second) = (self.places(), self.places());
                host("a", &first) + &host("b", &second)
            }
            2 => {
                let (main, first) = (self.places(), self.places());
                main + &host("a", &first)
            }
            3 => {
                let (main, first) = (self.outside(), self.places());
                main + &host("a", &first)
            }
            _ => self.places(),
        };
        conf
    }
}

/// Paths with methods that are asked for, with headers and body.
fn asks() -> Vec<Ask> {
    const FIND: &str = "Depth: 1\r\n";
    const LOG: &str = "<S:log-report xmlns:S=\"svn:\"><S:start-revision>1</S:start-revision>\
                       <S:end-revision>0</S:end-revision></S:log-report>";
    const TXN: &str = "Content-Type: application/vnd.svn-skel\r\n";
    let mut all = Vec::new();
    for path in [
        "/svn",
        "/svn/",
        "/svn/a",
        "/svn/a/",
        "/svn/a/f",
        "/svn/a/secret/",
        "/svn/a/secret/h",
        "/svn/b/",
        "/svn/b/f",
        "/svn/none/x",
        "/svn/group/",
        "/svn/group/deep/f",
        "/svn/group/deep/",
        "/one",
        "/one/",
        "/one/f",
        "/one/secret/h",
        "/svn//a/f",
        "/svn/./a/f",
        "/svn/%61/f",
        "/svn/a/%73ecret/h",
        "/svn/a/!svn/rvr/1/secret/h",
        "/svn/a/!svn/ver/1/f",
        "/one/!svn/rvr/1/f",
        "/a/f",
        "/b/",
    ] {
        all.push(("GET", path.to_owned(), "", ""));
    }
    for path in [
        "/svn/",
        "/svn/a/",
        "/svn/a/f",
        "/svn/a/secret/",
        "/svn/b/",
        "/one/",
        "/svn/a/!svn/vcc/default",
    ] {
        all.push(("PROPFIND", path.to_owned(), FIND, ""));
        all.push(("OPTIONS", path.to_owned(), "", ""));
    }
    for repo in ["/svn/a", "/svn/b", "/one"] {
        all.push(("REPORT", format!("{repo}/!svn/rvr/1"), "", LOG));
        all.push(("POST", format!("{repo}/!svn/me"), TXN, "( create-txn )"));
        all.push(("MKACTIVITY", format!("{repo}/!svn/act/0c1d"), "", ""));
        all.push(("PUT", format!("{repo}/new"), "", "x"));
        all.push(("PUT", format!("{repo}/secret/new"), "", "x"));
        all.push(("DELETE", format!("{repo}/f"), "", ""));
        all.push(("MERGE", format!("{repo}/"), "", "<x/>"));
        all.push(("LOCK", format!("{repo}/f"), "", ""));
    }
    all
}

type Ask = (&'static str, String, &'static str, &'static str);

fn status(port: u16, host: &str, (method, path, headers, body): &Ask, who: &str) -> u16 {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{who}{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = socket.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// Whether a status lets in more than another. `is_served`: ours has something at that address.
fn is_more(ours: u16, httpd: u16, is_served: bool) -> bool {
    let refused = |status| matches!(status, 401 | 403);
    if refused(httpd) {
        return is_served && !refused(ours) && !(300..400).contains(&ours);
    }
    // Something is wrong with the request itself otherwise.
    let is_elsewhere = matches!(httpd, 300..400 | 404 | 410 | 500..);
    (200..300).contains(&ours) && is_elsewhere
}

#[derive(Default)]
struct Counts {
    tried: usize,
    invalid: usize,
    same: usize,
    stricter: usize,
}

fn one(seed: u64, ground: &Ground, counts: &mut Counts) {
    let at = ground.at().to_owned();
    let mut rng = Rng::new(seed);
    let port = free_port();
    let mut writer = Writer { rng: &mut rng, at: at.clone(), port, macros: 0, files: Vec::new() };
    let conf = writer.whole();
    let mut shown = conf.clone();
    for (file, text) in &writer.files {
        fs::write(file, text).unwrap();
        shown += &format!("# {}\n{text}", file.display());
    }
    let shown: String =
        shown.lines().filter(|l| !l.starts_with("LoadModule")).map(|l| format!("{l}\n")).collect();
    let file = at.join("httpd.conf");
    fs::write(&file, &conf).unwrap();
    let test = Command::new("/usr/sbin/apache2").arg("-t").arg("-f").arg(&file).output().unwrap();
    counts.tried += 1;
    if !test.status.success() {
        counts.invalid += 1;
        return;
    }
    let done = Programs::ours().run("sapwood", ["import-httpd-conf", file.to_str().unwrap()]);
    let told = done.stderr_text();
    if done.code == 2 {
        assert!(told.contains("no <Location>"), "SAPWOOD_SEED={seed}: {told}\n{shown}");
        return;
    }
    let ours = free_port();
    let text = done.stdout_text();
    assert_eq!(done.code == 1, !told.is_empty(), "SAPWOOD_SEED={seed}: {told}");
    let is_closed = text.contains("# Nobody is let in");
    assert!(done.code == 1 || !is_closed, "SAPWOOD_SEED={seed}: {text}");
    let made = text
        .replace(&format!("http-port = {port}\n"), &format!("http-port = {ours}\n"))
        .replace("users = ", "password-delay = 0\nusers = ");
    assert!(made.contains(&format!("http-port = {ours}\n")), "SAPWOOD_SEED={seed}: {text}");
    let toml = at.join("made.toml");
    fs::write(&toml, &made).unwrap();
    let httpd = Httpd::start(&at, port, &conf);
    let mut child = serve(&toml);
    let mut wrong = Vec::new();
    let urls: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("url = \"")?.strip_suffix('"')).collect();
    let hosts: Vec<&str> = conf.lines().filter_map(|l| l.strip_prefix("ServerName ")).collect();
    for ask in asks() {
        let is_served = urls.iter().any(|url| {
            let rest = ask.1.strip_prefix(url.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        for (name, who) in WHO {
            let host = "127.0.0.1";
            let (his, our) = (status(port, host, &ask, who), status(ours, host, &ask, who));
            // httpd has no answer for folders there, and none for passwords where it wants to ask for none.
            let of_folder = ask.0 == "OPTIONS" && ask.1 == "/svn/";
            let unasked = !who.is_empty() && conf.contains("NoAuthWhenAnonymousAllowed");
            // Names of hosts are not looked at here, which is said: what any of them allows is allowed.
            let other_host = |name: &&str| !is_more(our, status(port, name, &ask, who), is_served);
            let other_host = is_more(our, his, is_served)
                && told.contains("ours answers by any name")
                && hosts.iter().any(other_host);
            let no_answer = (his == 500 && (of_folder || unasked)) || other_host;
            if is_more(our, his, is_served) && !no_answer {
                wrong.push(format!("{} {} as {name}: httpd {his}, ours {our}", ask.0, ask.1));
            } else if matches!(our, 401 | 403) != matches!(his, 401 | 403) {
                counts.stricter += 1;
            } else {
                counts.same += 1;
            }
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    drop(httpd);
    assert!(
        wrong.is_empty(),
        "SAPWOOD_SEED={seed}:\n{}\n{shown}\n{told}\n{text}",
        wrong.join("\n")
    );
}

#[test]
fn imported_configurations() {
    let ground = Ground::new();
    let mut counts = Counts::default();
    super::from_seeds("imported configurations", |seed| one(seed, &ground, &mut counts));
    let Counts { tried, invalid, same, stricter } = counts;
    let line = format!(
        "tried {tried}, not valid {invalid}; answers: the same {same}, stricter {stricter}\n"
    );
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
