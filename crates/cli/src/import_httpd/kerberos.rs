//! The directives of mod_auth_gssapi, and of mod_auth_kerb before it.
//!
//! Invariant: a place is opened for tickets only where names of users are those that httpd gives them, and no directive
//! that is not understood refuses one of them.

use super::parse::Directive;

/// What is known of a place's tickets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KerberosDirectives {
    /// Whether a user's name has no realm, as here.
    has_local_names: bool,
}

/// What follows from a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// Something to say.
    Say(String),
    /// Only connections with TLS are for it.
    NeedsTls,
    /// It may refuse users, in a way that is not there.
    Closes,
}

impl KerberosDirectives {
    /// Whether the names of users are as here.
    pub(super) const fn fits(&self) -> bool {
        self.has_local_names
    }

    /// Takes a directive, of which it is known whether its word is `on`; `None` if it is none of these modules'.
    pub(super) fn take(&mut self, directive: &Directive, is_on: bool) -> Option<Outcome> {
        let first = directive.args.first().map_or("", String::as_str);
        Some(match directive.name.as_str() {
            "gssapilocalname" => {
                self.has_local_names = is_on;
                Outcome::Nothing
            }
            "gssapicredstore" => match first.strip_prefix("keytab:") {
                Some(keytab) => Outcome::Say(format!(
                    "the key table of the server is named by KRB5_KTNAME={keytab} in its environment"
                )),
                None => Outcome::Nothing,
            },
            "gssapisslonly" if is_on => Outcome::NeedsTls,
            "gssapibasicauth" if is_on => {
                Outcome::Say("passwords are not checked by Kerberos here, only tickets".to_owned())
            }
            "gssapiallowedmech" if first.eq_ignore_ascii_case("krb5") => Outcome::Nothing,
            "gssapisslonly"
            | "gssapibasicauth"
            | "gssapibasicauthmech"
            | "gssapiconnectionbound"
            | "gssapinegotiateonce"
            | "gssapipublisherrors"
            | "gssapisessionkey"
            | "gssapisignalpersistentauth"
            | "gssapiusesessions"
            | "gssapidelegccachedir"
            | "gssapidelegccacheunique"
            | "gssapidelegccacheenvvar"
            | "gssapidelegccacheperms"
            | "gssapiuses4u2proxy" => Outcome::Nothing,
            name if name.starts_with("gssapi") => Outcome::Closes,
            name if name.starts_with("krb") => Outcome::Say(
                "mod_auth_kerb is not read: 'kerberos = true' takes tickets, and names users without the server's realm"
                    .to_owned(),
            ),
            _ => return None,
        })
    }
}
