//! Servers that mean harm: scripted edits with names that lead elsewhere, links that things are put under, texts
//! with wrong sums and properties without end, to `checkout`, `update` and `export`. Nothing is ever written beside
//! the target or into `.svn`, whatever the exit code; what no honest server sends is refused with an E-code.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use sapwood_core::Md5;
use sapwood_testkit::{Output, Programs};

/// What a server does in one edit, in words of the protocol.
#[derive(Clone, Default)]
struct Edit(Vec<u8>);

fn string(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [format!("{}:", bytes.len()).as_bytes(), bytes].concat()
}

impl Edit {
    fn say(mut self, command: &str, parts: &[&[u8]]) -> Self {
        self.0.extend(format!("( {command} ( ").bytes());
        self.0.extend(parts.join(&b' '));
        self.0.extend(b" ) ) ");
        self
    }

    /// A whole edit of the root around this one.
    fn rooted(self, revision: u64) -> Self {
        let number = revision.to_string();
        let head = Self::default().say("target-rev", &[number.as_bytes()]);
        let mut head = head.say("open-root", &[b"( 0 )", b"2:d0"]);
        head.0.extend(self.0);
        head.say("close-dir", &[b"2:d0"]).say("close-edit", &[])
    }

    fn add_dir(self, path: &str, parent: &str, token: &str) -> Self {
        self.say("add-dir", &[&string(path), &string(parent), &string(token), b"( )"])
    }

    fn close_dir(self, token: &str) -> Self {
        self.say("close-dir", &[&string(token)])
    }

    /// A new file with a text, and with the sum that is said.
    fn file_with(
        self,
        path: &str,
        parent: &str,
        props: &[(&str, &str)],
        text: &str,
        sum: &str,
    ) -> Self {
        let mut this = self.say("add-file", &[&string(path), &string(parent), b"2:f1", b"( )"]);
        for (name, value) in props {
            let value = [b"( ".as_slice(), &string(value), b" )"].concat();
            this = this.say("change-file-prop", &[b"2:f1", &string(name), &value]);
        }
        let len = u8::try_from(text.len()).unwrap();
        assert!(len < 64, "the instruction has six bits for the length");
        let mut delta = b"SVN\0".to_vec();
        delta.extend([0, 0, len, 1, len, 0x80 | len]);
        delta.extend(text.bytes());
        this.say("apply-textdelta", &[b"2:f1", b"( )"])
            .say("textdelta-chunk", &[b"2:f1", &string(delta)])
            .say("textdelta-end", &[b"2:f1"])
            .say("close-file", &[b"2:f1", &[b"( ".as_slice(), &string(sum), b" )"].concat()])
    }

    fn file(self, path: &str, parent: &str, text: &str) -> Self {
        self.file_with(path, parent, &[], text, &Md5::of(text.as_bytes()).to_hex())
    }

    fn link(self, path: &str, parent: &str, to: &str) -> Self {
        let text = format!("link {to}");
        let sum = Md5::of(text.as_bytes()).to_hex();
        self.file_with(path, parent, &[("svn:special", "*")], &text, &sum)
    }
}

/// A server that answers every report with the edit that is set.
struct Server {
    port: u16,
    edit: Arc<Mutex<(u64, Edit)>>,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let edit = Arc::new(Mutex::new((1, Edit::default())));
        let shared = Arc::clone(&edit);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&client, port, &shared));
            }
        });
        Self { port, edit }
    }

    fn url(&self) -> String {
        format!("svn://127.0.0.1:{}/repo", self.port)
    }

    fn set(&self, revision: u64, edit: Edit) {
        *self.edit.lock().unwrap() = (revision, edit.rooted(revision));
    }
}

/// One list of the protocol, as bytes; nothing at the end.
fn item(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let (mut depth, mut number) = (0_i32, None::<usize>);
    let mut byte = [0];
    loop {
        from.read_exact(&mut byte).ok()?;
        all.push(byte[0]);
        match byte[0] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b':' if number.is_some() => {
                let mut text = vec![0; number.unwrap()];
                from.read_exact(&mut text).ok()?;
                all.extend(text);
            }
            _ => {}
        }
        number = match byte[0] {
            digit @ b'0'..=b'9' => Some(number.unwrap_or(0) * 10 + usize::from(digit - b'0')),
            _ => None,
        };
        if depth == 0 && byte[0] == b')' {
            return Some(all);
        }
    }
}

/// A conversation. A client that hangs up in the middle of it has had enough.
fn serve(mut client: &TcpStream, port: u16, shared: &Mutex<(u64, Edit)>) -> Option<()> {
    let (revision, edit) = shared.lock().unwrap().clone();
    let mut from = BufReader::new(client);
    let mut say = |bytes: &[u8]| client.write_all(bytes).ok();
    const ASKED: &[u8] = b"( success ( ( ) 0: ) ) ";
    say(b"( success ( 2 2 ( ) ( edit-pipeline svndiff1 absent-entries depth mergeinfo inherited-props ) ) ) ")?;
    item(&mut from)?;
    say(b"( success ( ( ANONYMOUS ) 5:realm ) ) ")?;
    item(&mut from)?;
    let root = string(format!("svn://127.0.0.1:{port}/repo"));
    let uuid = string("5a9e1c55-2b7a-4d6e-9a1f-00a11c0ffee6");
    say(&[b"( success ( ) ) ( success ( ", uuid.as_slice(), b" ", &root, b" ( mergeinfo ) ) ) "]
        .concat())?;
    while let Some(request) = item(&mut from) {
        let text = String::from_utf8_lossy(&request).into_owned();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match *words.get(1)? {
            "get-latest-rev" => {
                say(ASKED)?;
                say(format!("( success ( {revision} ) ) ").as_bytes())?;
            }
            "check-path" => say(&[ASKED, b"( success ( dir ) ) "].concat())?,
            "stat" => {
                say(ASKED)?;
                let entry = "( dir 0 false 1 ( 27:2026-01-01T00:00:00.000000Z ) ( 1:a ) )";
                say(format!("( success ( ( {entry} ) ) ) ").as_bytes())?;
            }
            "reparent" => say(&[ASKED, b"( success ( ) ) "].concat())?,
            "get-iprops" => say(&[ASKED, b"( success ( ( ) ) ) "].concat())?,
            "update" => {
                say(ASKED)?;
                while !item(&mut from)?.trim_ascii().starts_with(b"( finish-report") {}
                say(ASKED)?;
                say(&edit.0)?;
                // A client that asks again (for an external) gets a file.
                let more = Edit::default().file("evil", "d0", "evil\n").rooted(revision);
                *shared.lock().unwrap() = (revision, more);
                // The client's word on the edit, and the server's.
                if item(&mut from)?.trim_ascii().starts_with(b"( failure") {
                    say(b"( abort-edit ( ) ) ( failure ( ( 210001 4:told 0: 0 ) ) ) ")?;
                    return None;
                }
                say(b"( success ( ) ) ")?;
            }
            _ => say(&[ASKED, b"( failure ( ( 210001 7:unknown 0: 0 ) ) ) "].concat())?,
        }
    }
    Some(())
}

/// A folder with the target, and beside it what no client may touch.
struct Place {
    folder: tempfile::TempDir,
    server: Server,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), server: Server::new() };
        fs::create_dir(place.path("outside")).unwrap();
        fs::write(place.path("outside/own"), "own\n").unwrap();
        fs::create_dir(place.path("in")).unwrap();
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn svn(&self, args: &[&str]) -> Output {
        let mut command = Programs::ours().command("svn");
        command.args(args).args(["--non-interactive", "--config-dir"]);
        Output::of(command.arg(self.path("config")).current_dir(self.path("in")))
    }

    /// All that must stay as it is: what lies beside the target, and the names in `.svn` but those of
    /// texts and of files on their way.
    fn untouched(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        list(&self.path("outside"), &mut found);
        for entry in
            fs::read_dir(self.folder.path()).unwrap().chain(fs::read_dir(self.path("in")).unwrap())
        {
            found.insert(entry.unwrap().path(), String::new());
        }
        if let Ok(entries) = fs::read_dir(self.path("in/wc/.svn")) {
            found.extend(entries.map(|entry| (entry.unwrap().path(), String::new())));
            for name in ["format", "entries"] {
                let path = self.path("in/wc/.svn").join(name);
                found.insert(path.clone(), fs::read_to_string(path).unwrap());
            }
        }
        found
    }

    /// A working copy of an honest revision.
    fn checkout(&self) {
        let edit =
            Edit::default().add_dir("d", "d0", "d1").file("d/f", "d1", "f\n").close_dir("d1");
        self.server.set(1, edit.link("l", "d0", "../../outside"));
        self.svn(&["checkout", "-q", &self.server.url(), "wc"])
            .expect_success("an honest checkout");
        assert_eq!(fs::read_link(self.path("in/wc/l")).unwrap(), Path::new("../../outside"));
    }

    /// Sends an edit to an update of an honest working copy, and to an export over it. Whether both must fail.
    fn attack(&self, what: &str, edit: &Edit, refused: bool) {
        for command in ["update", "export"] {
            self.prepare();
            self.server.set(2, edit.clone());
            let before = self.untouched();
            let url = self.server.url();
            let said = match command {
                "export" => self.svn(&["export", "--force", &url, "wc"]),
                _ => self.svn(&["update", "wc"]),
            };
            let told = format!("{what}, to {command}: {said:?}");
            self.judge(&told, &said, &before, refused);
        }
    }

    /// The same to a checkout into a folder with the administrative files of one.
    fn attack_checkout(&self, what: &str, edit: &Edit, refused: bool) {
        let _ = fs::remove_dir_all(self.path("in/wc"));
        self.server.set(1, Edit::default());
        let url = self.server.url();
        self.svn(&["checkout", "-q", &url, "wc"]).expect_success("an empty one");
        self.server.set(2, edit.clone());
        let before = self.untouched();
        let said = self.svn(&["checkout", "-r2", &url, "wc"]);
        self.judge(&format!("{what}, to checkout: {said:?}"), &said, &before, refused);
        self.attack(what, edit, refused);
    }

    /// A working copy as the honest checkout left it.
    fn prepare(&self) {
        let (wc, kept) = (self.path("in/wc"), self.path("kept"));
        if !kept.exists() {
            let _ = fs::remove_dir_all(&wc);
            self.checkout();
            fs::rename(&wc, &kept).unwrap();
        }
        let _ = fs::remove_dir_all(&wc);
        let copied = Command::new("cp").arg("-a").arg(kept).arg(wc).status().unwrap();
        assert!(copied.success());
    }

    fn judge(&self, told: &str, said: &Output, before: &BTreeMap<PathBuf, String>, refused: bool) {
        assert_eq!(self.untouched(), *before, "{told}");
        let errors = said.stderr_text();
        assert!(matches!(said.code, 0 | 1), "{told}");
        assert!(!errors.contains("Internal error") && !errors.contains("panicked"), "{told}");
        assert!(!refused || (said.code == 1 && errors.contains(": E")), "{told}");
    }
}

fn list(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let text = match entry.file_type().unwrap().is_dir() {
            true => {
                list(&entry.path(), found);
                String::new()
            }
            false => fs::read_to_string(entry.path()).unwrap(),
        };
        found.insert(entry.path(), text);
    }
}

#[test]
fn names_that_lead_elsewhere() {
    let place = Place::new();
    for name in [
        "..",
        "../../outside/x",
        "d2/../../x",
        "/tmp/sapwood-hostile",
        ".",
        "a//b",
        "",
        ".svn",
        ".svn/x",
        "../wc/.svn/x",
        "nul\0",
    ] {
        let file = Edit::default().file(name, "d0", "evil\n");
        place.attack(&format!("a file {name:?}"), &file, true);
    }
    // As for 1.14, this is `x`.
    place.attack("a file \"./x\"", &Edit::default().file("./x", "d0", "evil\n"), false);
    for name in ["..", ".svn", "../../outside"] {
        let dir = Edit::default().add_dir(name, "d0", "d1");
        let below = dir.file(&format!("{name}/x"), "d1", "evil\n").close_dir("d1");
        place.attack_checkout(&format!("a directory {name:?}"), &below, true);
    }
    for name in [".svn", "..", "../../../outside/own", ".svn/x"] {
        let dir = Edit::default().add_dir("s", "d0", "d1");
        let below = dir.file(&format!("s/{name}"), "d1", "evil\n").close_dir("d1");
        place.attack(&format!("a file {name:?} below"), &below, true);
    }
    assert!(!Path::new("/tmp/sapwood-hostile").exists());
}

#[test]
fn names_that_are_nearly_the_same() {
    let place = Place::new();
    for names in [[".SVN", ".Svn"], ["case", "CASE"], ["n\u{e4}me", "na\u{308}me"]] {
        let edit = names.iter().fold(Edit::default(), |edit, name| edit.file(name, "d0", "one\n"));
        place.attack(&format!("{names:?}"), &edit, false);
    }
    let twice = Edit::default().file("x", "d0", "one\n").file("x", "d0", "two\n");
    place.attack("a name twice", &twice, false);
}

#[test]
fn links_that_things_are_put_under() {
    let place = Place::new();
    let out = "../../outside";
    let link = |name: &str| Edit::default().link(name, "d0", out);
    place.attack("a file under a link", &link("l").file("l/evil", "d0", "evil\n"), false);
    let dir =
        |edit: Edit| edit.add_dir("l", "d0", "d1").file("l/evil", "d1", "evil\n").close_dir("d1");
    place.attack_checkout("a directory in a link's place", &dir(link("l")), false);
    place.attack(
        "a directory in a link's place, the link known before",
        &dir(Edit::default()),
        false,
    );
    let open = Edit::default().say("open-dir", &[b"1:l", b"2:d0", b"2:d1", b"( 1 )"]);
    let open = open.file("l/evil", "d1", "evil\n").close_dir("d1");
    place.attack("a link opened as a directory", &open, false);
    let own = Edit::default().link("o", "d0", "../../outside/own");
    place.attack("a file in the place of a link to a file", &own.file("o", "d0", "evil\n"), false);
    let gone = Edit::default().say("delete-entry", &[b"1:l", b"( 1 )", b"2:d0"]);
    place.attack("a link that becomes a directory", &dir(gone), false);
    let deep = Edit::default().add_dir("a", "d0", "d1").link("a/l", "d1", "../../../outside");
    let deep = deep.add_dir("a/l", "d1", "d2").add_dir("a/l/b", "d2", "d3");
    let deep =
        deep.file("a/l/b/evil", "d3", "evil\n").close_dir("d3").close_dir("d2").close_dir("d1");
    place.attack("deeper", &deep, false);
}

#[test]
fn sums_and_sizes_that_are_lies() {
    let place = Place::new();
    let wrong = Md5::of(b"else").to_hex();
    place.attack_checkout(
        "a wrong sum",
        &Edit::default().file_with("x", "d0", &[], "text\n", &wrong),
        true,
    );
    place.attack("no sum at all", &Edit::default().file_with("x", "d0", &[], "text\n", "zz"), true);
    let add = || Edit::default().say("add-file", &[b"1:x", b"2:d0", b"2:f1", b"( )"]);
    let mut endless = add();
    endless.0.extend(b"( change-file-prop ( 2:f1 1:p ( 99999999999999:");
    endless.0.extend(vec![b'x'; 1 << 20]);
    place.attack("a property without end", &endless, true);
    let mut number = add();
    number.0.extend(b"( change-file-prop ( 2:f1 99999999999999999999999999:");
    place.attack("a length that is no number", &number, true);
    for delta in [
        &b"SVN\0\0\0\xff\xff\xff\xff\x7f\0\0"[..],
        b"SVN\0\x05\x05\x05\x01\0\x05",
        b"SVX\0",
        b"SVN\x07",
    ] {
        let edit = add().say("apply-textdelta", &[b"2:f1", b"( )"]);
        let edit = edit.say("textdelta-chunk", &[b"2:f1", &string(delta)]);
        let edit = edit.say("textdelta-end", &[b"2:f1"]).say("close-file", &[b"2:f1", b"( )"]);
        place.attack(&format!("the delta {:?}", delta.escape_ascii().to_string()), &edit, true);
    }
    let tokens = Edit::default().file("x", "d9", "text\n");
    place.attack("a directory that was not opened", &tokens, true);
    let edit = Edit::default().add_dir("a", "d0", "d1").close_dir("d1").file("a/x", "d1", "text\n");
    place.attack("a directory that was closed", &edit, true);
}

#[test]
fn externals_that_lead_out() {
    let place = Place::new();
    for value in [
        "^/y ../z",
        "^/y /abs",
        "^/v a/../../outside",
        "^/w .svn/x",
        "^/w .svn",
        "../up ^/w/../../..",
    ] {
        let value = [b"( ".as_slice(), &string(value), b" )"].concat();
        let edit = Edit::default();
        let edit = edit.say("change-dir-prop", &[b"2:d0", &string("svn:externals"), &value]);
        place.attack(&format!("the externals {}", value.escape_ascii()), &edit, false);
    }
}

/// An external that names what holds it is brought once, an external within an external that is the same
/// is refused; 1.14 goes on until paths are too long for it.
#[test]
fn externals_that_bring_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Programs::ours();
    let run = |words: &str| {
        let mut command = Command::new("sh");
        let script = words.replace("URL", &format!("file://{}/repo", folder.path().display()));
        let path = format!("{}:/usr/bin:/bin", ours.dir().display());
        command.args(["-c", &script]).env("PATH", path).current_dir(folder.path());
        Output::of(&mut command)
    };
    let good = |words: &str| run(words).expect_success(words);
    good("svnadmin create repo; svn mkdir -q -m one URL/a URL/b; svn co -q URL wc");
    good("svn ps -q svn:externals '^/a x' wc/a; svn ci -q -m two wc");
    // A circle of two, and an older revision of oneself, which ends.
    good("svn ps -q svn:externals '^/c y' wc/b; svn mkdir -q wc/c; svn ci -q -m three wc");
    good(
        "svn ps -q svn:externals \"$(printf '^/b z\\n-r1 ^/a a\\n-r2 ^/a@2 old')\" wc/c; svn ci -q -m four wc",
    );
    let found = |place: &str| {
        let all = good(&format!("find {place} -name .svn -prune -o -type d -print | sort"));
        String::from_utf8(all.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for (words, place, wanted) in [
        ("svn co URL/a one", "one", vec!["one", "one/x"]),
        ("svn up one", "one", vec!["one", "one/x"]),
        ("svn export URL/a two", "two", vec!["two", "two/x"]),
        ("svn switch --ignore-ancestry URL/b one", "one", vec![]),
        ("svn export URL/b three", "three", vec![]),
    ] {
        let said = run(words);
        assert_eq!(said.code, 1, "{words}: {said:?}");
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(text.contains("E205011") && text.contains("W195005"), "{words}: {text}");
        assert!(text.contains("brings itself"), "{words}: {text}");
        let found = found(place);
        if wanted.is_empty() {
            let below = |names: &str| found.contains(&format!("{place}/{names}"));
            assert!(below("y") && below("y/z") && below("y/a") && below("y/old"), "{found:?}");
            assert!(!below("y/z/y") && !below("y/old/x/x"), "{found:?}");
        } else {
            assert_eq!(found, wanted, "{words}");
        }
    }
}
