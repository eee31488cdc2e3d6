//! Random requests in the svn protocol to both servers: replies and edits must be the same, item
//! by item. Requests that no client of the reference makes are among them: odd reports, depths,
//! paths that do not exist.
//!
//! Left out of the comparison: text deltas (there are many ways to say the same; `client` compares
//! what they make), and the order of properties (the reference's is random).

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::Path;

use crate::interop::repositories;
use sapwood_testkit::{Programs, Repository, Rng, Server, long};

/// One item of the protocol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Number(u64),
    Bytes(Vec<u8>),
    Word(String),
    List(Vec<Item>),
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::List(items) => f.debug_list().entries(items).finish(),
        }
    }
}

impl Item {
    fn list(&mut self) -> &mut Vec<Self> {
        match self {
            Self::List(items) => items,
            other => panic!("{other:?} is no list"),
        }
    }

    /// The same without the folder that is served: the reference names it in errors, ours does not.
    fn without(self, folder: &str) -> Self {
        let hide =
            |bytes: Vec<u8>| sapwood_testkit::compare::replace(&bytes, folder.as_bytes(), b"");
        match self {
            Self::Bytes(bytes) => Self::Bytes(hide(bytes)),
            Self::List(items) => {
                Self::List(items.into_iter().map(|item| item.without(folder)).collect())
            }
            other => other,
        }
    }

    /// The name of a command or reply.
    fn name(&self) -> &str {
        match self {
            Self::List(items) => match items.first() {
                Some(Self::Word(word)) => word,
                _ => "",
            },
            Self::Word(word) => word,
            _ => "",
        }
    }
}

/// A session of our own.
struct Session {
    stream: BufReader<TcpStream>,
}

const CAPABILITIES: &str = "edit-pipeline mergeinfo depth log-revprops atomic-revprops \
                            partial-replay inherited-props list";

impl Session {
    fn open(port: u16, url: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // Small messages one after the other: each would wait for the reply to the one before.
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let mut session = Self { stream: BufReader::new(stream) };
        session.item();
        session.send(&format!("( 2 ( {CAPABILITIES} ) {}4:test ( ) ) ", string(url)));
        session.item();
        session.send("( ANONYMOUS ( 0: ) ) ");
        session.item();
        session.item();
        session
    }

    fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).expect("the server goes on talking");
        byte[0]
    }

    /// The next item; `None` for a closing parenthesis.
    fn maybe_item(&mut self) -> Option<Item> {
        let mut byte = self.byte();
        while byte.is_ascii_whitespace() {
            byte = self.byte();
        }
        let mut word = String::new();
        match byte {
            b')' => return None,
            b'(' => {
                return Some(Item::List(std::iter::from_fn(|| self.maybe_item()).collect()));
            }
            _ => {
                while !byte.is_ascii_whitespace() && byte != b':' {
                    word.push(char::from(byte));
                    byte = self.byte();
                }
            }
        }
        Some(match (word.parse(), byte) {
            (Ok(len), b':') => {
                let mut bytes = vec![0; usize::try_from(len).unwrap()];
                self.stream.read_exact(&mut bytes).unwrap();
                Item::Bytes(bytes)
            }
            (Ok(number), _) => Item::Number(number),
            (Err(_), _) => Item::Word(word),
        })
    }

    fn item(&mut self) -> Item {
        self.maybe_item().expect("an item")
    }

    /// Items up to one whose name is in `last`, and one more unless that was a failure.
    fn items(&mut self, last: &[&str]) -> Vec<Item> {
        let mut out = Vec::new();
        loop {
            out.push(self.item());
            match out.last().unwrap().name() {
                "failure" => return out,
                // A server that gives up waits for an answer before it says why.
                "abort-edit" => self.send("( success ( ) ) "),
                name if last.contains(&name) => break,
                _ => {}
            }
        }
        out.push(self.item());
        out
    }
}

/// A request, with `@PORT@` where the server's port belongs.
#[derive(Debug)]
struct Request {
    session: String,
    command: String,
    report: Vec<String>,
}

fn ask(server: &Server, request: &Request) -> Vec<Item> {
    let fill = |text: &str| text.replace("@PORT@", &server.port().to_string());
    let mut session = Session::open(server.port(), &fill(&request.session));
    session.send(&fill(&request.command));
    let first = session.item();
    if first.name() == "failure" {
        return vec![first];
    }
    let name = request.command.split_whitespace().nth(1).unwrap();
    match name {
        "log" | "get-file-revs" | "get-location-segments" | "list" => session.items(&["done"]),
        "get-locations" => {
            let mut items = session.items(&["done"]);
            items.sort();
            items
        }
        "replay" => session.items(&["finish-replay"]),
        "update" | "switch" | "status" | "diff" => {
            for entry in &request.report {
                session.send(&report_entry(entry, server.port()));
            }
            session.send("( finish-report ( ) ) ");
            let again = session.item();
            assert_eq!(again.name(), "success");
            let mut out = Vec::new();
            loop {
                out.push(session.item());
                match out.last().unwrap().name() {
                    "failure" => return out,
                    "close-edit" | "abort-edit" => break,
                    _ => {}
                }
            }
            session.send("( success ( ) ) ");
            out.push(session.item());
            out
        }
        _ => vec![session.item()],
    }
}

/// An entry of a report; those of `link-path` hold a URL, whose length depends on the port.
fn report_entry(entry: &str, port: u16) -> String {
    match entry.split_once("@URL@") {
        None => entry.to_owned(),
        Some((before, rest)) => {
            let (path, after) = rest.split_once("@END@").unwrap();
            format!("{before}{}{after}", string(&url(&port.to_string(), path)))
        }
    }
}

/// Takes out what may differ.
fn comparable(items: Vec<Item>) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    let mut run = Vec::new();
    for mut item in items {
        match item.name() {
            "textdelta-chunk" => continue,
            "change-file-prop" | "change-dir-prop" => {
                run.push(item);
                continue;
            }
            // Of errors, code and sentence.
            "failure" => {
                for error in item.list()[1].list() {
                    error.list().truncate(2);
                }
            }
            "" | "success" => sort_props(&mut item),
            _ => {}
        }
        run.sort();
        out.append(&mut run);
        // Windows of blame: whether there are any.
        if matches!((out.last(), &item), (Some(Item::Bytes(a)), Item::Bytes(b))
            if !a.is_empty() && !b.is_empty())
        {
            continue;
        }
        if let Item::Bytes(bytes) = &mut item
            && !bytes.is_empty()
        {
            *bytes = b"delta".to_vec();
        }
        out.push(item);
    }
    run.sort();
    out.append(&mut run);
    out
}

/// Sorts every list of (name, value) pairs and of directory entries.
fn sort_props(item: &mut Item) {
    let Item::List(items) = item else { return };
    items.iter_mut().for_each(sort_props);
    let is_pair = |item: &Item| {
        matches!(item, Item::List(pair)
            if matches!(pair.as_slice(), [Item::Bytes(_), Item::Bytes(_)]
                | [Item::Bytes(_), Item::List(_)]
                | [Item::Bytes(_), Item::Word(_), Item::Number(_), ..]))
    };
    if items.iter().all(is_pair) {
        items.sort();
    }
}

fn string(text: &str) -> String {
    format!("{}:{text} ", text.len())
}

fn url(port: &str, path: &str) -> String {
    let mut out = format!("svn://127.0.0.1:{port}/repo");
    for name in path.split('/').filter(|n| !n.is_empty()) {
        out.push('/');
        for byte in name.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                    out.push(char::from(byte));
                }
                _ => write!(out, "%{byte:02X}").unwrap(),
            }
        }
    }
    out
}

/// Makes requests about one repository.
struct Asker {
    rng: Rng,
    /// Whether some paths may not be read.
    restricted: bool,
    paths: Vec<Vec<String>>,
}

const DEPTHS: [&str; 6] = ["infinity", "infinity", "files", "immediates", "empty", "unknown"];

impl Asker {
    fn new(repo: &Repository, seed: u64) -> Self {
        let of = |n: usize| repo.history.revision(n).root.walk().into_iter().map(|(p, _)| p);
        let paths = (0..=repo.history.youngest()).map(|n| of(n).collect()).collect();
        Self { rng: Rng::new(seed), restricted: false, paths }
    }

    fn revision(&mut self) -> usize {
        self.rng.below(self.paths.len())
    }

    fn path(&mut self, revision: usize) -> String {
        self.rng.pick(&self.paths[revision]).clone()
    }

    /// A path, sometimes in another form than the canonical one.
    fn spelling(&mut self, path: &str) -> String {
        match self.rng.below(12) {
            0 => format!("./{path}"),
            1 => path.replace('/', "/.//"),
            2 => format!("{path}/."),
            _ => path.to_owned(),
        }
    }

    fn word(&mut self, percent: usize) -> &'static str {
        if self.rng.chance(percent) { "true" } else { "false" }
    }

    fn request(&mut self) -> Request {
        let (at, other) = (self.revision(), self.revision());
        let path = self.path(at);
        let quoted = string(&self.spelling(&path));
        let mut session = String::new();
        let mut report = Vec::new();
        let command = match self.rng.below(18) {
            0..=5 => {
                let (anchor, target) = match path.rsplit_once('/') {
                    Some((parent, name)) if self.rng.chance(40) => (parent, name),
                    _ => (path.as_str(), ""),
                };
                anchor.clone_into(&mut session);
                report = self.report(&path, at);
                self.edit(target, other)
            }
            // The reference does not survive the history of a file that may not be read.
            9 if !self.restricted => {
                let (a, b) = (self.rng.below(at + 1), self.word(50));
                let (start, end) = if self.rng.chance(80) { (a, at) } else { (at, a) };
                format!("( get-file-revs ( {quoted}( {start} ) ( {end} ) {b} ) ) ")
            }
            10 => {
                let mut revisions: Vec<usize> = (0..6).map(|_| self.revision()).collect();
                revisions.sort_unstable();
                revisions.dedup();
                let list: String = revisions.iter().map(|r| format!("{r} ")).collect();
                format!("( get-locations ( {quoted}{at} ( {list}) ) ) ")
            }
            11 => {
                let (a, b) = (self.rng.below(at + 1), self.rng.below(at + 1));
                format!("( get-location-segments ( {quoted}( {at} ) ( {a} ) ( {b} ) ) ) ")
            }
            12 => format!("( get-deleted-rev ( {quoted}{at} {other} ) ) "),
            13 => {
                let depth = *self.rng.pick(&DEPTHS[..5]);
                let patterns = *self.rng.pick(&["", "", "( 2:*a )", "( 1:* 3:f*1 )", "( )"]);
                let fields = *self.rng.pick(&["kind", "", "kind size has-props created-rev time"]);
                format!("( list ( {quoted}( {at} ) {depth} ( {fields} ) {patterns} ) ) ")
            }
            14 => {
                let (fields, iprops) = (*self.rng.pick(&["kind size", ""]), self.word(50));
                format!("( get-dir ( {quoted}( {at} ) true true ( {fields} ) {iprops} ) ) ")
            }
            15 => format!("( stat ( {quoted}( {other} ) ) ) "),
            16 => {
                let word = *self.rng.pick(&["explicit", "inherited", "nearest-ancestor"]);
                let below = self.word(50);
                format!("( get-mergeinfo ( ( {quoted}) ( {at} ) {word} {below} ) ) ")
            }
            17 => {
                if self.rng.chance(30) {
                    path.clone_into(&mut session);
                }
                let low = if self.rng.chance(60) { 0 } else { at };
                format!("( replay ( {other} {low} {} ) ) ", self.word(70))
            }
            _ => self.log(&path, at),
        };
        Request { session: url("@PORT@", &session), command, report }
    }

    /// Hides some paths from all users.
    fn restrict(&mut self, conf: &Path) {
        let mut rules = "[/]\n* = r\n".to_owned();
        for _ in 0..12 {
            let revision = self.revision();
            let path = self.path(revision);
            // A section a path, and the root stays open.
            let name = path.rsplit('/').next().unwrap_or_default();
            let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            let section = match self.rng.chance(15) && is_plain {
                true => format!("[:glob:/**/{name}]\n"),
                false => format!("[/{path}]\n"),
            };
            if !path.is_empty() && !rules.contains(&section) {
                let access = *self.rng.pick(&["", "", "", "r"]);
                writeln!(rules, "{section}* = {access}").unwrap();
            }
        }
        fs::write(conf.join("authz"), rules).unwrap();
        fs::write(conf.join("svnserve.conf"), "[general]\nanon-access = read\nauthz-db = authz\n")
            .unwrap();
        self.restricted = true;
    }

    fn edit(&mut self, target: &str, to: usize) -> String {
        let depth = *self.rng.pick(&DEPTHS);
        let recurse = if depth == "infinity" { "true" } else { "false" };
        let (a, b) = (self.word(30), self.word(30));
        let target = string(target);
        let elsewhere = self.path(to);
        // The length of a URL depends on the port: all ports of these servers have five digits.
        let there = url("@PORT@", &elsewhere);
        let there = format!("{}:{there} ", there.len() - "@PORT@".len() + 5);
        match self.rng.below(4) {
            0 => format!("( update ( ( {to} ) {target}{recurse} {depth} {a} {b} ) ) "),
            1 => format!("( switch ( ( {to} ) {target}{recurse} {there}{depth} {a} {b} ) ) "),
            2 => format!("( status ( {target}{recurse} ( {to} ) {depth} ) ) "),
            _ => format!("( diff ( ( {to} ) {target}{recurse} {a} {there}{b} {depth} ) ) "),
        }
    }

    /// What a working copy of `path` in `at` with some odd places might report.
    fn report(&mut self, path: &str, at: usize) -> Vec<String> {
        let set = |path: &str, revision: usize, empty: &str, token: &str, depth: &str| {
            format!("( set-path ( {}{revision} {empty} ( {token}) {depth} ) ) ", string(path))
        };
        let depth = *self.rng.pick(&DEPTHS[..5]);
        let mut out = vec![set("", at, self.word(10), "", depth)];
        let mut below: Vec<String> = self.paths[at]
            .iter()
            .filter_map(|p| {
                let rest = p.strip_prefix(path)?;
                let rest = if path.is_empty() { Some(rest) } else { rest.strip_prefix('/') };
                rest.filter(|r| !r.is_empty()).map(str::to_owned)
            })
            .collect();
        while below.len() > 4 {
            let at = self.rng.below(below.len());
            below.remove(at);
        }
        let mut done: Vec<String> = Vec::new();
        for rel in below {
            if self.rng.chance(50) || done.iter().any(|d| rel.starts_with(&format!("{d}/"))) {
                continue;
            }
            let full = if path.is_empty() { rel.clone() } else { format!("{path}/{rel}") };
            let other = self.revision();
            let other = if self.paths[other].contains(&full) { other } else { at };
            out.push(match self.rng.below(8) {
                0 | 1 => format!("( delete-path ( {}) ) ", string(&rel)),
                2 => set(&rel, at, "false", "", "exclude"),
                3 => {
                    let elsewhere = self.path(other);
                    format!(
                        "( link-path ( {}@URL@{elsewhere}@END@{other} false ( ) infinity ) ) ",
                        string(&rel)
                    )
                }
                4 => set(&rel, other, "false", "17:opaquelocktoken:x ", "infinity"),
                _ => {
                    let depth = *self.rng.pick(&DEPTHS[..5]);
                    set(&rel, other, self.word(20), "", depth)
                }
            });
            done.push(rel);
        }
        out
    }

    fn log(&mut self, path: &str, at: usize) -> String {
        let merged = self.word(50);
        let mut paths = vec![path.to_owned()];
        for _ in 0..self.rng.below(3) {
            let more = self.path(at);
            // With merged revisions the reference does not survive the same path twice, and never
            // ends with one below another.
            let nested = |path: &String| more.starts_with(path) || path.starts_with(&more);
            if merged == "false" || !paths.iter().any(nested) {
                paths.push(more);
            }
        }
        let paths: String = paths.iter().map(|path| string(path)).collect();
        let old = self.rng.below(at + 1);
        let (start, end) = *self.rng.pick(&[(at, 0), (0, at), (at, old), (old, at)]);
        let limit = *self.rng.pick(&[0, 0, 1, 5]);
        let revprops =
            *self.rng.pick(&["all-revprops ( )", "revprops ( )", "revprops ( 7:svn:log )"]);
        format!(
            "( log ( ( {paths}) ( {start} ) ( {end} ) {} {} {limit} {merged} {revprops} ) ) ",
            self.word(80),
            self.word(20)
        )
    }
}

#[test]
fn random_requests_get_the_same_answers() {
    let count = if long() { 200 } else { 25 };
    for (seed, repo) in (1..).zip(repositories()) {
        let servers = [Programs::reference(), Programs::ours()]
            .map(|p| Server::start(&p, repo.parent(), &[]));
        let mut asker = Asker::new(&repo, seed);
        for n in 0..count * 2 {
            if n == count {
                asker.restrict(&repo.path().join("conf"));
            }
            let request = asker.request();
            let folder = format!("{}/", repo.parent().display());
            let answer = |server: &Server| -> Vec<Item> {
                let items = ask(server, &request).into_iter();
                comparable(items.map(|item| item.without(&folder)).collect())
            };
            let [reference, ours] = servers.each_ref().map(answer);
            // By now the server may keep what it said.
            assert_eq!(ours, answer(&servers[1]), "again: {request:#?}");
            let differ = reference.iter().zip(&ours).position(|(a, b)| a != b);
            let at = differ.unwrap_or(reference.len().min(ours.len()));
            assert!(
                reference == ours,
                "{}, request {n}: {request:#?}\nitem {at}\nreference {:?}\nours      {:?}",
                repo.name(),
                reference.get(at),
                ours.get(at)
            );
        }
    }
}
