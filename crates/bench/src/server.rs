//! A server that is measured: started for some requests, and ended when it is dropped.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::axes::{Axis as _, Caches};
use crate::machine::Counters;
use crate::programs::Programs;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// The options of `svnserve` for each set-up of caches: those of the developers' script
/// `win_repo_bench.py`, and threads, which make the reference share one cache among connections;
/// ours has no other way.
#[must_use]
pub fn server_options(caches: Caches) -> Vec<String> {
    let text = match caches {
        Caches::Slow => "-T",
        Caches::Medium => "-T -M 256",
        Caches::Fast => "-T -M 1024 -c 0 --cache-revprops yes --block-read yes --client-speed 1000",
    };
    text.split(' ').map(str::to_owned).collect()
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    port: u16,
    /// What it uses.
    pub(crate) counters: Counters,
}

impl Server {
    /// Starts the server of `programs` for the repositories in the folder `root`.
    pub(crate) fn start(programs: &Programs, root: &Path, options: &[String]) -> SvnResult<Self> {
        let address = free_address().map_err(|e| SvnError::io(&e, "Can't find a free port"))?;
        let mut command = programs.command("svnserve");
        command.args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"]);
        command.arg(address.port().to_string()).arg("-r").arg(root).args(options);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| {
            let whose = programs.system.title();
            SvnError::io(&e, format_args!("Can't start the server of {whose}"))
        })?;
        let counters = Counters::of(child.id());
        let mut server = Self { child, port: address.port(), counters };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = matches!(server.child.try_wait(), Ok(Some(_)));
            if ended || begun.elapsed() > PATIENCE {
                let (whose, options) = (programs.system.title(), options.join(" "));
                return Err(SvnError::new(
                    ErrorCode::EXTERNAL_PROGRAM,
                    format!("the server of {whose} does not answer (options: {options})"),
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// The URL of a repository.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("svn://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that no program listened on a moment ago.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
