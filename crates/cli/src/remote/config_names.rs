//! The files, sections and options that the user's configuration has: what `--config-option`
//! names beside these is taken, with a warning that knows a better name for most slips.

use sapwood_core::{ErrorCode, SvnError};

use crate::similarity::score;

/// An option that `--config-option` sets: `FILE:SECTION:OPTION=[VALUE]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConfigOption<'a> {
    pub(super) file: &'a str,
    pub(super) section: &'a str,
    pub(super) option: &'a str,
    pub(super) value: &'a str,
}

impl<'a> ConfigOption<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (file, rest) = text.split_once(':')?;
        let (section, rest) = rest.split_once(':')?;
        let (option, value) = rest.split_once('=')?;
        let all_there = !file.is_empty() && !section.is_empty() && !option.is_empty();
        all_there.then_some(Self { file, section, option, value })
    }
}

const FILES: &[&str] = &["servers", "config"];

const SECTIONS: &[&str] =
    &["groups", "global", "auth", "helpers", "miscellany", "tunnels", "auto-props", "working-copy"];

/// Sections whose options have names of the user's own.
const FREE: &[&str] = &["groups", "tunnels", "auto-props"];

const OPTIONS: &[&str] = &[
    "http-proxy-host",
    "http-proxy-port",
    "http-proxy-username",
    "http-proxy-password",
    "http-proxy-exceptions",
    "http-timeout",
    "http-compression",
    "neon-debug-mask",
    "http-auth-types",
    "ssl-authority-files",
    "ssl-trust-default-ca",
    "ssl-client-cert-file",
    "ssl-client-cert-password",
    "ssl-pkcs11-provider",
    "http-library",
    "store-passwords",
    "store-plaintext-passwords",
    "store-auth-creds",
    "store-ssl-client-cert-pp",
    "store-ssl-client-cert-pp-plaintext",
    "username",
    "http-bulk-updates",
    "http-max-connections",
    "http-chunked-requests",
    "serf-log-components",
    "serf-log-level",
    "password-stores",
    "kwallet-wallet",
    "kwallet-svn-application-name-with-pid",
    "ssl-client-cert-file-prompt",
    "editor-cmd",
    "diff-cmd",
    "diff-extensions",
    "diff3-cmd",
    "diff3-has-program-arg",
    "merge-tool-cmd",
    "global-ignores",
    "log-encoding",
    "use-commit-times",
    "template-root",
    "enable-auto-props",
    "enable-magic-file",
    "no-unlock",
    "mime-types-file",
    "preserved-conflict-file-exts",
    "interactive-conflicts",
    "memory-cache-size",
    "diff-ignore-content-type",
    "exclusive-locking",
    "exclusive-locking-clients",
    "busy-timeout",
];

/// The warning about an unknown name, if any.
pub(super) fn warning(named: ConfigOption<'_>) -> Option<SvnError> {
    // Options that 1.14 does not know are left out of its suggestions.
    let own = [crate::terminal::COLOUR_OPTION, sapwood_client::checkout::STORE_PRISTINE];
    if named.file == "config" && own.contains(&(named.section, named.option)) {
        return None;
    }
    let unknown = |word, list: &[&'static str]| {
        (!list.contains(&word)).then(|| {
            let text = format!("Ignoring unknown value '{word}'");
            let text = match nearest(word, list) {
                Some(other) => format!("{text}; did you mean '{other}'?"),
                None => text,
            };
            SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, text)
        })
    };
    unknown(named.file, FILES).or_else(|| unknown(named.section, SECTIONS)).or_else(|| {
        if FREE.contains(&named.section) { None } else { unknown(named.option, OPTIONS) }
    })
}

/// The word of a list that is most like `word`, if any is like it enough.
fn nearest(word: &str, list: &[&'static str]) -> Option<&'static str> {
    let mut best = (666_666, None);
    for other in list {
        let score = score(word.as_bytes(), other.as_bytes()).0;
        if score > best.0 {
            best = (score, Some(*other));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_names() {
        for (text, expected) in [
            ("servers:global:username=x", None),
            ("servers:groups:any=x", None),
            ("config:tunnels:any=x", None),
            ("config:sapwood:color=auto", None),
            ("servers:global:foo=1", Some("Ignoring unknown value 'foo'")),
            (
                "config:auht:store-passwords=no",
                Some("Ignoring unknown value 'auht'; did you mean 'auth'?"),
            ),
            (
                "config:auth:storepasswords=1",
                Some("Ignoring unknown value 'storepasswords'; did you mean 'store-passwords'?"),
            ),
            ("foo:bar:baz=1", Some("Ignoring unknown value 'foo'")),
            ("config:misc:x=1", Some("Ignoring unknown value 'misc'")),
        ] {
            let found = warning(ConfigOption::parse(text).unwrap());
            assert_eq!(found.as_ref().map(SvnError::message), expected, "{text}");
        }
    }
}
