//! Access as httpd decides it: `Require` (mod_authz_core), `Order`, `Allow` and `Deny` (mod_access_compat),
//! and `Satisfy`.
//!
//! Access is computed for an anonymous user and for one who has logged in, and for each method. Where it depends on
//! something unknown here (an address, a name, an expression), all answers are possible.
//!
//! Invariant: a level is granted only if httpd grants it whatever the possible answers are.

use super::parse::{Directive, Section};

/// The level of access, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    None,
    Read,
    Write,
}

/// Methods that read.
const READING: [&str; 4] = ["GET", "OPTIONS", "PROPFIND", "REPORT"];
/// Methods that write.
const WRITING: [&str; 13] = [
    "POST",
    "PUT",
    "DELETE",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "PROPPATCH",
    "MKACTIVITY",
    "CHECKOUT",
    "MERGE",
    "CHECKIN",
];

/// A set of the answers that are possible.
type Answers = u8;
const GRANTED: Answers = 1;
const DENIED: Answers = 2;
const NEUTRAL: Answers = 4;
const EACH: [Answers; 3] = [GRANTED, DENIED, NEUTRAL];

/// A request: user and method.
#[derive(Clone, Copy, Debug)]
struct Ask<'m> {
    /// Whether it is a user who has logged in.
    is_user: bool,
    method: &'m str,
    terms: Terms,
}

/// Conditions beside requirements and addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    /// Whether all connections are encrypted.
    pub(super) tls: bool,
    /// Whether there is an `AuthType`.
    pub(super) has_type: bool,
    /// Whether the users and groups of `Require` are known here by their names ([`Access::members`]).
    pub(super) by_members: bool,
    /// Whether mod_authz_svn checks the password of users who send one, though an address would be enough.
    pub(super) looks_at_passwords: bool,
}

/// A requirement, or a group of them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Leaf { words: Vec<String>, not: bool, limits: Vec<Section> },
    Group { all: bool, none: bool, limits: Vec<Section>, number: usize, inner: Vec<Node> },
}

/// One of those whom `Require` lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Member {
    /// A user, by name.
    User(String),
    /// The members of a group of a directory, by its entry.
    Group(String),
}

/// The sections that limit to methods.
fn limits(within: &[Section]) -> Vec<Section> {
    let is_limit = |section: &&Section| matches!(&*section.name, "limit" | "limitexcept");
    within.iter().filter(is_limit).cloned().collect()
}

/// Whether something in such sections is about a method.
fn is_about(limits: &[Section], method: &str) -> bool {
    limits.iter().all(|section| {
        let named = |arg: &String| arg == method || (arg == "HEAD" && method == "GET");
        section.args.iter().any(named) == (section.name == "limit")
    })
}

fn joined(all: bool, inner: Vec<Node>) -> Node {
    Node::Group { all, none: false, limits: Vec::new(), number: 0, inner }
}

impl Node {
    fn answers(&self, ask: Ask<'_>) -> Answers {
        match self {
            Self::Leaf { limits, .. } | Self::Group { limits, .. }
                if !is_about(limits, ask.method) =>
            {
                NEUTRAL
            }
            Self::Leaf { words, not, .. } => {
                let answers = leaf(words, ask);
                if *not { refused(answers) } else { answers }
            }
            Self::Group { all, none, inner, .. } => {
                let children = inner.iter().map(|node| node.answers(ask));
                let answers = children.fold(NEUTRAL, |state, child| both(*all, state, child));
                if *none { refused(answers) } else { answers }
            }
        }
    }

    /// Adds a requirement below the groups around it.
    fn add(&mut self, groups: &[&Section], leaf: Self) {
        let Self::Group { inner, .. } = self else { return };
        let Some((first, rest)) = groups.split_first() else {
            inner.push(leaf);
            return;
        };
        let at = inner
            .iter()
            .position(|node| matches!(node, Self::Group { number, .. } if *number == first.number));
        let at_end = inner.len();
        let at = at.unwrap_or_else(|| {
            let (all, none) = (first.name == "requireall", first.name == "requirenone");
            let limits = match &leaf {
                Self::Leaf { limits, .. } => limits.clone(),
                Self::Group { .. } => Vec::new(),
            };
            inner.push(Self::Group { all, none, limits, number: first.number, inner: Vec::new() });
            at_end
        });
        if let Some(group) = inner.get_mut(at) {
            group.add(rest, leaf);
        }
    }
}

/// `not`, and `<RequireNone>`: what is refused stays so, and what is not is no reason to grant anything.
fn refused(answers: Answers) -> Answers {
    let denied = if answers & GRANTED == 0 { 0 } else { DENIED };
    let neutral = if answers & (DENIED | NEUTRAL) == 0 { 0 } else { NEUTRAL };
    denied | neutral
}

/// The answers of a group whose answers so far are `state`, after one more member.
fn both(all: bool, state: Answers, child: Answers) -> Answers {
    let one = |state: Answers, child: Answers| match (all, state, child) {
        (_, state, NEUTRAL) => state,
        (_, NEUTRAL, child) => child,
        (true, DENIED, _) | (true, _, DENIED) => DENIED,
        (false, GRANTED, _) | (false, _, GRANTED) => GRANTED,
        (_, state, _) => state,
    };
    let mut found = 0;
    for a in EACH.into_iter().filter(|a| state & a != 0) {
        for b in EACH.into_iter().filter(|b| child & b != 0) {
            found |= one(a, b);
        }
    }
    found
}

/// The possible answers of one requirement.
fn leaf(words: &[String], ask: Ask<'_>) -> Answers {
    let Some((kind, rest)) = words.split_first() else { return GRANTED | DENIED };
    let first = rest.first().map_or("", String::as_str);
    let certain = |granted: bool| if granted { GRANTED } else { DENIED };
    match kind.as_str() {
        "all" if first.eq_ignore_ascii_case("granted") => GRANTED,
        "all" if first.eq_ignore_ascii_case("denied") => DENIED,
        "valid-user" => certain(ask.is_user),
        "method" => {
            certain(rest.iter().any(|m| m == ask.method || (m == "HEAD" && ask.method == "GET")))
        }
        "ssl" if ask.terms.tls => GRANTED,
        // Clients without a certificate are refused by `require-certificate`.
        "ssl-verify-client" => GRANTED,
        "user" | "ldap-user" | "ldap-group" if ask.terms.by_members => certain(ask.is_user),
        "user" | "group" | "ldap-user" | "ldap-group" | "ldap-dn" | "ldap-attribute"
        | "ldap-filter" | "dbm-group" | "dbd-group" | "file-owner" | "file-group"
            if !ask.is_user =>
        {
            DENIED
        }
        _ => GRANTED | DENIED,
    }
}

/// `Order`, `Allow`, `Deny` and `Satisfy` of one section: they replace those of sections before as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hosts {
    lines: Vec<(String, Vec<String>, Vec<Section>)>,
}

impl Hosts {
    /// Whether an address is allowed: yes, no, or both are possible.
    fn answers(&self, method: &str) -> Answers {
        let about = || self.lines.iter().filter(|(.., limits)| is_about(limits, method));
        let order = about().rfind(|(name, ..)| name == "order");
        let order = order.and_then(|(_, args, _)| args.first()).map(|a| a.to_ascii_lowercase());
        let has = |wanted: &str| {
            let mut found = DENIED;
            for (_, args, _) in about().filter(|(name, ..)| name == wanted) {
                let all = args.iter().skip(1).any(|arg| arg.eq_ignore_ascii_case("all"));
                found = if all { return GRANTED } else { found | GRANTED };
            }
            found
        };
        let (allowed, denied) = (has("allow"), has("deny"));
        let mut found = 0;
        for a in [GRANTED, DENIED].into_iter().filter(|a| allowed & a != 0) {
            for d in [GRANTED, DENIED].into_iter().filter(|d| denied & d != 0) {
                let (is_allowed, is_denied) = (a == GRANTED, d == GRANTED);
                let lets_in = match order.as_deref() {
                    None | Some("deny,allow") => is_allowed || !is_denied,
                    _ => is_allowed && !is_denied,
                };
                found |= if lets_in { GRANTED } else { DENIED };
            }
        }
        found
    }

    /// Whether one of the two, addresses or requirements, is enough.
    fn any_is_enough(&self, method: &str) -> bool {
        let mut satisfy = self
            .lines
            .iter()
            .filter(|(name, _, limits)| name == "satisfy" && is_about(limits, method));
        let word = satisfy.next_back().and_then(|(_, args, _)| args.first());
        word.is_some_and(|word| word.eq_ignore_ascii_case("any"))
    }
}

/// All of it, of the sections that count for an address, those that count more last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    required: Option<Node>,
    hosts: Hosts,
    /// The requirements of the section that is being read.
    own: Option<Node>,
    own_hosts: Option<Hosts>,
    merging: Option<String>,
}

impl Access {
    /// Takes a directive of a section, if it is about this. `within` are the sections inside of that one.
    pub(super) fn take(&mut self, directive: &Directive, within: &[Section]) -> bool {
        let limits = limits(within);
        match directive.name.as_str() {
            "require" => {
                let mut words = directive.args.clone();
                let not = words.first().is_some_and(|word| word.eq_ignore_ascii_case("not"));
                if not {
                    words.remove(0);
                }
                if let Some(kind) = words.first_mut() {
                    *kind = kind.to_ascii_lowercase();
                }
                let is_group = |s: &&Section| s.name.starts_with("require");
                let groups: Vec<&Section> = within.iter().filter(is_group).collect();
                let own = self.own.get_or_insert_with(|| joined(false, Vec::new()));
                own.add(&groups, Node::Leaf { words, not, limits });
            }
            "authmerging" => {
                self.merging = directive.args.first().map(|word| word.to_ascii_lowercase());
            }
            "order" | "allow" | "deny" | "satisfy" => {
                let hosts = self.own_hosts.get_or_insert_with(Hosts::default);
                hosts.lines.push((directive.name.clone(), directive.args.clone(), limits));
            }
            _ => return false,
        }
        true
    }

    /// A section ends: what it says is merged with those before.
    pub(super) fn end_section(&mut self) {
        if let Some(hosts) = self.own_hosts.take() {
            self.hosts = hosts;
        }
        let (own, before) = (self.own.take(), self.required.take());
        self.required = match (self.merging.take().as_deref(), own, before) {
            (None, None, before) => before,
            (Some(word @ ("and" | "or")), own, before) => {
                let nodes: Vec<Node> = before.into_iter().chain(own).collect();
                (!nodes.is_empty()).then(|| joined(word == "and", nodes))
            }
            (_, own, _) => own,
        };
    }

    /// The users and groups of whom being one is enough, and needed, for every method; `None` if it is not that simple.
    pub(super) fn members(&self) -> Option<Vec<Member>> {
        let Some(Node::Group { all: false, none: false, limits, inner, .. }) = &self.required
        else {
            return None;
        };
        let mut members = Vec::new();
        for node in inner {
            let Node::Leaf { words, not: false, limits } = node else { return None };
            let (kind, names) = words.split_first()?;
            if !limits.is_empty() || names.is_empty() {
                return None;
            }
            match kind.as_str() {
                "user" | "ldap-user" => members.extend(names.iter().cloned().map(Member::User)),
                "ldap-group" => members.push(Member::Group(names.join(" "))),
                _ => return None,
            }
        }
        (limits.is_empty() && !members.is_empty()).then_some(members)
    }

    /// Whether a user has to log in, for some method at least.
    pub(super) fn asks_for_users(&self, terms: Terms) -> bool {
        self.level(false, terms) < Level::Write && self.level(true, terms) > Level::None
    }

    /// The least access of an anonymous user, or of one who has logged in.
    pub(super) fn level(&self, is_user: bool, terms: Terms) -> Level {
        let may = |methods: &[&str]| {
            methods.iter().all(|method| self.answers(Ask { is_user, method, terms }) == GRANTED)
        };
        match (may(&READING), may(&WRITING)) {
            (true, true) => Level::Write,
            (true, false) => Level::Read,
            (false, _) => Level::None,
        }
    }

    /// Whether httpd certainly refuses all users, whatever is requested.
    pub(super) fn is_denied(&self, terms: Terms) -> bool {
        let refuses =
            |is_user: bool, method: &str| self.answers(Ask { is_user, method, terms }) == DENIED;
        let all = || READING.iter().chain(&WRITING);
        [false, true].into_iter().all(|is_user| all().all(|method| refuses(is_user, method)))
    }

    /// The answers of everything together.
    fn answers(&self, ask: Ask<'_>) -> Answers {
        let required = match &self.required {
            // Where no requirement is about the method, it is open.
            Some(node) => {
                let answers = node.answers(ask);
                (answers & !NEUTRAL) | if answers & NEUTRAL == 0 { 0 } else { GRANTED }
            }
            // httpd takes logins without any requirement for a mistake.
            None if ask.terms.has_type => DENIED,
            None => GRANTED,
        };
        let hosts = self.hosts.answers(ask.method);
        let any = self.hosts.any_is_enough(ask.method);
        match () {
            () if any && ask.is_user && ask.terms.looks_at_passwords => required,
            () => both(!any, required, hosts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    /// Levels of an anonymous user and of another. A line is a directive, `<` begins a section, `>` ends it, and `---`
    /// begins another section of the configuration.
    fn levels(text: &str) -> (Level, Level) {
        let mut access = Access::default();
        let (mut within, mut number) = (Vec::new(), 0);
        for line in text.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            let mut args = words(line.trim_start_matches('<'));
            let name = args.remove(0).to_ascii_lowercase();
            match &*name {
                "---" => access.end_section(),
                ">" => drop(within.pop()),
                _ if line.starts_with('<') => {
                    number += 1;
                    within.push(Section { name, args, number });
                }
                _ => {
                    let (place, shown) = (String::new(), name.clone());
                    let d = Directive { place, name, shown, args, within: vec![], doubt: None };
                    assert!(access.take(&d, &within), "{line}");
                }
            }
        }
        access.end_section();
        let terms = Terms::default();
        (access.level(false, terms), access.level(true, terms))
    }

    #[test]
    fn members_are_named_where_nothing_else_counts() {
        let members = |lines: &[&str]| {
            let mut access = Access::default();
            for line in lines {
                let mut args = words(line);
                let name = args.remove(0).to_ascii_lowercase();
                let (place, shown) = (String::new(), name.clone());
                let d = Directive { place, name, shown, args, within: vec![], doubt: None };
                assert!(access.take(&d, &[]), "{line}");
            }
            access.end_section();
            access.members().map(|members| members.len())
        };
        assert_eq!(
            members(&["Require user ada bob", "Require ldap-group cn=My Devs,o=x"]),
            Some(3)
        );
        assert_eq!(members(&["Require user ada", "Require valid-user"]), None);
        assert_eq!(members(&["Require not user ada"]), None);
        assert_eq!(members(&["Require user"]), None);
        assert_eq!(members(&["Require group devs"]), None);
        assert_eq!(members(&[]), None);
    }

    #[test]
    fn who_may_what() {
        use Level::{None, Read, Write};
        for (text, anonymous, user) in [
            ("", Write, Write),
            ("Require all granted", Write, Write),
            ("Require all denied", None, None),
            ("Require valid-user", None, Write),
            ("Require user alice", None, None),
            ("Require ip 10", None, None),
            ("Require valid-user; Require ip 10", None, Write),
            ("<RequireAll; Require valid-user; Require not user bob; >", None, None),
            ("<RequireAll; Require all granted; Require not user bob; >", Write, None),
            (
                "<RequireAll; Require valid-user; <RequireAny; Require ip 1; Require all granted; >; >",
                None,
                Write,
            ),
            ("<RequireAll; Require valid-user; <RequireNone; Require ip 1; >; >", None, None),
            (
                "<RequireAny; <RequireAll; Require valid-user; Require ip 1; >; Require all denied; >",
                None,
                None,
            ),
            ("<LimitExcept GET OPTIONS PROPFIND REPORT; Require valid-user; >", Read, Write),
            ("<LimitExcept GET PROPFIND; Require valid-user; >", None, Write),
            ("<Limit POST; Require all denied; >", Read, Read),
            ("Require method GET OPTIONS PROPFIND REPORT", Read, Read),
            ("Require expr true", None, None),
            ("Require valid-user; Satisfy Any", Write, Write),
            ("Require valid-user; Satisfy Any; Deny from all", None, Write),
            ("Require valid-user; Satisfy Any; Deny from all; Allow from 10", None, Write),
            ("Satisfy Any; Order allow,deny; Require valid-user", None, Write),
            ("Order allow,deny; Allow from all", Write, Write),
            ("Order allow,deny; Allow from all; Deny from 10", None, None),
            ("Order deny,allow; Deny from all; Allow from all", Write, Write),
            ("Order mutual-failure; Allow from all", Write, Write),
            ("Order deny,allow; Deny from 10", None, None),
            ("Deny from all; Require valid-user", None, None),
            // Sections one after the other.
            ("Require valid-user; ---; Require all granted", Write, Write),
            ("Require all granted; ---; Require valid-user", None, Write),
            ("Require valid-user; ---; AuthMerging And; Require all granted", None, Write),
            ("Require valid-user; ---; AuthMerging Or; Require all granted", Write, Write),
            ("Require valid-user; ---; AuthMerging Off", Write, Write),
            ("Require valid-user; ---; AuthMerging And", None, Write),
            ("Deny from all; ---; Satisfy All", Write, Write),
            ("Require valid-user; ---; Deny from all; Satisfy Any", None, Write),
        ] {
            assert_eq!(levels(text), (anonymous, user), "{text}");
        }
    }
}
