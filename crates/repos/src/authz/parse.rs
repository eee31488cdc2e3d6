//! From the bytes of an authz file (and a global groups file) to the [`Model`].
//!
//! Error sentences are the reference's: administrators and hooks that run `svnauthz validate`
//! match them.

use sapwood_core::Exact;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sapwood_core::config::{self, Event};
use sapwood_core::{SvnError, SvnResult};

use super::model::{Access, Acl, Entry, GlobalRights, Groups, Model, Who, add_access};
use super::rule::{Rule, SectionName, invalid, parse_section_name, show};

/// An access entry as written, before groups and aliases are known. The key distinguishes entries of one
/// section: name, and whether inverted.
type Entries = BTreeMap<(Box<[u8]>, bool), Access>;

struct ParsedAcl {
    sequence: usize,
    rule: Rule,
    anonymous: Option<Access>,
    authenticated: Option<Access>,
    inverted: Option<Access>,
    entries: Entries,
}

impl ParsedAcl {
    fn new(sequence: usize, rule: Rule, access: Option<Access>) -> Self {
        Self {
            sequence,
            rule,
            anonymous: access,
            authenticated: access,
            inverted: access,
            entries: Entries::new(),
        }
    }
}

enum In {
    Nothing,
    Groups,
    Aliases,
    Rule,
}

/// A group: its `@name` and its members as written.
type Group = (Box<[u8]>, Vec<Box<[u8]>>);

/// A group being expanded: its index, the next member to look at, the users found so far.
type Expansion = (usize, usize, BTreeSet<Arc<[u8]>>);

struct Parser {
    global_groups: bool,
    sections: HashSet<Box<[u8]>>,
    section: Box<[u8]>,
    state: In,
    rules: HashMap<Rule, Box<[u8]>>,
    acls: Vec<ParsedAcl>,
    /// Members as written, by `@name`, in the order of the file.
    groups: Vec<Group>,
    group_index: HashMap<Box<[u8]>, usize>,
    /// User names by `&name`.
    aliases: HashMap<Box<[u8]>, Arc<[u8]>>,
    users: BTreeSet<Arc<[u8]>>,
}

/// Parses an authz file and, when there is one, the global groups file. `warn` receives what
/// is suspicious but no error.
///
/// # Errors
/// E220003 for invalid rules, E200002 for a syntax error.
pub(super) fn parse(
    rules: &[u8],
    groups: Option<&[u8]>,
    warn: &mut dyn FnMut(SvnError),
) -> SvnResult<Model> {
    let mut parser = Parser {
        global_groups: false,
        sections: HashSet::new(),
        section: Box::default(),
        state: In::Nothing,
        rules: HashMap::new(),
        acls: vec![ParsedAcl::new(0, Rule::root(), Some(Access::NONE))],
        groups: Vec::new(),
        group_index: HashMap::new(),
        aliases: HashMap::new(),
        users: BTreeSet::new(),
    };
    config::parse_events(rules, &mut |event| parser.event(&event))?;
    if let Some(groups) = groups {
        if !parser.groups.is_empty() {
            return Err(invalid(
                "Authz file cannot contain any groups when global groups are being used."
                    .to_owned(),
            ));
        }
        parser.sections.clear();
        parser.global_groups = true;
        config::parse_events(groups, &mut |event| parser.event(&event))?;
    }
    parser.finish(warn)
}

/// The first character as the reference prints it in a message; an empty name has none, and the
/// message then ends there.
fn begins_badly(what: &str, name: &[u8]) -> Option<SvnError> {
    match name.first() {
        None => Some(invalid(format!("{what} name '' may not begin with '"))),
        Some(first) if b"@$&*~".contains(first) => Some(invalid(format!(
            "{what} name '{}' may not begin with '{}'",
            show(name),
            char::from(*first)
        ))),
        Some(_) => None,
    }
}

fn decorated(mark: u8, name: &[u8]) -> Box<[u8]> {
    let mut out = Vec::with_capacity(name.len().plus(1));
    out.push(mark);
    out.extend_from_slice(name);
    out.into_boxed_slice()
}

impl Parser {
    fn event(&mut self, event: &Event<'_>) -> SvnResult<()> {
        match *event {
            Event::Open { section } => self.open_section(section),
            Event::Value { option: name, value, .. } => match self.state {
                In::Groups => self.add_group(name, value),
                In::Aliases => self.add_alias(name, value),
                In::Rule => self.add_entry(name, value),
                In::Nothing => Ok(()),
            },
            Event::Close => {
                self.state = In::Nothing;
                Ok(())
            }
        }
    }

    fn open_section(&mut self, section: &[u8]) -> SvnResult<()> {
        if !self.sections.insert(section.into()) {
            let place = if self.global_groups { "global groups" } else { "authz" };
            return Err(invalid(format!(
                "Section appears more than once in the {place} file: [{}]",
                show(section)
            )));
        }
        self.section = section.into();
        if !self.global_groups {
            match parse_section_name(section)? {
                SectionName::Rule(rule) => return self.open_rule(rule),
                SectionName::Aliases => {
                    self.state = In::Aliases;
                    return Ok(());
                }
                SectionName::Other => {}
            }
        }
        if section == b"groups" {
            self.state = In::Groups;
            return Ok(());
        }
        let place = if self.global_groups { "global group" } else { "authz" };
        Err(invalid(format!("Section is not valid in the {place} file: [{}]", show(section))))
    }

    fn open_rule(&mut self, rule: Rule) -> SvnResult<()> {
        if let Some(earlier) = self.rules.insert(rule.clone(), self.section.clone()) {
            return Err(invalid(format!(
                "Section [{}] describes the same rule as section [{}]",
                show(&self.section),
                show(&earlier)
            )));
        }
        self.acls.push(ParsedAcl::new(self.acls.len(), rule, None));
        self.state = In::Rule;
        Ok(())
    }

    fn add_group(&mut self, name: &[u8], value: &[u8]) -> SvnResult<()> {
        let global = self.global_groups;
        if let Some(error) = begins_badly(if global { "Global group" } else { "Group" }, name) {
            return Err(error);
        }
        let key = decorated(b'@', name);
        if self.group_index.contains_key(&key) {
            let place = if global { "global group" } else { "group" };
            return Err(invalid(format!("Can't override definition of {place} '{}'", show(&key))));
        }
        let members = value
            .split(|b| *b == b',')
            .map(config::trim)
            .filter(|m| !m.is_empty())
            .map(Box::from)
            .collect();
        self.group_index.insert(key.clone(), self.groups.len());
        self.groups.push((key, members));
        Ok(())
    }

    fn add_alias(&mut self, name: &[u8], value: &[u8]) -> SvnResult<()> {
        if let Some(error) = begins_badly("Alias", name) {
            return Err(error);
        }
        let key = decorated(b'&', name);
        if self.aliases.contains_key(&key) {
            return Err(invalid(format!("Can't override definition of alias '{}'", show(&key))));
        }
        let user: Arc<[u8]> = value.into();
        self.users.insert(user.clone());
        self.aliases.insert(key, user);
        Ok(())
    }

    fn add_entry(&mut self, option: &[u8], value: &[u8]) -> SvnResult<()> {
        let (inverted, name) = match option.strip_prefix(b"~") {
            Some(name) => (true, name),
            None => (false, option),
        };
        let (anonymous, authenticated) = all_of_a_kind(option, name, inverted)?;
        let access = parse_access(option, value, &self.section)?;
        let Some(acl) = self.acls.last_mut() else { return Ok(()) };
        if anonymous {
            add_access(&mut acl.anonymous, access);
        }
        if authenticated {
            add_access(&mut acl.authenticated, access);
        }
        if anonymous || authenticated {
            return Ok(());
        }
        let entry = acl.entries.entry((name.into(), inverted)).or_default();
        *entry |= access;
        if inverted {
            add_access(&mut acl.inverted, access);
        }
        if !matches!(name.first(), Some(b'&' | b'@')) {
            self.users.insert(name.into());
        }
        Ok(())
    }

    fn finish(mut self, warn: &mut dyn FnMut(SvnError)) -> SvnResult<Model> {
        let groups = self.expand_groups()?;
        let mut parsed = std::mem::take(&mut self.acls);
        parsed.sort_by(|a, b| a.rule.compare(&b.rule).then(a.sequence.cmp(&b.sequence)));
        // The built-in rule is replaced by the file's own rule for the root, which then says
        // something about all users.
        if let [built_in, own, ..] = parsed.as_mut_slice()
            && built_in.rule == own.rule
        {
            own.anonymous.get_or_insert_default();
            own.authenticated.get_or_insert_default();
            parsed.remove(0);
        }
        let mut model = Model {
            acls: Vec::with_capacity(parsed.len()),
            anonymous: None,
            authenticated: None,
            inverted: None,
            users: std::mem::take(&mut self.users),
        };
        for acl in parsed {
            let acl = self.finish_acl(acl, &groups, warn)?;
            for (total, own) in [
                (&mut model.anonymous, acl.anonymous),
                (&mut model.authenticated, acl.authenticated),
                (&mut model.inverted, acl.inverted),
            ] {
                if let Some(access) = own {
                    total.get_or_insert_with(GlobalRights::new).add(&acl.rule.repos, access);
                }
            }
            model.acls.push(acl);
        }
        Ok(model)
    }

    fn finish_acl(
        &self,
        acl: ParsedAcl,
        groups: &Groups,
        warn: &mut dyn FnMut(SvnError),
    ) -> SvnResult<Acl> {
        let mut entries = Vec::with_capacity(acl.entries.len());
        for ((name, inverted), access) in acl.entries {
            let who = match name.first() {
                Some(b'&') => Who::User(self.alias(&name)?),
                Some(b'@') => {
                    let Some(members) = groups.get(&name) else {
                        return Err(invalid(format!(
                            "Access entry refers to undefined group '{}'",
                            show(&name)
                        )));
                    };
                    if members.is_empty() {
                        warn(invalid(format!(
                            "Ignoring access entry for empty group '{}'",
                            show(&name)
                        )));
                        continue;
                    }
                    Who::Group(members.clone())
                }
                _ => Who::User(Arc::from(&*name)),
            };
            entries.push(Entry { who, inverted, access });
        }
        Ok(Acl {
            sequence: acl.sequence,
            rule: acl.rule,
            anonymous: acl.anonymous,
            authenticated: acl.authenticated,
            inverted: acl.inverted,
            entries,
        })
    }

    fn alias(&self, name: &[u8]) -> SvnResult<Arc<[u8]>> {
        self.aliases
            .get(name)
            .cloned()
            .ok_or_else(|| invalid(format!("Alias '{}' was never defined", show(name))))
    }

    /// Resolves groups of groups. Each group is finished once, after those it refers to.
    fn expand_groups(&mut self) -> SvnResult<Groups> {
        let mut done = Groups::new();
        let groups = std::mem::take(&mut self.groups);
        let mut names: HashMap<Box<[u8]>, Arc<[u8]>> = HashMap::new();
        for start in 0..groups.len() {
            // The groups being expanded, outermost first, each with what it has so far.
            let mut stack: Vec<Expansion> = Vec::new();
            stack.push((start, 0, BTreeSet::new()));
            let mut open = HashSet::from([start]);
            while let Some((group, next, members)) = stack.last_mut() {
                let Some((name, written)) = groups.get(*group) else { break };
                if done.contains_key(name) {
                    open.remove(group);
                    stack.pop();
                    continue;
                }
                let Some(member) = written.get(*next) else {
                    done.insert(name.clone(), Arc::new(std::mem::take(members)));
                    continue;
                };
                match member.first() {
                    Some(b'@') => {
                        if let Some(expanded) = done.get(member) {
                            members.extend(expanded.iter().cloned());
                        } else {
                            let Some(&inner) = self.group_index.get(member) else {
                                return Err(invalid(format!("Undefined group '{}'", show(member))));
                            };
                            if !open.insert(inner) {
                                return Err(invalid(format!(
                                    "Recursive definition of group '{}'",
                                    show(member)
                                )));
                            }
                            stack.push((inner, 0, BTreeSet::new()));
                            continue;
                        }
                    }
                    Some(b'&') => {
                        members.insert(self.alias(member)?);
                    }
                    _ => {
                        let user = names
                            .entry(member.clone())
                            .or_insert_with(|| Arc::from(&**member))
                            .clone();
                        self.users.insert(user.clone());
                        members.insert(user);
                    }
                }
                *next += 1;
            }
        }
        self.groups = groups;
        Ok(done)
    }
}

/// Whether an entry, whose name stands behind a `~` where it is inverted, is about all users that are not logged in, and about
/// all that are.
fn all_of_a_kind(option: &[u8], name: &[u8], inverted: bool) -> SvnResult<(bool, bool)> {
    let wrong = |why: &str| Err(invalid(format!("Access entry {why}")));
    match name {
        [b'~', ..] => wrong(&format!(
            "'{}' has more than one inversion; double negatives are not permitted",
            show(option)
        )),
        b"*" if inverted => wrong("'~*' will never match"),
        b"*" => Ok((true, true)),
        [b'*', ..] => wrong(&format!("'{}' is not valid; it must be a single '*'", show(option))),
        b"$anonymous" => Ok((!inverted, inverted)),
        b"$authenticated" => Ok((inverted, !inverted)),
        [b'$', ..] => wrong(&format!(
            "token '{}' is not valid; should be '$anonymous' or '$authenticated'",
            show(option)
        )),
        _ => Ok((false, false)),
    }
}

fn parse_access(option: &[u8], value: &[u8], section: &[u8]) -> SvnResult<Access> {
    let mut access = Access::NONE;
    for &byte in value {
        match byte {
            b'r' => access |= Access::READ,
            b'w' => access |= Access::WRITE,
            b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => {}
            other => {
                return Err(invalid(format!(
                    "The access mode '{}' in access entry '{}' of rule [{}] is not valid",
                    show(&[other]),
                    show(option),
                    show(section)
                )));
            }
        }
    }
    if access == Access::WRITE {
        return Err(invalid(format!(
            "Write-only access entry '{}' of rule [{}] is not valid",
            show(option),
            show(section)
        )));
    }
    Ok(access)
}
