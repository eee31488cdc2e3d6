//! Servers under test: ours and the reference's `svnserve`, on free ports.
//!
//! Invariant: a server ends with the test that started it, also when the test fails.

use crate::programs::Programs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    /// `ours` or `reference`, for messages.
    pub label: &'static str,
}

impl Server {
    /// Starts `svnserve` for the repositories below `root`, with more options.
    ///
    /// # Panics
    /// If it does not listen within 20 seconds.
    #[must_use]
    pub fn start(programs: &Programs, root: &Path, options: &[&str]) -> Self {
        // The port is free now, but another test may take it before the server does: try again.
        for _ in 0..5 {
            let port = free_port();
            let child = programs
                .command("svnserve")
                .args(["--daemon", "--foreground", "--listen-host", "127.0.0.1"])
                .args(["--listen-port", &port.to_string(), "--root"])
                .arg(root)
                .args(options)
                .stdout(Stdio::null())
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap_or_else(|e| panic!("{}: {e}", programs.path("svnserve").display()));
            let mut server = Self { child, port, label: programs.label };
            if server.listens() {
                return server;
            }
        }
        panic!("svnserve ({}) does not start", programs.label);
    }

    fn listens(&mut self) -> bool {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if self.child.try_wait().expect("the server's state").is_some() {
                return false;
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// The URL of what lies at `path` below the root.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("svn://127.0.0.1:{}/{path}", self.port)
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its resident memory, and the most it ever had, in bytes.
    #[must_use]
    pub fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the server's state");
        let field = |name: &str| {
            let line = status.lines().find(|l| l.starts_with(name)).unwrap_or_default();
            let kib: u64 = line.split_whitespace().nth(1).unwrap_or("0").parse().unwrap_or(0);
            kib * 1024
        };
        (field("VmRSS:"), field("VmHWM:"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port on 127.0.0.1 that no program listens on just now.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}
