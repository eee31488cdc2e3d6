//! Cache keys of finished replies: the protocol, the request, and the users that may see the reply.
//!
//! Bytes that were made for one client are sent to the next one, so a key that stands for two
//! things would give a client replies of the other protocol, or show users what is hidden from
//! them. All keys are made here, from typed values.
//!
//! Invariant: two keys are equal only if protocol, kind of reply, fields and [`Viewer`] are.

use sapwood_core::props::names;
use sapwood_core::{DirentFields, FormKey, RevpropSelection};

use crate::authorizer::{PathAuthorizer, RulesId};

/// The protocol in which finished replies are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// The svn protocol.
    Svn,
    /// DAV.
    Dav,
    /// DAV, with values that XML cannot hold in base64: for clients that support it.
    DavEncoded,
    /// No protocol: for tests.
    Test,
}

/// The revision properties of cached log entries. Others are requested too seldom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeptProps {
    /// All of them.
    All,
    /// Some of the three that `svn log` shows, in the order of [`STANDARD`].
    Standard([bool; 3]),
}

/// The properties that `svn log` shows.
const STANDARD: [&str; 3] = [names::AUTHOR, names::DATE, names::LOG];

impl KeptProps {
    /// The properties of a log that may be cached; `None` if it may not.
    pub(crate) fn of(selection: RevpropSelection<'_>) -> Option<Self> {
        let RevpropSelection::Names(wanted) = selection else { return Some(Self::All) };
        if wanted.iter().any(|name| !STANDARD.contains(name)) {
            return None;
        }
        Some(Self::Standard(STANDARD.map(|name| wanted.contains(&name))))
    }

    /// The properties again, with static names.
    pub(crate) fn selection(self) -> RevpropSelection<'static> {
        match self {
            Self::All => RevpropSelection::All,
            Self::Standard([author, date, message]) => RevpropSelection::Names(match () {
                () if author && date && message => &STANDARD,
                () if author && date => &[names::AUTHOR, names::DATE],
                () if author && message => &[names::AUTHOR, names::LOG],
                () if date && message => &[names::DATE, names::LOG],
                () if author => &[names::AUTHOR],
                () if date => &[names::DATE],
                () if message => &[names::LOG],
                () => &[],
            }),
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::All => 8,
            Self::Standard(wanted) => bits(wanted),
        }
    }
}

/// The kind of a finished reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Entries of a log.
    Log { protocol: Protocol, changed_paths: bool, revprops: KeptProps },
    /// Entries of a listing of all that is below a directory.
    List { protocol: Protocol, fields: DirentFields },
}

impl Form {
    fn number(self) -> u32 {
        let (kind, protocol, fields) = match self {
            Self::Log { protocol, changed_paths, revprops } => {
                (0, protocol, u32::from(changed_paths) << 4 | revprops.bits())
            }
            Self::List { protocol, fields } => {
                let DirentFields { kind, size, has_props, created_rev, time, last_author } = fields;
                (1, protocol, bits([kind, size, has_props, created_rev, time, last_author]))
            }
        };
        let protocol = match protocol {
            Protocol::Svn => 0,
            Protocol::Dav => 1,
            Protocol::DavEncoded => 2,
            Protocol::Test => 3,
        };
        kind << 16 | protocol << 8 | fields
    }
}

/// A number of up to eight bits.
fn bits<const N: usize>(of: [bool; N]) -> u32 {
    of.into_iter().fold(0, |number, bit| number << 1 | u32::from(bit))
}

/// The users that may share a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// All users that may read everything in it.
    Everyone,
    /// All users to whom these rules apply.
    Rules {
        /// Which rules.
        rules: RulesId,
        /// Whether the refused paths are stored with the reply.
        notes_refusals: bool,
    },
    /// This user only, because nothing is known of the rules: the reply is not cached.
    Unknown,
}

impl Viewer {
    /// The viewer of replies about the whole repository under `authorizer`.
    pub(crate) fn of(authorizer: &dyn PathAuthorizer) -> Self {
        if authorizer.everything_readable() {
            return Self::Everyone;
        }
        match authorizer.rules() {
            Some(rules) => Self::Rules { rules, notes_refusals: authorizer.notes_refusals() },
            None => Self::Unknown,
        }
    }
}

/// The key of a form for `viewer`; `None` when such replies are not cached.
pub(crate) fn key(form: Form, viewer: Viewer) -> Option<FormKey> {
    let (rules, notes_refusals) = match viewer {
        Viewer::Everyone => (0, false),
        Viewer::Rules { rules, notes_refusals } => (rules.number(), notes_refusals),
        Viewer::Unknown => return None,
    };
    let viewer = u64::from(rules) << 1 | u64::from(notes_refusals);
    FormKey::new(viewer << 32 | u64::from(form.number()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn every_form() -> Vec<Form> {
        let mut all = Vec::new();
        let some = |n: u32, bit: u32| n >> bit & 1 == 1;
        for protocol in [Protocol::Svn, Protocol::Dav, Protocol::DavEncoded, Protocol::Test] {
            for changed_paths in [false, true] {
                let standard = (0..8).map(|n| KeptProps::Standard([0, 1, 2].map(|b| some(n, b))));
                all.extend(standard.chain([KeptProps::All]).map(|revprops| Form::Log {
                    protocol,
                    changed_paths,
                    revprops,
                }));
            }
            all.extend((0..64).map(|n| {
                let [kind, size, has_props, created_rev, time, last_author] =
                    [0, 1, 2, 3, 4, 5].map(|bit| some(n, bit));
                let fields = DirentFields { kind, size, has_props, created_rev, time, last_author };
                Form::List { protocol, fields }
            }));
        }
        all
    }

    #[test]
    fn no_two_forms_and_no_two_viewers_share_a_name() {
        let rules: Vec<RulesId> = (0..3).map(|_| RulesId::fresh().unwrap()).collect();
        let with_rules = rules.iter().flat_map(|rules| {
            [false, true].map(|notes_refusals| Viewer::Rules { rules: *rules, notes_refusals })
        });
        let viewers: Vec<Viewer> = with_rules.chain([Viewer::Everyone]).collect();
        let forms = every_form();
        let mut names = HashSet::new();
        for form in &forms {
            names.extend(viewers.iter().map(|viewer| key(*form, *viewer).unwrap()));
            assert_eq!(key(*form, Viewer::Unknown), None);
        }
        assert_eq!(names.len(), forms.len() * viewers.len());
    }

    #[test]
    fn properties_that_are_kept_are_those_that_are_asked_for() {
        let of = |names| KeptProps::of(RevpropSelection::Names(names));
        assert_eq!(of(&[names::LOG, "x"]), None);
        for wanted in [&[][..], &[names::LOG], &[names::DATE, names::AUTHOR], &STANDARD] {
            let RevpropSelection::Names(kept) = of(wanted).unwrap().selection() else { panic!() };
            let sorted = |names: &[&str]| {
                let mut names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
                names.sort();
                names
            };
            assert_eq!(sorted(kept), sorted(wanted));
        }
    }
}
