//! The guide (`docs/guide`): each command on its pages is run, in a folder that stands for the machine, and prints what the page
//! says. Pages that build on others begin with `<!-- after: NAME -->`: those run first.
//!
//! Blocks: `sh` is run, `sh-fails` has to fail, `output` has lines that the commands before it printed, a block with a path is
//! that file; `console` and `example` are for the eye only.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_testkit::Programs;
use sapwood_testkit::server::free_port;

/// A machine as the pages see it.
struct Machine {
    folder: tempfile::TempDir,
    /// Texts of the pages, and what stands in their place here.
    here: Vec<(String, String)>,
    /// What the last commands printed.
    said: String,
}

/// All is done by one user: nothing changes its owner.
const SUDO: &str = "#!/bin/sh\ncase $1 in -u) shift 2 ;; chown) exit 0 ;; esac\nexec \"$@\"\n";

/// Passwords are typed by people, and certificates accepted; both by options here.
const SVN: &str = "#!/bin/sh\ncase \"$*\" in *--password*) more= ;; *--username*) more='--password secret' ;; esac\n\
    case \"$*\" in *https:*) more=\"$more --trust-server-cert-failures unknown-ca\" ;; esac\n\
    exec /usr/bin/svn \"$@\" $more --no-auth-cache --non-interactive\n";
/// The file of accounts is where the package keeps it.
const SAPWOOD: &str = "#!/bin/sh\nif [ \"$1\" = user ]; then shift; set -- user --accounts TOP/var/lib/sapwood/accounts.toml \"$@\"; fi\n\
    case \"$*\" in\n*--no-password*) ;;\n\"user \"*\" add \"*) printf 'secret\\n' | REAL \"$@\" --password-from-stdin; exit ;;\nesac\n\
    exec REAL \"$@\"\n";

/// Starts and ends the one service that there is.
const SYSTEMCTL: &str = "#!/bin/sh\nverb=$1; [ \"$1\" = enable ] && verb=start\n\
    stop() { [ -f TOP/pid ] && kill $(cat TOP/pid) 2>/dev/null && while kill -0 $(cat TOP/pid) 2>/dev/null; do sleep 0.02; done; rm -f TOP/pid; }\n\
    case $verb in\nreload) kill -HUP $(cat TOP/pid) ;;\nstop) stop ;;\n\
    start|restart) stop\n REAL serve --config TOP/etc/sapwood/sapwood.toml > TOP/serve.out 2>&1 &\n echo $! > TOP/pid\n\
    for i in $(seq 1000); do grep -q '^Serving' TOP/serve.out && exit 0; kill -0 $(cat TOP/pid) || break; sleep 0.02; done\n\
    cat TOP/serve.out; exit 1 ;;\nesac\n";

impl Machine {
    /// One on which the package is installed.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for name in ["bin", "home", "srv/svn", "etc/sapwood", "var/lib/sapwood", "var/log/sapwood"]
        {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        let real = Programs::ours().path("sapwood").display().to_string();
        let shim = |name: &str, text: &str| {
            let text = text.replace("TOP", &top.display().to_string()).replace("REAL", &real);
            let path = top.join("bin").join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for (name, text) in
            [("sudo", SUDO), ("svn", SVN), ("sapwood", SAPWOOD), ("systemctl", SYSTEMCTL)]
        {
            shim(name, text);
        }
        let mut here: Vec<(String, String)> = ["/srv/", "/etc/sapwood", "/var/lib/", "/var/log/"]
            .iter()
            .map(|path| ((*path).to_owned(), format!("{}{path}", top.display())))
            .collect();
        let svn = free_port();
        here.push(("svn://svn.example.com/".to_owned(), format!("svn://127.0.0.1:{svn}/")));
        here.push(("3690".to_owned(), svn.to_string()));
        for port in ["8080", "8443", "9000", "9117"] {
            here.push((port.to_owned(), free_port().to_string()));
        }
        here.push(("svn.example.com".to_owned(), "127.0.0.1".to_owned()));
        here.push(("0.0.0.0".to_owned(), "127.0.0.1".to_owned()));
        let machine = Self { folder, here, said: String::new() };
        let packaged = include_str!("../../../packaging/sapwood.toml");
        machine.write("/etc/sapwood/sapwood.toml", packaged);
        machine
    }

    fn translated(&self, text: &str) -> String {
        // What was put in is not looked at again: a port may have the digits of another one.
        let (mut out, mut rest) = (String::new(), text);
        let next = |rest: &str| {
            let found = self.here.iter().filter_map(|pair| Some((rest.find(&pair.0)?, pair)));
            found.min_by_key(|(at, (page, _))| (*at, std::cmp::Reverse(page.len())))
        };
        while let Some((at, (page, here))) = next(rest) {
            out += &rest[..at];
            out += here;
            rest = &rest[at + page.len()..];
        }
        out + rest
    }

    fn write(&self, path: &str, text: &str) {
        let path = PathBuf::from(self.translated(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.translated(text)).unwrap();
    }

    /// Runs the lines of a block, up to the first that fails.
    fn run(&mut self, page: &str, lines: &str, has_to_fail: bool) {
        let top = self.folder.path();
        let path = format!("{}/bin:/usr/sbin:/usr/bin:/bin", top.display());
        let output = Command::new("sh")
            .args(["-e", "-c", &self.translated(lines)])
            .current_dir(top.join("home"))
            .env("PATH", path)
            .env("HOME", top.join("home"))
            .env("LC_ALL", "C.UTF-8")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        self.said = String::from_utf8_lossy(&said).into_owned();
        let log = fs::read_to_string(top.join("serve.out")).unwrap_or_default();
        assert!(
            output.status.success() != has_to_fail,
            "{page}.md: {:?} of\n{lines}\n{}\nThe server: {log}",
            output.status,
            self.said
        );
    }

    /// Runs a page, after those that it builds on.
    fn follow(&mut self, page: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
        let text = fs::read_to_string(file.join(page).with_extension("md")).unwrap();
        if let Some((_, rest)) = text.split_once("<!-- after: ") {
            self.follow(rest.split_once(" -->").unwrap().0);
        }
        let mut count = 0;
        for (number, block) in text.split("```").enumerate() {
            // Every second part is a block.
            let Some((head, body)) = block.split_once('\n').filter(|_| number % 2 == 1) else {
                continue;
            };
            match head.split_once(' ') {
                Some((_, "example")) => continue,
                Some((_, path)) => self.write(path, body),
                None if head == "sh" => self.run(page, body, false),
                None if head == "sh-fails" => self.run(page, body, true),
                None if head == "output" => {
                    for line in self.translated(body).lines() {
                        // A number has to be a line of its own.
                        let is_there = match line.parse::<u64>() {
                            Ok(_) => self.said.lines().any(|said| said == line),
                            Err(_) => self.said.contains(line),
                        };
                        assert!(is_there, "{page}.md: '{line}' is not in\n{}", self.said);
                    }
                }
                None if head == "console" || head == "ini" => continue,
                None => panic!("{page}.md: what is a block '{head}'?"),
            }
            count += 1;
        }
        assert!(count > 0 || page == "directory", "{page}.md has nothing to run");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let systemctl = self.folder.path().join("bin/systemctl");
        let _ = Command::new(systemctl).arg("stop").status();
    }
}

/// The pages in their order; the index names each.
const PAGES: [&str; 16] = [
    "install",
    "first-repository",
    "from-svnserve",
    "from-httpd",
    "https",
    "directory",
    "sign-in",
    "tokens",
    "rules",
    "notifications",
    "backup",
    "replica",
    "store",
    "monitoring",
    "upgrade",
    "troubleshooting",
];

#[test]
fn the_index_names_each_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut at = 0;
    for page in PAGES {
        let link = format!("({page}.md)");
        at += index[at..].find(&link).unwrap_or_else(|| panic!("{link} in its order"));
    }
    let files = fs::read_dir(folder).unwrap().count();
    assert_eq!(files, PAGES.len() + 1, "a page that is not in the index, or not run");
}

// The pages that build on the first two run these as well.

#[test]
fn from_svnserve() {
    follow("from-svnserve");
}

#[test]
fn from_httpd() {
    follow("from-httpd");
}

#[test]
fn https() {
    follow("https");
}

#[test]
fn directory() {
    follow("directory");
}

#[test]
fn sign_in() {
    follow("sign-in");
}

#[test]
fn tokens() {
    follow("tokens");
}

#[test]
fn store() {
    follow("store");
}

#[test]
fn notifications() {
    follow("notifications");
}

#[test]
fn rules() {
    follow("rules");
}

#[test]
fn backup() {
    follow("backup");
}

#[test]
fn replica() {
    follow("replica");
}

#[test]
fn monitoring() {
    follow("monitoring");
}

#[test]
fn upgrade() {
    follow("upgrade");
}

#[test]
fn troubleshooting() {
    follow("troubleshooting");
}

/// Runs a page on a machine of its own.
fn follow(page: &str) {
    assert!(PAGES.contains(&page));
    Machine::new().follow(page);
}
