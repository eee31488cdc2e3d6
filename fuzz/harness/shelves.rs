//! Shelves that came with a working copy, in both stores: all of them are read, brought back and taken out again.
//! Whatever their files, the names of these and the paths in the databases of `v3` say, nothing outside the working
//! copy changes, and nothing in its `.svn` but what is a program's to change.
//!
//! The first byte says which store. The rest are records, divided by the byte 0xff: a letter, a path up to the end
//! of the line, and what is there. The paths are below the store's folder but for rows:
//!
//! | letter | what is made |
//! |---|---|
//! | `f` | a file |
//! | `d` | a folder |
//! | `l` | a symbolic link |
//! | `n` | a row of NODES in version 1 of shelf `a`: a byte each for layer, presence and kind, then properties |
//! | `p` | local properties there, as a skel |
//! | `t` | a working file there |

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sapwood_client::Context;
use sapwood_client::shelf::{bring_back, check, paths, take_out};
use sapwood_core::config::{Case, Config};
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, Depth, NodeKind, PropList, Revnum, path};
use sapwood_ra::auth::{AuthOptions, Authenticator};
use sapwood_ra::{FileCaches, Settings};
use sapwood_wc::db::{ActualRow, Kind, NodeRow, Presence};
use sapwood_wc::shelf::v2::StoredVersion;
use sapwood_wc::shelf::{Shelf, Store, Version, list};
use sapwood_wc::{Options, WorkingCopy};
use tempfile::TempDir;

/// So many records of an input are taken.
const RECORDS: usize = 64;
/// The text of the files of the working copy.
const TEXT: &[u8] = b"1\n2\n3\n4\n5\n";

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let store = if first % 2 == 0 { Store::V2 } else { Store::V3 };
    let folder = scratch();
    copy(template().path(), folder.path());
    let root = folder.path().join("wc");
    let shelves = root.join(".svn/experimental/shelves").join(store.folder());
    fs::create_dir_all(&shelves).expect("a folder of shelves");
    for record in rest.split(|byte| *byte == 0xff).take(RECORDS) {
        make(&shelves, record);
    }
    let before = outside(folder.path());
    let ctx = context(&root);
    // What is refused is no fault.
    let _result = shelves_of(&ctx, &root, store);
    assert_eq!(outside(folder.path()), before, "outside of the working copy");
}

/// Does with all shelves what can be done.
fn shelves_of(ctx: &Context, root: &Path, store: Store) -> sapwood_core::SvnResult<()> {
    let wc = WorkingCopy::open_root(root, options())?;
    for listed in list(&wc, store)? {
        let Ok(Some(mut shelf)) = Shelf::find(&wc, store, &listed.name) else { continue };
        assert_eq!(shelf.name(), listed.name);
        let props = shelf.revprops().clone();
        shelf.set_revprops(props.clone())?;
        let again = Shelf::open(&wc, store, &listed.name)?;
        assert_eq!((again.newest(), again.revprops()), (shelf.newest(), &props));
        for number in 1..=shelf.newest().min(3) {
            let Ok(version) = shelf.version(number) else { continue };
            if store == Store::V2 {
                let _result = read(&version);
            }
            if let Ok(all) = paths(ctx, &shelf, &version) {
                assert!(all.iter().all(|path| is_inside(path)), "{all:?}");
            }
            let _dry = bring_back(ctx, &shelf, &version, true);
            let _ready = check(ctx, &shelf, &version);
            let _back = bring_back(ctx, &shelf, &version, false);
            let _out = take_out(ctx, &shelf, &version);
        }
        let _result = shelf.delete();
    }
    Ok(())
}

/// Reads all of a version of `v2`.
fn read(version: &Version) -> sapwood_core::SvnResult<()> {
    let stored = StoredVersion::of(version);
    let nodes = stored.nodes(RelPath::ROOT)?;
    for pair in nodes.windows(2) {
        assert!(path::compare(&pair[0].relpath, &pair[1].relpath).is_lt(), "order of paths");
    }
    let within = fs::canonicalize(&version.path).expect("a version");
    for node in &nodes {
        assert!(is_inside(&node.relpath), "{node:?}");
        assert!(stored.nodes(&node.relpath)?.contains(node), "{node:?}");
        if let Ok(Some(base)) = stored.base(node) {
            assert!(fs::canonicalize(base).expect("a text").starts_with(&within));
        }
        if let Ok(props) = stored.props(node) {
            let mut text = Vec::new();
            let _result = stored.normal_work(node, &props.work, &mut text);
        }
        if let Ok(work) = stored.work(node) {
            assert!(fs::canonicalize(work).expect("a text").starts_with(&within));
        }
    }
    Ok(())
}

fn is_inside(path: &str) -> bool {
    path.is_empty() || path.split('/').all(|name| !matches!(name, "" | "." | ".." | ".svn"))
}

/// Makes what a record says. One that says nothing that can be there is passed over.
fn make(shelves: &Path, record: &[u8]) {
    let Some((letter, rest)) = record.split_first() else { return };
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let Ok(name) = std::str::from_utf8(&rest[..end]) else { return };
    let content = rest.get(end + 1..).unwrap_or_default();
    let version = shelves.join("61-001.wc");
    // A row whose path is no relpath at all cannot be made this way: reading one is an error of its column.
    let relpath = RelPath::new(name);
    match (letter, relpath) {
        (b'n', Ok(relpath)) => row(&version, relpath, content),
        (b'p', Ok(relpath)) => {
            let (relpath, properties) = (relpath.to_owned(), Some(content.to_vec()));
            let row = ActualRow { relpath, properties, ..ActualRow::default() };
            let _made = opened(&version).db().put_actual(&row);
        }
        (b'n' | b'p', Err(_)) => {}
        (b't', _) => {
            drop(opened(&version));
            put(&version, name, b'f', content);
        }
        _ => put(shelves, name, *letter, content),
    }
}

/// Makes a file, a folder or a link below a folder; nothing outside of it, and nothing through a link.
fn put(below: &Path, name: &str, letter: u8, content: &[u8]) {
    let mut components = Path::new(name).components().peekable();
    let mut at = below.to_owned();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else { return };
        at.push(name);
        if components.peek().is_some() && at.is_symlink() {
            return;
        }
    }
    if at.is_symlink() {
        return;
    }
    if let Some(dir) = at.parent() {
        let _made = fs::create_dir_all(dir);
    }
    let _made = match letter {
        b'f' => fs::write(&at, content),
        b'd' => fs::create_dir(&at),
        b'l' => std::str::from_utf8(content)
            .map_or(Ok(()), |target| std::os::unix::fs::symlink(target, &at)),
        _ => Ok(()),
    };
}

/// The working copy that a version of `v3` is.
fn opened(version: &Path) -> WorkingCopy {
    if !version.join(".svn/wc.db").is_file() {
        let _gone = fs::remove_dir_all(version).or_else(|_| fs::remove_file(version));
        copy(&template().path().join("wc"), version);
    }
    WorkingCopy::open_root(version, options()).expect("a working copy")
}

fn row(version: &Path, relpath: &RelPath, content: &[u8]) {
    let byte = |at: usize| content.get(at).copied().unwrap_or(b'0');
    let presence = match byte(1) % 6 {
        0 => Presence::Normal,
        1 => Presence::Incomplete,
        2 => Presence::NotPresent,
        3 => Presence::Excluded,
        4 => Presence::ServerExcluded,
        _ => Presence::BaseDeleted,
    };
    let kind = if byte(2) % 2 == 0 { Kind::File } else { Kind::Dir };
    let mut row = NodeRow::new(relpath, i64::from(byte(0) % 4), presence, kind);
    row.properties = content.get(3..).map(<[u8]>::to_vec).filter(|bytes| !bytes.is_empty());
    let wc = opened(version);
    if row.op_depth == 0 {
        row.repos_id = Some(1);
        row.repos_path = Some(relpath.to_owned());
        row.revision = Some(Revnum(1));
    }
    if kind == Kind::File && presence == Presence::Normal {
        row.checksum = wc.db().base(RelPath::trusted("f")).expect("a row").and_then(|row| row.checksum);
    }
    let _made = wc.db().put_node(&row);
}

fn options() -> Options {
    Options { wait_for_tick: false, ..Options::default() }
}

fn context(root: &Path) -> Context {
    let empty = Arc::new(Config::new(Case::INSENSITIVE));
    let auth = Authenticator::new(AuthOptions::default(), Arc::clone(&empty), None);
    let settings = Settings {
        config: Arc::clone(&empty),
        servers: empty,
        auth: Arc::new(auth),
        variable: |_| None,
        system_user: None,
        caches: Arc::new(FileCaches::new(1 << 20)),
        open_options: sapwood_fs::OpenOptions::default(),
        http_clients: sapwood_ra::http::HttpClients::default(),
        svn_connections: sapwood_ra::svn::IdleConnections::default(),
        client_name: None,
        cancel: CancelToken::new(),
    };
    let mut ctx = Context::new(settings, root.to_owned());
    ctx.wc = options();
    ctx
}

/// What an input must not change: all beside the working copy, and in `.svn` what has a name there.
fn outside(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let secret = folder.join("outside");
    for dir in [folder.to_owned(), secret, folder.join("wc/.svn")] {
        for entry in fs::read_dir(dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            let changes = path.ends_with("wc.db") || path.ends_with("sapwood");
            let journal = path.ends_with("wc.db-journal");
            let text = if changes { Vec::new() } else { fs::read(&path).unwrap_or_default() };
            if !journal && !path.ends_with("sapwood") {
                found.insert(path, text);
            }
        }
    }
    found
}

/// A working copy `wc` of a root with a file `f`, a folder `d` and a file `d/g`, and beside it `outside`.
fn template() -> &'static TempDir {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = scratch();
        let root = folder.path().join("wc");
        fs::create_dir(&root).expect("a folder");
        fs::create_dir(folder.path().join("outside")).expect("a folder");
        fs::write(folder.path().join("outside/secret"), "secret").expect("a file");
        let wc = WorkingCopy::create(&root, options()).expect("a working copy");
        let uuid = "5a3c1e5e-0000-4000-8000-000000000001";
        let id = wc.db().repository_id("file:///nowhere", uuid).expect("a repository");
        assert_eq!(id, 1);
        let mut text = wc.write_pristine().expect("a text");
        text.write_all(TEXT).expect("a text");
        let text = text.finish();
        let sha1 = text.sha1;
        wc.install_pristine(text).expect("a text");
        for (name, kind) in [
            ("", NodeKind::Dir),
            ("d", NodeKind::Dir),
            ("d/g", NodeKind::File),
            ("f", NodeKind::File),
        ] {
            let file = kind == NodeKind::File;
            let at = if file { Kind::File } else { Kind::Dir };
            let relpath = RelPath::trusted(name);
            let mut row = NodeRow::new(relpath, 0, Presence::Normal, at);
            row.repos_id = Some(id);
            row.repos_path = Some(relpath.to_owned());
            row.revision = Some(Revnum(1));
            row.changed_revision = Some(Revnum(1));
            row.properties = Some(sapwood_wc::db::write_props(&PropList::new()));
            row.depth = (!file).then_some(Depth::Infinity);
            row.checksum = file.then_some(sha1);
            wc.db().put_node(&row).expect("a row");
            match file {
                true => fs::write(root.join(name), TEXT).expect("a file"),
                false => fs::create_dir_all(root.join(name)).expect("a folder"),
            }
        }
        folder
    })
}

/// In memory where the system has such a place: nothing here shall last.
fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    let made = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() };
    made.expect("a scratch folder")
}

/// Copies a folder, into one that may be there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}
