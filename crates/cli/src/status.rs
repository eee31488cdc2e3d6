//! `sapwood status`: how a running server is, as it says at its `metrics-listen` address.
//!
//! Invariant: texts from the server are shown with everything that is not printable escaped.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use sapwood_core::date::Timestamp;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use serde_json::Value;

use crate::command::OptionSpec;
use crate::getopt::{Item, Parser};
use crate::{output, report, serve};

const SPECS: &[OptionSpec] = &[
    OptionSpec::value("config", None, ""),
    OptionSpec::value("address", None, ""),
    OptionSpec::flag("json", None, ""),
    OptionSpec::flag("help", Some('h'), ""),
];

const HELP: &str = "\
usage: sapwood status [--config FILE | --address ADDRESS:PORT] [--json]

Shows how a running 'sapwood serve' is: version, start, connections, requests, repositories with
their youngest revisions, the end of the certificate, failed logins of the last hour, and the limits
that clients have met. The server needs 'metrics-listen' in its configuration.

The exit code is 0 when the server answers, else 1.

Options:
  --config FILE      the server's configuration (/etc/sapwood/sapwood.toml)
  --address ADDRESS:PORT
                     ask there, whatever a configuration says
  --json             the server's own answer
  -h [--help]        show this help
";

/// The configuration of the package.
const USUAL: &str = "/etc/sapwood/sapwood.toml";
/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer, in bytes.
const MOST: u64 = 8 << 20;

#[derive(Default)]
struct Options {
    config: Option<PathBuf>,
    address: Option<SocketAddr>,
    json: bool,
    help: bool,
}

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let options = match parse(args) {
        Ok(options) => options,
        Err(words) => {
            report::stderr(&format!("sapwood status: {words}\n"));
            report::stderr("Type 'sapwood status --help' for usage.\n");
            return ExitCode::FAILURE;
        }
    };
    if options.help {
        return output::print("sapwood status", HELP);
    }
    match text(&options) {
        Ok(text) => output::print("sapwood status", &text),
        Err(error) => {
            report::exit_error(&error, "sapwood status: ");
            ExitCode::FAILURE
        }
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    crate::manual::Manual::of_help(HELP)
}

fn parse(args: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut parser = Parser::new(SPECS, args);
    while let Some(item) = parser.next()? {
        let (name, value) = match item {
            Item::Argument(word) => return Err(format!("unknown argument '{}'", word.display())),
            // Flags have none.
            Item::Option(spec, value) => (spec.long, value.unwrap_or_else(|| OsString::from(""))),
        };
        match name {
            "config" => options.config = Some(value.into()),
            "address" => {
                let text = value.to_string_lossy();
                let wrong = || format!("'{text}' is no address with a port, as 127.0.0.1:9117 is");
                options.address = Some(text.parse().map_err(|_| wrong())?);
            }
            "json" => options.json = true,
            _ => options.help = true,
        }
    }
    if options.config.is_some() && options.address.is_some() {
        return Err("--config and --address exclude each other".to_owned());
    }
    Ok(options)
}

fn failed(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::ILLEGAL_TARGET, message.into())
}

fn text(options: &Options) -> SvnResult<String> {
    let address = match options.address {
        Some(address) => address,
        None => {
            let config = options.config.as_deref().unwrap_or(Path::new(USUAL));
            let named = serve::metrics_address(config)?;
            let shown = config.display();
            named.ok_or_else(|| failed(format!("'{shown}' has no 'metrics-listen'")))?
        }
    };
    let body = ask(reachable(address))?;
    if options.json {
        return Ok(body);
    }
    let wrong =
        |e: serde_json::Error| failed(format!("The server's answer is not understood: {e}"));
    let status: Value = serde_json::from_str(&body).map_err(wrong)?;
    Ok(table(&status, Timestamp::now()))
}

/// An address that a server listens at, as one to connect to.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// The body of the server's answer.
fn ask(address: SocketAddr) -> SvnResult<String> {
    let io = |e: std::io::Error| SvnError::io(&e, format_args!("No server answers at {address}"));
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE).map_err(io)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(io)?;
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).map_err(io)?;
    let mut reply = Vec::new();
    socket.take(MOST).read_to_end(&mut reply).map_err(io)?;
    let reply = String::from_utf8_lossy(&reply).into_owned();
    match reply.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => Err(failed(format!("What answers at {address} is no 'sapwood serve'"))),
    }
}

/// A text of the server for a terminal.
fn shown(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

/// A member of an object; null where there is none.
fn at<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// A time of seconds since 1970, to the second.
fn date(seconds: i64) -> String {
    let text = Timestamp(seconds.checked_mul(1_000_000).unwrap_or(0)).to_string();
    text.split('.').next().unwrap_or("").replace('T', " ") + " UTC"
}

/// `2 days`, for whole units of the largest kind.
fn span(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let fits = units.into_iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = fits.unwrap_or((1, "second"));
    let count = seconds.div_euclid(unit);
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

fn by_name(value: &Value, keep_zero: bool) -> String {
    let all = value.as_object().into_iter().flatten();
    let some = all.filter(|(_, count)| keep_zero || number(count) > 0);
    let list: Vec<String> =
        some.map(|(name, n)| format!("{} {}", shown(name), number(n))).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

fn table(status: &Value, now: Timestamp) -> String {
    let now = now.0.div_euclid(1_000_000);
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push(format!("{name:<24}{value}\n"));
    line("Version", shown(at(status, "version").as_str().unwrap_or("?")));
    let started = at(status, "started").as_i64().unwrap_or(now);
    line("Up since", format!("{} ({})", date(started), span(started.abs_diff(now))));
    if *at(status, "is_ending") == true {
        line("State", "shutting down".to_owned());
    }
    line("Connections", by_name(at(status, "connections"), true));
    line("Requests", by_name(at(status, "requests"), true));
    line("Commits", number(at(status, "commits")).to_string());
    let (hour, all) = (at(status, "failed_logins_last_hour"), at(status, "failed_logins"));
    let failures = format!("{} in the last hour, {} in all", number(hour), number(all));
    line("Failed logins", failures);
    line("Limits met", by_name(at(status, "limits"), false));
    let end = match at(status, "certificate_end").as_i64() {
        None => "none".to_owned(),
        Some(end) if end <= now => format!("{} (EXPIRED)", date(end)),
        Some(end) => format!("{} (in {})", date(end), span(end.abs_diff(now))),
    };
    line("Certificate ends", end);
    if let Some(servers) = at(status, "servers").as_array() {
        line("Servers", list_of_servers(servers));
    }
    if *at(status, "last_reload_successful") == false {
        line("Configuration", "the new one has an error, the old one is in use".to_owned());
    }
    lines.concat() + &repositories(status)
}

/// The other servers of the same repositories, with this one.
fn list_of_servers(servers: &[Value]) -> String {
    let one = |server: &Value| {
        let name = shown(at(server, "name").as_str().unwrap_or("?"));
        match (*at(server, "is_own") == true, *at(server, "is_avoided") == true) {
            (true, _) => format!("{name} (this one)"),
            (false, true) => format!("{name} (CANNOT BE REACHED)"),
            (false, false) => name,
        }
    };
    let all: Vec<String> = servers.iter().map(one).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn repositories(status: &Value) -> String {
    let mut text = String::new();
    let none = Vec::new();
    let all = at(status, "repositories").as_array().unwrap_or(&none);
    let name = |one: &Value| shown(at(one, "name").as_str().unwrap_or("?"));
    let width = all.iter().map(|one| name(one).chars().count()).max().unwrap_or(0).clamp(10, 60);
    let has_backups = *at(status, "has_backups") == true;
    if !all.is_empty() {
        let backup = if has_backups { "verified backup" } else { "" };
        let line = format!("\n{:<width$}  {:>9}  {:<27}  {backup}", "Repository", "Revision", "of");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for one in all {
        let revision = at(one, "youngest").as_u64();
        let revision = revision.map_or("unreadable".to_owned(), |revision| revision.to_string());
        let date = at(one, "date").as_str().map_or(String::new(), shown);
        let backup = if has_backups { backup(one) } else { String::new() };
        let line = format!("{:<width$}  {revision:>9}  {date:<27}  {backup}", name(one));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let unnamed = number(at(status, "repositories_unnamed"));
    if unnamed > 0 {
        text.push_str(&format!("... and {unnamed} more\n"));
    }
    text
}

/// The last column: what of a repository's backup was verified last.
fn backup(repository: &Value) -> String {
    let backup = at(repository, "backup");
    match (at(backup, "revision").as_u64(), at(backup, "verified").as_str()) {
        (Some(revision), Some(date)) => format!("r{revision}, {}", shown(date)),
        _ => "NONE".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_for_people() {
        let status = serde_json::json!({
            "version": "1.2.3", "started": 1_000_000_000,
            "connections": { "http": 3, "svn": 0 }, "requests": { "http": 10 }, "commits": 2,
            "failed_logins": 5, "failed_logins_last_hour": 1,
            "limits": { "logins": 4, "connections": 0 },
            "certificate_end": 1_000_086_400, "last_reload_successful": false,
            "repositories": [
                { "name": "a\u{1b}[2Jb", "youngest": 7, "date": "2001-09-09T01:46:40.000000Z" },
                { "name": "gone", "youngest": null, "date": null },
            ],
            "repositories_unnamed": 3,
            "servers": [
                { "name": "a:1", "is_own": true, "is_avoided": false },
                { "name": "b:1", "is_own": false, "is_avoided": true },
                { "name": "c:1", "is_own": false, "is_avoided": false },
            ],
        });
        let text = table(&status, Timestamp(1_000_000_100_000_000));
        for line in [
            "Version                 1.2.3\n",
            "Up since                2001-09-09 01:46:40 UTC (1 minute)\n",
            "Connections             http 3, svn 0\n",
            "Failed logins           1 in the last hour, 5 in all\n",
            "Limits met              logins 4\n",
            "Certificate ends        2001-09-10 01:46:40 UTC (in 23 hours)\n",
            "Configuration           the new one has an error, the old one is in use\n",
            "gone         unreadable\n",
            "... and 3 more\n",
            "Servers                 a:1 (this one), b:1 (CANNOT BE REACHED), c:1\n",
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
        let mut with_backups = status.clone();
        with_backups["has_backups"] = true.into();
        with_backups["repositories"][0]["backup"] =
            serde_json::json!({ "revision": 6, "verified": "2001-09-09T01:00:00.000000Z" });
        let backups = table(&with_backups, Timestamp(1_000_000_100_000_000));
        assert!(backups.contains("40.000000Z  r6, 2001-09-09T01:00:00.000000Z\n"), "{backups}");
        assert!(backups.contains("NONE\n") && !text.contains("NONE"), "{backups}");
        assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[2Jb"), "{text}");
        assert!(table(&Value::Null, Timestamp(0)).contains("Version                 ?\n"));
    }
}
