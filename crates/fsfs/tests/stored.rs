//! Repositories in a store of objects, used by several servers at once: each has a folder and caches of its own.

use std::fs::Permissions;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::{CancelToken, Depth, PropList, Revnum};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fsfs::locks::{LockOptions, LockTarget, UnlockTarget};
use sapwood_fsfs::txn::{WriteOptions, Writer};
use sapwood_fsfs::{Caches, CreateOptions, Filesystem, OpenOptions, stored_folder};
use sapwood_store::LocalStorage;
use sapwood_testkit::fspath;
use tempfile::TempDir;

/// A repository in a store.
struct Stored {
    folder: TempDir,
    address: String,
}

/// One of its servers.
struct Server {
    fs: Filesystem,
    writer: Arc<Writer>,
}

impl Stored {
    fn new(options: &CreateOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        std::fs::create_dir(&made).unwrap();
        sapwood_fsfs::create::create(&LocalStorage, &made.join("db"), options).unwrap();
        std::fs::create_dir(made.join("conf")).unwrap();
        std::fs::write(made.join("conf/authz"), "[/]\n* = rw\n").unwrap();
        std::fs::write(made.join("format"), "5\n").unwrap();
        let address = format!("file://{}", folder.path().join("store").display());
        let store = sapwood_objects::addresses::open(&address).unwrap();
        sapwood_repo_transfer::import(&made, store, &CancelToken::default()).unwrap();
        Self { folder, address }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// A server with a folder of its own, which is made if it is not there.
    fn server(&self, name: &str) -> Server {
        let root = self.path(name);
        if !root.exists() {
            stored_folder::attach(&root, &self.address).unwrap();
        }
        let options = OpenOptions::default();
        let fs = Filesystem::open(&root.join("db"), &Caches::new(16 << 20), &options).unwrap();
        let writer = Writer::new(&fs, WriteOptions::default()).unwrap();
        Server { fs, writer }
    }

    /// The repository as a plain folder.
    fn exported(&self, name: &str) -> Filesystem {
        let root = self.path(name);
        let store = sapwood_objects::addresses::open(&self.address).unwrap();
        sapwood_repo_transfer::export(store, &root, &CancelToken::default()).unwrap();
        let caches = Caches::new(16 << 20);
        Filesystem::open(&root.join("db"), &caches, &OpenOptions::default()).unwrap()
    }
}

impl Server {
    /// Adds a file, or changes it.
    fn put(&self, path: &str, text: &str) -> sapwood_fsfs::Result<Revnum> {
        let mut txn = self.writer.begin(self.fs.youngest()?)?;
        if txn.kind(fspath(path))?.is_none() {
            txn.make_file(fspath(path))?;
        }
        txn.set_text(fspath(path), &mut text.as_bytes(), None)?;
        txn.props_mut().set("svn:log", format!("put {path}"));
        txn.commit()
    }

    fn text(&self, path: &str) -> String {
        text(&self.fs, self.fs.youngest().unwrap(), path)
    }

    fn lock(&self, path: &str, user: &str) -> Result<String, String> {
        let targets = [LockTarget { path: fspath(path).to_owned(), token: None, revision: None }];
        let options =
            LockOptions { user, comment: None, is_dav_comment: false, expires: None, steal: false };
        let mut outcome = self.writer.lock_paths(&targets, &options);
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        let (_, done) = outcome.each.pop().unwrap();
        done.map(|lock| lock.token).map_err(|error| error.to_string())
    }
}

fn text(fs: &Filesystem, revision: Revnum, path: &str) -> String {
    let mut text = String::new();
    let node = fs.revision_root(revision).unwrap().node(fspath(path)).unwrap();
    node.contents().unwrap().read_to_string(&mut text).unwrap();
    text
}

/// All texts of a revision's root directory, by name.
fn texts(fs: &Filesystem, revision: Revnum) -> Vec<(String, String)> {
    let root = fs.revision_root(revision).unwrap().node(fspath("/")).unwrap();
    let entries = root.entries().unwrap();
    let names: Vec<String> = entries.iter().map(|entry| entry.name.to_owned()).collect();
    names.into_iter().map(|name| (name.clone(), text(fs, revision, &format!("/{name}")))).collect()
}

#[test]
fn what_one_server_commits_the_others_see() {
    let stored = Stored::new(&CreateOptions::default());
    let (one, two) = (stored.server("one"), stored.server("two"));
    assert_eq!(one.put("/a", "first").unwrap(), Revnum(1));
    assert_eq!(two.fs.youngest().unwrap(), Revnum(1));
    assert_eq!(two.text("/a"), "first");
    assert_eq!(two.put("/a", "second").unwrap(), Revnum(2));
    assert_eq!(one.text("/a"), "second");
    // A text that does not fit into an entry.
    let long: String =
        (0..700_000_u32).map(|n| format!("{n:x} {}\n", u64::from(n) * 7919)).collect();
    assert_eq!(one.put("/long", &long).unwrap(), Revnum(3));
    assert!(two.text("/long") == long);
    // A server that begins only now, and one that begins again.
    assert!(stored.server("three").text("/long") == long);
    drop(one);
    let one = stored.server("one");
    assert_eq!(one.put("/b", "more").unwrap(), Revnum(4));
    let plain = stored.exported("plain");
    assert_eq!(texts(&plain, Revnum(4)), texts(&two.fs, two.fs.youngest().unwrap()));
    assert_eq!(std::fs::read(stored.path("one").join("conf/authz")).unwrap(), b"[/]\n* = rw\n");
}

#[test]
fn servers_that_commit_at_once_lose_nothing_and_make_one_history() {
    const EACH: usize = 12;
    let stored = Stored::new(&CreateOptions::default());
    let servers = [stored.server("one"), stored.server("two"), stored.server("three")];
    std::thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            for thread in 0..2 {
                scope.spawn(move || {
                    for n in 0..EACH {
                        let path = format!("/{at}-{thread}-{n}");
                        let made = server.put(&path, &path).unwrap();
                        // It is there, and what it follows is there too.
                        assert_eq!(text(&server.fs, made, &path), path);
                        if n > 0 {
                            let before = format!("/{at}-{thread}-{}", n - 1);
                            assert_eq!(text(&server.fs, made, &before), before);
                        }
                    }
                });
            }
        }
    });
    let all = 3 * 2 * EACH;
    let last = Revnum(all.try_into().unwrap());
    for server in &servers {
        assert_eq!(server.fs.youngest().unwrap(), last);
        assert_eq!(texts(&server.fs, last).len(), all);
    }
    let plain = stored.exported("plain");
    for revision in 1..=last.0 {
        let changed = plain.changed_paths(Revnum(revision)).unwrap();
        assert_eq!(changed.iter().count(), 1, "r{revision}");
        assert_eq!(texts(&plain, Revnum(revision)), texts(&servers[0].fs, Revnum(revision)));
    }
}

#[test]
fn a_commit_that_changes_what_another_server_changed_is_out_of_date() {
    let stored = Stored::new(&CreateOptions::default());
    let (one, two) = (stored.server("one"), stored.server("two"));
    one.put("/a", "first").unwrap();
    let mut txn = two.writer.begin(two.fs.youngest().unwrap()).unwrap();
    txn.set_text(fspath("/a"), &mut &b"of two"[..], None).unwrap();
    one.put("/a", "of one").unwrap();
    let error = sapwood_core::SvnError::from(txn.commit().unwrap_err());
    assert_eq!(error.code(), sapwood_core::ErrorCode::FS_CONFLICT);
    assert_eq!(two.text("/a"), "of one");
}

#[test]
fn locks_are_one_servers_and_hold_on_all() {
    let stored = Stored::new(&CreateOptions::default());
    let (one, two) = (stored.server("one"), stored.server("two"));
    one.put("/a", "first").unwrap();
    let token = one.lock("/a", "jane").unwrap();
    let refused = two.lock("/a", "john").unwrap_err();
    assert!(refused.contains("already locked by user 'jane'"), "{refused}");
    let error = sapwood_core::SvnError::from(two.put("/a", "of john").unwrap_err());
    assert_eq!(error.code(), sapwood_core::ErrorCode::FS_NO_USER);
    assert_eq!(two.fs.lock_files().locks(fspath("/"), Depth::Infinity).unwrap().len(), 1);
    // Only one of many that want a lock gets it.
    one.put("/b", "first").unwrap();
    let got: usize = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..6)
            .map(|n| {
                let server = if n % 2 == 0 { &one } else { &two };
                scope.spawn(move || server.lock("/b", &format!("user {n}")).is_ok())
            })
            .collect();
        asking.into_iter().map(|asked| usize::from(asked.join().unwrap())).sum()
    });
    assert_eq!(got, 1);
    let target = UnlockTarget { path: fspath("/a").to_owned(), token };
    let outcome = two.writer.unlock_paths(&[target], Some("jane"), false);
    assert!(outcome.failure.is_none() && outcome.each[0].1.is_ok(), "{outcome:?}");
    two.put("/a", "of john").unwrap();
    one.fs.youngest().unwrap();
    assert!(one.fs.lock_files().lock(fspath("/a")).unwrap().is_none());
    assert!(one.fs.lock_files().lock(fspath("/b")).unwrap().is_some());
    let plain = stored.exported("plain");
    assert_eq!(plain.lock_files().locks(fspath("/"), Depth::Infinity).unwrap().len(), 1);
}

#[test]
fn properties_of_revisions_change_for_all_and_no_change_is_lost() {
    const EACH: usize = 8;
    let stored = Stored::new(&CreateOptions::default());
    let (one, two) = (stored.server("one"), stored.server("two"));
    one.put("/a", "first").unwrap();
    let change = |server: &Server, name: String| {
        let mut set = |props: &PropList| {
            let mut props = props.clone();
            props.set(name.as_str(), "x");
            Ok(Some(props))
        };
        server.writer.change_revision_props(Revnum(1), &mut set).unwrap();
    };
    std::thread::scope(|scope| {
        for (at, server) in [&one, &two].into_iter().enumerate() {
            scope.spawn(move || {
                for n in 0..EACH {
                    change(server, format!("{at}-{n}"));
                }
            });
        }
    });
    for server in [&one, &two] {
        server.fs.youngest().unwrap();
        let props = server.fs.revprops(Revnum(1)).unwrap();
        assert_eq!(props.get("svn:log"), Some(&b"put /a"[..]));
        assert_eq!(props.iter().filter(|(_, value)| *value == b"x").count(), 2 * EACH);
    }
}

#[test]
fn a_folder_that_means_another_repository_is_refused() {
    let stored = Stored::new(&CreateOptions::default());
    drop(stored.server("one"));
    let other = Stored::new(&CreateOptions::default());
    let marker = stored.path("one/db/fs-type");
    let text = std::fs::read_to_string(&marker).unwrap();
    std::fs::write(&marker, text.replace(&stored.address, &other.address)).unwrap();
    let open = |db: &Path| Filesystem::open(db, &Caches::new(1 << 20), &OpenOptions::default());
    let error = open(&stored.path("one/db")).unwrap_err().to_string();
    assert!(error.contains("another repository"), "{error}");
}

#[test]
fn any_server_packs_and_all_read_the_pack() {
    let options = CreateOptions { shard_size: 4, ..CreateOptions::default() };
    let stored = Stored::new(&options);
    let (one, two) = (stored.server("one"), stored.server("two"));
    for n in 1..=9 {
        one.put(&format!("/{n}"), &format!("text {n}")).unwrap();
    }
    let before = texts(&one.fs, Revnum(9));
    let pack = |server: &Server| {
        let mut ends = Vec::new();
        let mut notify = |notice| {
            if let sapwood_fsfs::pack::PackNotice::End(shard) = notice {
                ends.push(shard);
            }
            Ok(())
        };
        let how = sapwood_fsfs::pack::PackOptions::default();
        server.fs.pack(&how, &CancelToken::default(), &mut notify).unwrap();
        ends
    };
    assert_eq!(pack(&two), [0, 1]);
    assert_eq!(pack(&one), []);
    for server in [&one, &two, &stored.server("three")] {
        assert_eq!(server.fs.youngest().unwrap(), Revnum(9));
        assert_eq!(server.fs.min_unpacked_rev().unwrap(), Revnum(8));
        assert_eq!(texts(&server.fs, Revnum(9)), before);
        for revision in 0..=9 {
            server.fs.revprops(Revnum(revision)).unwrap();
        }
    }
    // What is packed may still change.
    let mut set = |props: &PropList| {
        let mut props = props.clone();
        props.set("svn:log", "changed");
        Ok(Some(props))
    };
    one.writer.change_revision_props(Revnum(3), &mut set).unwrap();
    one.put("/10", "text 10").unwrap();
    assert_eq!(two.fs.youngest().unwrap(), Revnum(10));
    let log = |fs: &Filesystem, revision| {
        fs.revprops(Revnum(revision)).unwrap().get("svn:log").map(<[u8]>::to_vec)
    };
    assert_eq!(log(&two.fs, 3), Some(b"changed".to_vec()));
    assert_eq!(log(&two.fs, 2), Some(b"put /2".to_vec()));
    let plain = stored.exported("plain");
    assert_eq!(plain.min_unpacked_rev().unwrap(), Revnum(8));
    assert_eq!(log(&plain, 3), Some(b"changed".to_vec()));
    assert_eq!(texts(&plain, Revnum(9)), before);
}

#[test]
fn what_works_on_files_says_where_they_are() {
    let stored = Stored::new(&CreateOptions::default());
    let one = stored.server("one");
    let error = one.fs.freeze().unwrap_err().to_string();
    assert!(error.contains("'freeze'") && error.contains(&stored.address), "{error}");
    // A new UUID is that of all.
    let two = stored.server("two");
    let uuid = "0f0e0d0c-0b0a-0908-0706-050403020100";
    let renewed = one.writer.set_uuid(uuid).unwrap();
    assert_eq!(renewed.fs().uuid().unwrap(), uuid);
    two.fs.youngest().unwrap();
    drop(two);
    assert_eq!(stored.server("two").fs.uuid().unwrap(), uuid);
}

#[test]
fn servers_share_the_texts_that_others_have_brought() {
    let stored = Stored::new(&CreateOptions::default());
    let (one, two) = (stored.server("one"), stored.server("two"));
    let long: String =
        (0..20_000_u32).map(|n| format!("{n:x} {}\n", u64::from(n) * 7919)).collect();
    let size = |server: &Server, revision| server.fs.revision_size(Revnum(revision)).unwrap();
    one.put("/a", &long).unwrap();
    two.put("/b", &long).unwrap();
    one.put("/c", &long).unwrap();
    assert!(size(&one, 1) > 50_000, "{}", size(&one, 1));
    for revision in [2, 3] {
        assert!(size(&one, revision) < 2000, "r{revision}: {}", size(&one, revision));
    }
    assert!(two.text("/c") == long);
}

#[test]
fn pushed_files_come_to_all_and_stay_shut_where_people_shut_them() {
    let stored = Stored::new(&CreateOptions::default());
    let (one, two) = (stored.server("one"), stored.server("two"));
    let [first, second] = ["one", "two"].map(|name| stored.path(name).join("conf/authz"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&second, Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&first, "[/]\n* = r\n").unwrap();
    std::fs::create_dir_all(stored.path("one/hooks")).unwrap();
    let hook = stored.path("one/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(one.fs.push_files().unwrap(), ["conf/authz", "hooks/pre-commit"]);
    assert!(one.fs.push_files().unwrap().is_empty());
    two.fs.youngest().unwrap();
    assert_eq!(std::fs::read(&second).unwrap(), b"[/]\n* = r\n");
    assert_eq!(mode(&second), 0o600);
    assert_eq!(mode(&stored.path("two/hooks/pre-commit")) & 0o100, 0o100);
    std::fs::remove_file(&hook).unwrap();
    assert_eq!(one.fs.push_files().unwrap(), ["hooks/pre-commit"]);
    two.fs.youngest().unwrap();
    assert!(!stored.path("two/hooks/pre-commit").exists());
}

#[test]
fn a_long_text_that_is_overtaken_is_committed_all_the_same() {
    const EACH: usize = 3;
    let stored = Stored::new(&CreateOptions::default());
    let servers = [stored.server("one"), stored.server("two")];
    let text = |seed: u64| -> String {
        (0..300_000_u64).map(|n| format!("{:x}\n", n.wrapping_mul(seed | 1) ^ seed)).collect()
    };
    std::thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                for n in 0..EACH {
                    let number = u64::try_from(at * EACH + n).unwrap();
                    let seed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    server.put(&format!("/{at}-{n}"), &text(seed)).unwrap();
                }
            });
        }
    });
    let plain = stored.exported("plain");
    let youngest = plain.youngest().unwrap();
    assert_eq!(youngest, Revnum(6));
    for revision in 0..=6 {
        plain.verify_revision(Revnum(revision), &CancelToken::default()).unwrap();
    }
    assert_eq!(texts(&plain, youngest), texts(&servers[0].fs, servers[0].fs.youngest().unwrap()));
}
