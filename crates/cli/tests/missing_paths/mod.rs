//! Every request that is about a path, asked of paths that are not there, by the reference's servers and
//! ours: `svn` has the list for svn://, `dav` for http, `clients` what both clients make of it over all
//! three kinds of URL. A request that takes nothing for something misleads a client into removing it.

mod clients;
mod dav;
use crate::common::httpd;
mod svn;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use sapwood_testkit::Programs;
use sapwood_testkit::server::{Server, free_port};

/// Paths of which nothing is in the youngest revision: never, below a directory, below a file, deleted,
/// below what was deleted. The last ones are there, for comparison.
const PATHS: [&str; 8] = ["nope", "a/nope", "f/nope", "gone", "gone/x", "late", "a", "f"];

/// The revision before `late` was made, the one with `gone`, the youngest, and one that is not there.
const REVISIONS: [u64; 4] = [1, 2, 4, 99];

/// Two equal folders, each with a repository `repo`, one for each side.
struct Twins {
    folder: tempfile::TempDir,
}

fn sh(folder: &Path, line: &str) {
    let programs = Programs::reference();
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let mut command = Command::new("sh");
    command.args(["-ec", line]).current_dir(folder).env("PATH", path);
    assert!(command.status().unwrap().success(), "{line}");
}

impl Twins {
    fn new() -> Self {
        let twins = Self { folder: tempfile::tempdir().unwrap() };
        sh(
            twins.folder.path(),
            "mkdir reference; svnadmin create reference/repo; U=file://$PWD/reference/repo
             printf '[general]\\nanon-access = write\\n' >reference/repo/conf/svnserve.conf
             printf '#!/bin/sh\\n' >reference/repo/hooks/pre-revprop-change
             chmod +x reference/repo/hooks/pre-revprop-change; echo text >text
             svnmucc -m 1 -U $U mkdir a put text a/g put text f >said
             svnmucc -m 2 -U $U mkdir gone put text gone/x >>said
             svnmucc -m 3 -U $U rm gone mkdir b put text b/f >>said
             svnmucc -m 4 -U $U mkdir late put text late/x >>said
             cp -a reference ours; cp -a reference httpd",
        );
        twins
    }

    fn root(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn svnserve(&self, programs: &Programs) -> Server {
        Server::start(programs, &self.root(programs.label), &[])
    }

    /// Debian's httpd, with the repository at `/repo`.
    fn httpd(&self) -> (httpd::Httpd, u16) {
        let port = free_port();
        let folder = self.root("httpd");
        let conf = httpd::configuration(&folder, port, &[])
            + &format!(
                "<Location /repo>\nDAV svn\nSVNPath {}/repo\n</Location>\n",
                folder.display()
            );
        httpd::hand_over(&folder);
        (httpd::Httpd::start(&folder, port, &conf), port)
    }

    /// Ours, with the repository at the same place.
    fn serve(&self) -> (Served, u16) {
        let port = free_port();
        let folder = self.root("ours");
        let config = folder.join("sapwood.toml");
        fs::write(
            &config,
            format!(
                "http-port = {port}\n[[location]]\nurl = \"/repo\"\nrepository = {:?}\n\
                 anonymous = \"write\"\n",
                folder.join("repo")
            ),
        )
        .unwrap();
        (Served(places::serve(&config)), port)
    }
}

/// A server of ours that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

use crate::common::places;
