//! Servers under test: ours and the reference's `svnserve`, on free ports.
//!
//! Invariant: a server ends with the test that started it, also when the test fails.

use crate::programs::Programs;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{LazyLock, Mutex};
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

/// A port on 127.0.0.1 that no program listens on, and that no other test gets while this process lives.
///
/// It lies below the ports that the system gives to outgoing connections (`ip_local_port_range`), so that
/// no client of another test takes it before the server does. The lock of a file keeps it from other tests.
///
/// # Panics
/// If no port is free, or the folder of the locks can't be written.
#[must_use]
pub fn free_port() -> u16 {
    static LOCKS: Mutex<Vec<File>> = Mutex::new(Vec::new());
    static FIRST: LazyLock<u32> = LazyLock::new(|| std::process::id().wrapping_mul(97));
    let folder = std::env::temp_dir().join("sapwood-test-ports");
    std::fs::create_dir_all(&folder).expect("the folder of the ports' locks");
    let mut locks = LOCKS.lock().expect("the ports of this process");
    let range = PORTS.end - PORTS.start;
    for step in 0..u32::from(range) {
        let offset = FIRST.wrapping_add(step) % u32::from(range);
        let port = PORTS.start + u16::try_from(offset).expect("less than the range");
        let lock = File::create(folder.join(port.to_string())).expect("a port's lock");
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            locks.push(lock);
            return port;
        }
    }
    panic!("no port of {}..{} is free", PORTS.start, PORTS.end);
}

/// The ports that tests listen on.
const PORTS: std::ops::Range<u16> = 12_000..32_000;
