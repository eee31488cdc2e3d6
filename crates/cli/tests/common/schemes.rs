//! A repository that is spoken to in each of the ways that a client knows: each program has the server of its
//! own family before it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use sapwood_testkit::server::{Server, free_port};
use sapwood_testkit::{Programs, patience};

use crate::common::httpd::{Httpd, configuration, hand_over};

/// How the repository is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    File,
    Svn,
    Http,
}

/// A server that runs as long as this is there, and the repository's URL.
pub(crate) struct Hosted {
    _server: Running,
    pub(crate) url: String,
}

#[allow(dead_code, reason = "they are there to be dropped")]
enum Running {
    Nothing,
    Svnserve(Server),
    Httpd(Httpd),
    Ours(Process),
}

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hosted {
    /// Makes `FOLDER/repo`, and serves it, open to all clients.
    pub(crate) fn new(programs: &Programs, folder: &Path, scheme: Scheme) -> Self {
        let repo = folder.join("repo");
        let mut create = Programs::reference().command("svnadmin");
        assert!(create.arg("create").arg(&repo).status().unwrap().success());
        Self::of(programs, folder, scheme)
    }

    /// Serves the repository `FOLDER/repo`, open to all clients.
    pub(crate) fn of(programs: &Programs, folder: &Path, scheme: Scheme) -> Self {
        let repo = folder.join("repo");
        fs::write(repo.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
        match scheme {
            Scheme::File => {
                let url = format!("file://{}", repo.display());
                Self { _server: Running::Nothing, url }
            }
            Scheme::Svn => {
                let server = Server::start(programs, folder, &[]);
                let url = server.url("repo");
                Self { _server: Running::Svnserve(server), url }
            }
            Scheme::Http => {
                let port = free_port();
                let ours = programs.label == "ours" && programs.path("sapwood").exists();
                let server = if ours { serve(programs, folder, port) } else { httpd(folder, port) };
                Self { _server: server, url: format!("http://127.0.0.1:{port}/repo") }
            }
        }
    }
}

fn serve(programs: &Programs, folder: &Path, port: u16) -> Running {
    let file = folder.join("sapwood.toml");
    let text = format!(
        "http-port = {port}\n[[location]]\nurl = \"/repo\"\nrepository = \"{}\"\nanonymous = \"write\"\n",
        folder.join("repo").display()
    );
    fs::write(&file, text).unwrap();
    let mut command: Command = programs.command("sapwood");
    command.args(["serve", "--listen", "127.0.0.1", "--config"]).arg(file);
    let server = Process(command.stdout(std::process::Stdio::null()).spawn().unwrap());
    let up = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    assert!(patience::wait(20, up), "the server does not listen");
    Running::Ours(server)
}

fn httpd(folder: &Path, port: u16) -> Running {
    hand_over(folder);
    let conf = configuration(folder, port, &[]);
    let place = format!(
        "<Location /repo>\nDAV svn\nSVNPath {}\n</Location>\n",
        folder.join("repo").display()
    );
    Running::Httpd(Httpd::start(folder, port, &(conf + &place)))
}
