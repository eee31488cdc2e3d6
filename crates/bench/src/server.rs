//! A server that is measured: started for some requests, and ended when it is dropped.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::axes::{Axis as _, Caches, System};
use crate::http;
use crate::machine::Counters;
use crate::programs::Programs;
use crate::svn_ways::SaslLogin;

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
    scheme: &'static str,
    /// Its usage.
    pub(crate) counters: Counters,
}

impl Server {
    /// Starts the server of `programs` for the repositories in the folder `root`.
    pub(crate) fn start(programs: &Programs, root: &Path, options: &[String]) -> SvnResult<Self> {
        Self::start_svn(programs, root, options, None)
    }

    /// The same, where users log in by SASL.
    pub(crate) fn start_sasl(
        programs: &Programs,
        root: &Path,
        options: &[String],
        login: &SaslLogin,
    ) -> SvnResult<Self> {
        Self::start_svn(programs, root, options, Some(login))
    }

    fn start_svn(
        programs: &Programs,
        root: &Path,
        options: &[String],
        login: Option<&SaslLogin>,
    ) -> SvnResult<Self> {
        let address = address()?;
        let mut command = programs.command("svnserve");
        command.args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"]);
        command.arg(address.port().to_string()).arg("-r").arg(root).args(options);
        if let Some(login) = login {
            command.arg("--config-file").arg(&login.config).env("SASL_CONF_PATH", &login.folder);
        }
        let told = options.join(" ");
        Self::run(programs, command, ("svn", address), &told)
    }

    /// Starts the http server of `programs` for the repositories in the folder `root`; `rules` is an
    /// authz file, if there is to be one.
    pub(crate) fn start_http(
        programs: &Programs,
        root: &Path,
        (caches, rules): (Caches, Option<&Path>),
    ) -> SvnResult<Self> {
        let address = address()?;
        let (command, told) = match programs.system {
            System::Sapwood => http::ours(programs, root, address.port(), (caches, rules))?,
            System::Reference => http::httpd(root, address.port(), (caches, rules))?,
        };
        Self::run(programs, command, ("http", address), &told)
    }

    /// Runs a server, and waits until it answers.
    fn run(
        programs: &Programs,
        mut command: Command,
        (scheme, address): (&'static str, SocketAddr),
        told: &str,
    ) -> SvnResult<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let whose = programs.system.title();
        let child = command
            .spawn()
            .map_err(|e| SvnError::io(&e, format_args!("Can't start the server of {whose}")))?;
        // httpd has several processes.
        let counters = match scheme {
            "http" => Counters::with_others(child.id()),
            _ => Counters::of(child.id()),
        };
        let mut server = Self { child, port: address.port(), scheme, counters };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = matches!(server.child.try_wait(), Ok(Some(_)));
            if ended || begun.elapsed() > PATIENCE {
                return Err(SvnError::new(
                    ErrorCode::EXTERNAL_PROGRAM,
                    format!("the server of {whose} does not answer (options: {told})"),
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        server.counters.gather();
        Ok(server)
    }

    /// The URL of a repository.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("{}://127.0.0.1:{}/{name}", self.scheme, self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // httpd's other processes end with it, if it is asked.
        if self.scheme == "http" {
            let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
            let asked = pid.map(|pid| rustix::process::kill_process(pid, Signal::TERM));
            let begun = Instant::now();
            while asked == Some(Ok(()))
                && matches!(self.child.try_wait(), Ok(None))
                && begun.elapsed() < PATIENCE
            {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that no program listened on a moment ago.
fn address() -> SvnResult<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|socket| socket.local_addr())
        .map_err(|e| SvnError::io(&e, "Can't find a free port"))
}
