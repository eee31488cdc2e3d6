//! Commands that lead to a server: `[tunnels]` of the configuration, `$SVN_SSH`, or ssh.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::{Command, Stdio};

use sapwood_core::config::Config;
use sapwood_core::{SvnError, uri};

use super::transport::Transport;
use crate::error::{Error, Result};

/// What `svn+ssh` is when nothing else is said.
const SSH: &str = "$SVN_SSH ssh -q --";

/// Whether a host may become an argument: nothing that a shell or an option parser would take
/// for something else.
fn is_valid_host(host: &str) -> bool {
    !host.starts_with('-')
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b":.-_[]@".contains(&b))
}

/// The command with its arguments for a tunnel to `authority` (`user@host:port`, escaped).
///
/// # Errors
/// E125002 for tunnels that are not defined, and hosts that are none.
pub fn command_line(
    tunnel: &str,
    authority: &str,
    config: &Config,
    variable: fn(&str) -> Option<OsString>,
) -> Result<Vec<OsString>> {
    let host = uri::decode_utf8(authority).filter(|host| is_valid_host(host));
    let host = host.ok_or_else(|| Error::InvalidHost(authority.to_owned()))?;
    let defined = config.get("tunnels", tunnel).map(std::borrow::Cow::into_owned);
    let defined = match defined {
        None if tunnel == "ssh" => SSH.to_owned(),
        Some(text) if !text.is_empty() => text,
        _ => return Err(Error::UndefinedTunnel(tunnel.to_owned())),
    };
    let command = match defined.strip_prefix('$') {
        None => OsString::from(&defined),
        Some(rest) => {
            let (name, otherwise) = rest.split_once(' ').unwrap_or((rest, ""));
            let otherwise = otherwise.trim_start_matches(' ');
            match variable(name) {
                Some(command) => command,
                None if otherwise.is_empty() => {
                    return Err(Error::TunnelVariable {
                        scheme: tunnel.to_owned(),
                        variable: name.to_owned(),
                    });
                }
                None => OsString::from(otherwise),
            }
        }
    };
    let mut words = split_words(command.as_bytes());
    words.extend([host.into(), "svnserve".into(), "-t".into()]);
    Ok(words)
}

/// Splits a command as APR does: at blanks, with single or double quotes around words, and
/// backslashes that keep a quote or a blank.
fn split_words(command: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = command.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' if quote.is_none() => words.extend(word.take().map(OsString::from_vec)),
            b'"' | b'\'' if quote.is_none() && word.is_none() => {
                quote = Some(byte);
                word = Some(Vec::new());
            }
            _ if quote == Some(byte) => {
                quote = None;
                words.extend(word.take().map(OsString::from_vec));
            }
            b'\\' if bytes.peek().is_some_and(|next| b" \t\"'".contains(next)) => {
                word.get_or_insert_default().extend(bytes.next());
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// Starts a tunnel.
///
/// # Errors
/// E170012 when the command does not start.
pub fn start(words: &[OsString]) -> Result<Transport> {
    let failure = |e: &std::io::Error| Error::Tunnel(SvnError::io(e, "Can't create tunnel"));
    let Some((program, arguments)) = words.split_first() else {
        return Err(failure(&std::io::ErrorKind::InvalidInput.into()));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failure(&e))?;
    match (child.stdin.take(), child.stdout.take()) {
        (Some(input), Some(output)) => Ok(Transport::Tunnel { child, input, output }),
        _ => Err(failure(&std::io::ErrorKind::BrokenPipe.into())),
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::config::Case;

    use super::*;

    fn line(tunnel: &str, host: &str, config: &str) -> Result<Vec<String>> {
        let config = Config::parse(config.as_bytes(), Case::INSENSITIVE).unwrap();
        let variable = |name: &str| (name == "SET").then(|| OsString::from("from variable"));
        command_line(tunnel, host, &config, variable)
            .map(|words| words.into_iter().map(|w| w.into_string().unwrap()).collect())
    }

    #[test]
    fn where_commands_come_from() {
        let tail = ["h", "svnserve", "-t"];
        for (tunnel, config, want) in [
            ("ssh", "", &["ssh", "-q", "--"][..]),
            ("ssh", "[tunnels]\nssh = plink -batch\n", &["plink", "-batch"]),
            ("x", "[tunnels]\nx = $SET other\n", &["from", "variable"]),
            ("x", "[tunnels]\nx = $UNSET 'other one' t\\ w\"o\n", &["other one", "t w\"o"]),
        ] {
            let want: Vec<&str> = want.iter().chain(&tail).copied().collect();
            assert_eq!(line(tunnel, "h", config).unwrap(), want, "{tunnel} {config}");
        }
        for (tunnel, host, config, words) in [
            ("x", "h", "", "Undefined tunnel scheme 'x'"),
            ("x", "-oProxyCommand=x", "[tunnels]\nx=y\n", "Invalid host '-oProxyCommand=x'"),
            ("ssh", "a%20b", "", "Invalid host 'a%20b'"),
            (
                "x",
                "h",
                "[tunnels]\nx = $UNSET\n",
                "Tunnel scheme x requires environment variable UNSET to be defined",
            ),
        ] {
            assert_eq!(line(tunnel, host, config).unwrap_err().to_string(), words);
        }
    }
}
