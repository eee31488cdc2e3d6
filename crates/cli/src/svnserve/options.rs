//! The command line of `svnserve`: every option of the reference's, with its effect.

use std::ffi::OsString;
use std::path::PathBuf;

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_server::svn::DEFAULT_PORT;

use crate::command::{OptionSpec, to_text};
use crate::getopt::{Item, Parser};

/// All options, in the order of the help. An empty explanation keeps one out of it.
pub(super) const SPECS: &[OptionSpec] = &[
    OptionSpec::flag("daemon", Some('d'), "serve in the background"),
    OptionSpec::flag("inetd", Some('i'), "serve one connection on standard input and output"),
    OptionSpec::flag("tunnel", Some('t'), "the same, for a user whom ssh or the like has let in"),
    OptionSpec::flag("listen-once", Some('X'), "serve one connection, then end (for debugging)"),
    OptionSpec::value("root", Some('r'), "folder that URLs are relative to"),
    OptionSpec::flag("read-only", Some('R'), "let nobody write, whatever the configuration says"),
    OptionSpec::value("config-file", None, "configuration for all repositories"),
    OptionSpec::value("listen-port", None, "port to listen on (3690)\n[mode: daemon, listen-once]"),
    OptionSpec::value(
        "listen-host",
        None,
        "host name or address to listen on (all addresses)\n[mode: daemon, listen-once]",
    ),
    OptionSpec::flag("prefer-ipv6", Some('6'), "prefer IPv6 for the host name to listen on"),
    OptionSpec::value(
        "compression",
        Some('c'),
        "compression of what is sent,\nfrom 0 (none) to 9 (most); default is 5",
    ),
    OptionSpec::value(
        "memory-cache-size",
        Some('M'),
        "MiB of memory for caches, all together;\ndefault is 256, a process for one connection: 64",
    ),
    OptionSpec::value("cache-txdeltas", None, "accepted; the cache knows best what to keep"),
    OptionSpec::value("cache-fulltexts", None, "accepted; the cache knows best what to keep"),
    OptionSpec::value("cache-revprops", None, "accepted; they are always cached, and checked"),
    OptionSpec::value("cache-nodeprops", None, "accepted; the cache knows best what to keep"),
    OptionSpec::value("client-speed", None, "accepted; sending is fast for slow clients too"),
    OptionSpec::value("block-read", None, "accepted; whole blocks are read, items parsed on need"),
    OptionSpec::flag("threads", Some('T'), "accepted; each connection has a thread anyway"),
    OptionSpec::value("min-threads", None, "accepted; idle threads are not kept"),
    OptionSpec::value(
        "max-threads",
        None,
        "connections that are served at one time (4096);\nmore have to wait",
    ),
    OptionSpec::value(
        "max-request-size",
        None,
        "MiB that one request of a client may take (16);\n0 for any size",
    ),
    OptionSpec::value(
        "max-response-size",
        None,
        "MiB that the reply to one request may take;\n0, the default, for any size",
    ),
    OptionSpec::flag("foreground", None, "do not go to the background\n[mode: daemon]"),
    OptionSpec::flag("single-thread", None, "serve one connection after the other"),
    OptionSpec::value("log-file", None, "file for the operational log"),
    OptionSpec::value("pid-file", None, "file for the process id\n[mode: daemon, listen-once]"),
    OptionSpec::value(
        "tunnel-user",
        None,
        "name of the user (default: of the process's owner)\n[mode: tunnel]",
    ),
    OptionSpec::flag("help", Some('h'), "show this help"),
    OptionSpec::flag(
        "virtual-host",
        None,
        "the URL's host name is the first folder below the root",
    ),
    OptionSpec::flag("version", None, "say which version this is"),
    OptionSpec::flag("quiet", Some('q'), "errors only; the bare number for --version"),
    OptionSpec::flag(INHERITED, None, ""),
];

/// The option that makes the process in the background use its standard input as the listening socket.
pub(super) const INHERITED: &str = "inherited-listener";

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Daemon,
    Inetd,
    Tunnel,
    ListenOnce,
}

/// The parsed command line.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are the switches of the command line")]
pub(super) struct Options {
    pub(super) modes: Vec<Mode>,
    pub(super) help: bool,
    pub(super) version: bool,
    pub(super) quiet: bool,
    pub(super) root: PathBuf,
    pub(super) read_only: bool,
    pub(super) config_file: Option<PathBuf>,
    pub(super) port: u16,
    pub(super) host: Option<String>,
    pub(super) prefer_ipv6: bool,
    pub(super) compression: u8,
    pub(super) cache_bytes: Option<usize>,
    pub(super) max_threads: Option<usize>,
    pub(super) request_bytes: Option<usize>,
    pub(super) response_bytes: Option<u64>,
    pub(super) foreground: bool,
    pub(super) single: bool,
    /// How often one of `-T` and `--single-thread` was given.
    pub(super) handling: u32,
    pub(super) log_file: Option<PathBuf>,
    pub(super) pid_file: Option<PathBuf>,
    pub(super) tunnel_user: Option<String>,
    pub(super) virtual_host: bool,
    pub(super) inherited: bool,
    pub(super) arguments: Vec<OsString>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            modes: Vec::new(),
            help: false,
            version: false,
            quiet: false,
            root: PathBuf::from("/"),
            read_only: false,
            config_file: None,
            port: DEFAULT_PORT,
            host: None,
            prefer_ipv6: false,
            compression: 5,
            cache_bytes: None,
            max_threads: None,
            request_bytes: Some(16 << 20),
            response_bytes: None,
            foreground: false,
            single: false,
            handling: 0,
            log_file: None,
            pid_file: None,
            tunnel_user: None,
            virtual_host: false,
            inherited: false,
            arguments: Vec::new(),
        }
    }
}

/// An error in a command line.
pub(super) enum Wrong {
    /// It cannot be parsed: this message is printed, with a hint where to find help.
    Usage(String),
    /// A value makes no sense.
    Value(SvnError),
}

impl From<SvnError> for Wrong {
    fn from(error: SvnError) -> Self {
        Self::Value(error)
    }
}

impl Options {
    /// Takes a command line apart. As in the reference, `--help` counts as soon as it is seen.
    pub(super) fn parse(args: Vec<OsString>) -> Result<Self, Wrong> {
        let mut options = Self::default();
        let mut parser = Parser::new(SPECS, args);
        while let Some(item) = parser.next().map_err(Wrong::Usage)? {
            match item {
                Item::Argument(arg) => options.arguments.push(arg),
                Item::Option(spec, value) => {
                    options.take(spec.long, &value.unwrap_or_default())?;
                    if options.help {
                        break;
                    }
                }
            }
        }
        Ok(options)
    }

    fn mode(&mut self, mode: Mode) {
        // Only a change counts: -d -d is one mode, -d -i -d are three.
        if self.modes.last() != Some(&mode) {
            self.modes.push(mode);
        }
    }

    fn take(&mut self, name: &str, value: &OsString) -> SvnResult<()> {
        if matches!(name, "root" | "config-file" | "log-file" | "pid-file") {
            to_text(value)?;
        }
        let text = value.to_string_lossy();
        match name {
            "daemon" => self.mode(Mode::Daemon),
            "inetd" => self.mode(Mode::Inetd),
            "tunnel" => self.mode(Mode::Tunnel),
            "listen-once" => self.mode(Mode::ListenOnce),
            "root" => self.root = root(value)?,
            "read-only" => self.read_only = true,
            "config-file" => self.config_file = Some(absolute(value)?),
            "listen-port" => self.port = port(&text)?,
            "listen-host" => self.host = Some(text.into_owned()),
            "prefer-ipv6" => self.prefer_ipv6 = true,
            "compression" => {
                self.compression = u8::try_from(leading_number(&text).clamp(0, 9)).unwrap_or(0);
            }
            "memory-cache-size" => self.cache_bytes = cache_bytes(&text)?,
            "max-threads" => {
                self.max_threads = Some(usize::try_from(leading_number(&text)).unwrap_or(1).max(1));
            }
            "max-request-size" => {
                self.request_bytes =
                    mebibytes(leading_number(&text)).and_then(|n| usize::try_from(n).ok());
            }
            "max-response-size" => self.response_bytes = mebibytes(leading_number(&text)),
            "foreground" => self.foreground = true,
            "threads" => self.handling.tally(1),
            "single-thread" => {
                self.single = true;
                self.handling.tally(1);
            }
            "log-file" => self.log_file = Some(absolute(value)?),
            "pid-file" => self.pid_file = Some(absolute(value)?),
            "tunnel-user" => self.tunnel_user = Some(text.into_owned()),
            "help" => self.help = true,
            "virtual-host" => self.virtual_host = true,
            "version" => self.version = true,
            "quiet" => self.quiet = true,
            INHERITED => self.inherited = true,
            // The rest has no effect here; the help says why.
            _ => {}
        }
        Ok(())
    }
}

fn absolute(path: &OsString) -> SvnResult<PathBuf> {
    std::path::absolute(path).map_err(|e| {
        SvnError::io(&e, format_args!("Couldn't determine absolute path of '{}'", path.display()))
    })
}

fn root(path: &OsString) -> SvnResult<PathBuf> {
    if !std::fs::metadata(path).is_ok_and(|m| m.is_dir()) {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            format!("Root path '{}' does not exist or is not a directory", path.display()),
        ));
    }
    absolute(path)
}

/// Reads a number as strictly as the reference does for ports and cache sizes.
fn strict_number(text: &str, max: u64) -> SvnResult<u64> {
    let digits = text.trim_ascii_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let wrong = |words: String| SvnError::new(ErrorCode::INCORRECT_PARAMS, words);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong(format!("Could not convert '{text}' into a number")));
    }
    digits
        .parse()
        .ok()
        .filter(|n| *n <= max)
        .ok_or_else(|| wrong(format!("Number '{text}' is out of range '[0, {max}]'")))
}

fn port(text: &str) -> SvnResult<u16> {
    strict_number(text, u64::from(u16::MAX))
        .map(|n| u16::try_from(n).unwrap_or(u16::MAX))
        .map_err(|e| e.wrap(ErrorCode::CL_ARG_PARSING_ERROR, format!("Invalid port '{text}'")))
}

fn cache_bytes(text: &str) -> SvnResult<Option<usize>> {
    let mib = strict_number(text, u64::MAX)?;
    // 0 lets the program decide.
    Ok(i64::try_from(mib).ok().and_then(mebibytes).and_then(|n| usize::try_from(n).ok()))
}

/// The number at the start of a text, or 0, as C's `atoi` does.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let digits = digits.head(end);
    let number = if digits.is_empty() { 0 } else { digits.parse::<i64>().unwrap_or(i64::MAX) };
    if negative { number.saturating_neg() } else { number }
}

/// Converts MiB to bytes; `None` for 0 and less.
fn mebibytes(number: i64) -> Option<u64> {
    u64::try_from(number).ok().filter(|n| *n > 0).map(|n| n.saturating_mul(1 << 20))
}

/// The text of `--help`.
pub(super) fn help_text() -> String {
    const COLUMN: &str = "                             ";
    let mut out = String::from(
        "usage: svnserve [-d | -i | -t | -X] [options]\n\
         The svn:// server of Subversion repositories.\n\
         Type 'svnserve --version' to see which version this is.\n\n\
         Valid options:\n",
    );
    for spec in SPECS.iter().filter(|s| !s.about.is_empty()) {
        let mut name = match spec.short {
            Some(short) => format!("-{short} [--{}]", spec.long),
            None => format!("--{}", spec.long),
        };
        if spec.takes_value {
            name.push_str(" ARG");
        }
        let about = spec.about.replace('\n', &format!("\n{COLUMN}"));
        out.push_str(&format!("  {name:<24} : {about}\n"));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(OsString::from).collect()).map_err(|w| match w {
            Wrong::Usage(words) => words,
            Wrong::Value(error) => error.to_string(),
        })
    }

    #[test]
    fn every_option_of_the_reference_is_accepted() {
        let line = "-d -r / -R --config-file c --listen-port 1 --listen-host h -6 -c 7 -M 3 \
                    --cache-txdeltas yes --cache-fulltexts no --cache-revprops yes \
                    --cache-nodeprops yes --client-speed 10 --block-read yes -T --min-threads 1 \
                    --max-threads 7 --max-request-size 2 --max-response-size 3 --foreground \
                    --log-file l --pid-file p --virtual-host -q";
        let options = parse(line).unwrap();
        assert_eq!(options.modes, [Mode::Daemon]);
        assert_eq!((options.port, options.compression), (1, 7));
        assert_eq!(options.cache_bytes, Some(3 << 20));
        assert_eq!(options.max_threads, Some(7));
        assert_eq!(options.request_bytes, Some(2 << 20));
        assert_eq!(options.response_bytes, Some(3 << 20));
        assert!(options.log_file.unwrap().is_absolute());
    }

    #[test]
    fn odd_numbers() {
        assert_eq!(parse("-c -3").unwrap().compression, 0);
        assert_eq!(parse("-c 99x").unwrap().compression, 9);
        assert_eq!(parse("--max-request-size 0").unwrap().request_bytes, None);
        assert_eq!(parse("-M 0").unwrap().cache_bytes, None);
        assert_eq!(
            parse("--listen-port 70000").unwrap_err(),
            "E205000: Invalid port '70000'; E200004: Number '70000' is out of range '[0, 65535]'"
        );
        assert_eq!(
            parse("-r /no/such/folder").unwrap_err(),
            "E200009: Root path '/no/such/folder' does not exist or is not a directory"
        );
    }

    #[test]
    fn modes_count_when_they_change() {
        assert_eq!(parse("-d -d").unwrap().modes.len(), 1);
        assert_eq!(parse("-di").unwrap().modes.len(), 2);
    }
}
