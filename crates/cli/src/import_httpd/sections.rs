//! Which of a server's sections count for an address, and the locations that mod_dav_svn serves there.
//!
//! Sections for plain addresses are merged in order of the configuration. Patterns, `<If>` and others that could change
//! access are not evaluated: they close the locations that they may apply to.

use std::collections::{BTreeMap, BTreeSet};

use super::Note;
use super::known;
use super::parse::{Directive, Section};
use super::place::{Around, MergedSections, OF_SERVER, Repositories, TomlPlace, closed};
use super::servers::Server;
use super::words::{Pattern, is_pattern};

/// Directives that count for locations where they stand outside of sections, too.
const OF_PLACES: [&str; 17] = [
    "sslverifyclient",
    "sslusername",
    "ssloptions",
    "svnspecialuri",
    "svnautoversioning",
    "svnpathauthz",
    "svnlistparentpath",
    "svnallowbulkupdates",
    "svnadvertisev2protocol",
    "svnhooksenv",
    "svncachetextdeltas",
    "svncachefulltexts",
    "svncacherevprops",
    "svncachenodeprops",
    "svnblockread",
    "dontdothatconfigfile",
    "dontdothatdisallowreplay",
];

/// Why an alias closes what it is about.
const ALIAS: &str = "httpd has files there, and what it says of them";

/// A section for addresses that are written out.
#[derive(Debug)]
struct Plain<'d> {
    number: usize,
    /// Without a slash at its end.
    path: String,
    /// Whether it had one, and so is not for the address itself.
    below_only: bool,
    directives: Vec<(&'d Directive, &'d [Section])>,
}

/// What may change access, and where.
#[derive(Debug)]
struct Blocker {
    /// Everywhere, without one.
    pattern: Option<Pattern>,
    /// The address, without a slash at its end, if it is about that and all below it.
    path: Option<String>,
    note: Note,
}

/// The settings of a server at one address.
#[derive(Clone, Debug)]
pub(super) struct ImportedPlace {
    pub(super) written: TomlPlace,
    pub(super) served: Repositories,
    /// Why all access is refused.
    pub(super) closed: Vec<Note>,
    /// What else could not be converted.
    pub(super) notes: Vec<Note>,
}

/// A server's sections, sorted by what they are about.
#[derive(Debug, Default)]
pub(super) struct Sections<'d> {
    outside: Vec<(&'d Directive, &'d [Section])>,
    plain: Vec<Plain<'d>>,
    blockers: Vec<Blocker>,
}

/// Where a section for addresses is for, if that is certain.
enum Target {
    Plain {
        path: String,
        below_only: bool,
    },
    Pattern(Pattern),
    /// It is about no address of ours.
    Nothing,
}

fn target(section: &Section) -> Target {
    let args: Vec<&str> = section.args.iter().map(String::as_str).collect();
    match (section.name.as_str(), args.as_slice()) {
        ("location", ["~", regex]) | ("locationmatch", [regex]) => {
            Target::Pattern(Pattern::of_regex(regex))
        }
        ("location", [path]) if path.contains("${") => Target::Pattern(Pattern::of_regex("")),
        ("location", [path]) if !path.starts_with('/') => Target::Nothing,
        ("location", [path]) if is_pattern(path) => Target::Pattern(Pattern::of_file(path)),
        ("location", [path]) if is_odd(path) => {
            let begin = path.split("//").next().unwrap_or("").split("/.").next().unwrap_or("");
            Target::Pattern(Pattern::of_file(begin))
        }
        ("location", [path]) => Target::Plain {
            path: path.trim_end_matches('/').to_owned(),
            below_only: path.ends_with('/') && *path != "/",
        },
        _ => Target::Pattern(Pattern::of_regex("")),
    }
}

/// Whether a path has parts that no request has.
fn is_odd(path: &str) -> bool {
    path.contains("//") || path.split('/').any(|part| part == "." || part == "..")
}

fn is_within(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<'d> Sections<'d> {
    /// Sorts those of a server. `moved` says whether a redirect is taken over.
    pub(super) fn of(server: &Server<'d>, moved: impl Fn(&Directive) -> bool) -> Self {
        let mut found = Self::default();
        let is_on = |d: &&Directive| {
            d.name == "rewriteengine"
                && (d.doubt.is_some()
                    || d.args.first().is_none_or(|w| !w.eq_ignore_ascii_case("off")))
        };
        let rewrites = server.directives.iter().copied().any(|d| is_on(&d));
        for directive in &server.directives {
            let within = directive.within.as_slice();
            let within = match within.split_first() {
                Some((first, rest)) if first.name == "virtualhost" => rest,
                _ => within,
            };
            found.add(directive, within, rewrites, &moved);
        }
        found
    }

    fn add(
        &mut self,
        directive: &'d Directive,
        within: &'d [Section],
        rewrites: bool,
        moved: impl Fn(&Directive) -> bool,
    ) {
        let Some((section, inner)) = within.split_first() else {
            return self.add_outside(directive, rewrites, moved);
        };
        let says_nothing = known::is_harmless(&directive.name) || known::is_missed(&directive.name);
        match section.name.as_str() {
            "location" | "locationmatch" => match target(section) {
                Target::Plain { path, below_only } => {
                    let number = section.number;
                    match self.plain.iter_mut().find(|plain| plain.number == number) {
                        Some(plain) => plain.directives.push((directive, inner)),
                        None => self.plain.push(Plain {
                            number,
                            path,
                            below_only,
                            directives: vec![(directive, inner)],
                        }),
                    }
                }
                Target::Pattern(pattern) if !says_nothing => {
                    let why = "it stands in a section for a pattern of addresses";
                    self.block(Some(pattern), directive, why);
                }
                Target::Pattern(_) | Target::Nothing => {}
            },
            name if known::is_other_section(name) => {}
            name if !says_nothing => {
                let why = format!("it stands in <{name}>, which is not understood");
                self.block(None, directive, &why);
            }
            _ => {}
        }
    }

    fn block(&mut self, pattern: Option<Pattern>, directive: &Directive, why: &str) {
        let note = Note::of(directive, directive.doubt.as_deref().unwrap_or(why));
        self.blockers.push(Blocker { pattern, path: None, note });
    }

    /// The same for an address and what is below it.
    fn block_path(&mut self, path: &str, directive: &Directive, why: &str) {
        self.block(Some(Pattern::of_file(path)), directive, why);
        let is_plain = path.starts_with('/') && !is_pattern(path) && !is_odd(path);
        if let Some(blocker) = self.blockers.last_mut().filter(|_| is_plain) {
            blocker.path = Some(path.trim_end_matches('/').to_owned());
        }
    }

    /// A directive outside of all sections.
    fn add_outside(
        &mut self,
        directive: &'d Directive,
        rewrites: bool,
        moved: impl Fn(&Directive) -> bool,
    ) {
        let name = directive.name.as_str();
        let first = directive.args.first().map_or("", String::as_str);
        let second = directive.args.get(1).map_or("", String::as_str);
        match name {
            _ if OF_PLACES.contains(&name) => self.outside.push((directive, &[])),
            _ if known::is_harmless(name) || OF_SERVER.contains(&name) => {}
            // Said where the whole server is looked at.
            _ if known::is_missed(name) => {}
            "redirect" | "redirectmatch" | "redirectpermanent" | "redirecttemp" => {
                if directive.doubt.is_some() || !moved(directive) {
                    let why = "such a redirect is not there";
                    match directive.args.iter().find(|arg| arg.starts_with('/')) {
                        Some(from) if name != "redirectmatch" => {
                            self.block_path(from, directive, why)
                        }
                        _ => {
                            let pattern = redirected(&directive.args);
                            self.block(Some(pattern), directive, why);
                        }
                    }
                }
            }
            "rewriterule" => {
                let flags = directive.args.get(2).map_or("", String::as_str);
                if rewrites && !(second == "-" && are_harmless_flags(flags)) {
                    let pattern = if first.starts_with('!') { "" } else { first };
                    let why = "addresses are not rewritten here";
                    self.block(Some(Pattern::of_regex(pattern)), directive, why);
                }
            }
            "proxypass" if second == "!" => {}
            "proxypass" => self.block_path(first, directive, "requests are not handed on"),
            "alias" | "scriptalias" => self.block_path(first, directive, ALIAS),
            "aliasmatch" | "scriptaliasmatch" => {
                self.block(Some(Pattern::of_regex(first)), directive, ALIAS);
            }
            "proxypassmatch" => {
                self.block(Some(Pattern::of_regex(first)), directive, "requests are not handed on");
            }
            "requestheader" if directive.args.last().is_none_or(|word| word != "early") => {}
            _ if name.starts_with("authldap") || name.starts_with("authdb") => {}
            _ => self.block(None, directive, "it is not known here"),
        }
    }

    /// The merged settings of an address; with `exactly` only of that address, not of those below it.
    fn merged(&self, path: &str, exactly: bool, around: &Around<'_>) -> MergedSections {
        let mut merged = MergedSections::default();
        merged.take_section("*", &self.outside, around.root);
        for plain in &self.plain {
            let counts = is_within(path, &plain.path)
                && !(exactly && plain.below_only && plain.path == path);
            if counts {
                merged.take_section(&plain.path, &plain.directives, around.root);
            }
        }
        merged
    }

    /// All that mod_dav_svn serves, by address (the top is empty).
    pub(super) fn places(
        &self,
        around: &Around<'_>,
    ) -> (BTreeMap<String, ImportedPlace>, Vec<Note>) {
        let paths: BTreeSet<&str> = self.plain.iter().map(|plain| plain.path.as_str()).collect();
        let merged: BTreeMap<&str, MergedSections> =
            paths.iter().map(|path| (*path, self.merged(path, false, around))).collect();
        let own = |path: &str| {
            let (served, at) = merged.get(path)?.served_at()?;
            (at == path).then(|| served.clone())
        };
        let (mut found, mut notes) = (BTreeMap::new(), Vec::new());
        for (path, all) in &merged {
            let above = paths
                .iter()
                .rev()
                .find(|top| **top != *path && is_within(path, top) && own(top).is_some());
            let above = above.and_then(|top| Some((*top, merged.get(top)?, own(top)?)));
            let mut all = all.clone();
            let here = match (own(path), above) {
                (Some(served), _) => {
                    self.close((path, path), &mut all, around);
                    Some((served, true))
                }
                (None, Some((_, outer, _))) if all.is_like(outer) && !self.has_svn(path) => None,
                (None, Some((top, outer, served))) => {
                    Some(self.inner((path, &mut all), (top, outer, served), around))
                }
                (None, None) => {
                    if all.is_svn() {
                        notes.push(Note::new(
                            "",
                            "Location",
                            &format!("{path} has no SVNPath or SVNParentPath of its own"),
                        ));
                    }
                    None
                }
            };
            let Some((served, is_open)) = here else { continue };
            let written =
                if is_open { all.written(path, &served, around) } else { closed(path, &served) };
            let (closed, notes) = (all.closed, all.notes);
            found.insert((*path).to_owned(), ImportedPlace { written, served, closed, notes });
        }
        self.close_below(&own, &mut found);
        (found, notes)
    }

    /// Closes what is below a location, but not the location itself, where something could change access there.
    fn close_below(
        &self,
        own: &dyn Fn(&str) -> Option<Repositories>,
        found: &mut BTreeMap<String, ImportedPlace>,
    ) {
        for blocker in &self.blockers {
            let Some(path) = &blocker.path else { continue };
            let above = found.keys().rev().find(|top| is_within(path, top) && own(top).is_some());
            let Some(served) = above.filter(|top| *top != path).and_then(|top| own(top)) else {
                continue;
            };
            let place = found.entry(path.clone()).or_insert_with(|| ImportedPlace {
                written: closed(path, &served),
                served,
                closed: Vec::new(),
                notes: Vec::new(),
            });
            if !place.closed.contains(&blocker.note) {
                place.closed.push(blocker.note.clone());
            }
        }
    }

    /// Whether a section for an address has directives of mod_dav_svn.
    fn has_svn(&self, path: &str) -> bool {
        let of_svn = |d: &Directive| d.name == "dav" || d.name.starts_with("svn");
        let mut here = self.plain.iter().filter(|plain| plain.path == path);
        here.any(|plain| plain.directives.iter().any(|(directive, _)| of_svn(directive)))
    }

    /// A location within one that is served, with settings of its own: what it is of, and whether it can be open.
    fn inner(
        &self,
        (path, all): (&str, &mut MergedSections),
        (top, outer, served): (&str, &MergedSections, Repositories),
        around: &Around<'_>,
    ) -> (Repositories, bool) {
        let name = path.strip_prefix(top).unwrap_or("").trim_start_matches('/');
        let is_repository =
            served.is_folder && !name.is_empty() && !name.contains('/') && name != "!svn";
        let why = match () {
            () if !all.is_svn() => "mod_dav_svn does not answer there",
            () if self.has_svn(path) => {
                "what mod_dav_svn's directives say there counts only in part"
            }
            () if !all.differs_by_access(outer) => {
                "a place within another one has all but logins from it"
            }
            () if !is_repository => {
                "a place within a repository has no logins of its own; say it in the rules (authz)"
            }
            () => {
                self.close((path, top), all, around);
                return (served.inner(name), true);
            }
        };
        let place = self.plain.iter().find(|plain| plain.path == path);
        let place = place.and_then(|plain| plain.directives.first());
        all.closed.push(Note::new(place.map_or("", |(d, _)| &d.place), "Location", why));
        (served, false)
    }

    /// Closes a location where anything could change access. `top` is the address of the location that it belongs to.
    fn close(&self, (path, top): (&str, &str), all: &mut MergedSections, around: &Around<'_>) {
        let could = |blocker: &&Blocker| {
            let is_below =
                blocker.path.as_ref().is_some_and(|own| own != path && is_within(own, path));
            !is_below && blocker.pattern.as_ref().is_none_or(|pattern| pattern.could_match(path))
        };
        all.closed.extend(self.blockers.iter().filter(could).map(|blocker| blocker.note.clone()));
        if self.plain.iter().any(|plain| plain.below_only && plain.path == path) {
            let exactly = self.merged(path, true, around);
            if exactly.is_svn() && all.is_wider_than(&exactly, around) {
                let why = "the address itself and what is below it are not for the same users";
                all.closed.push(Note::new("", "Location", why));
            }
        }
        all.check(top, around);
    }
}

/// The addresses that a redirect by a pattern may match.
fn redirected(args: &[String]) -> Pattern {
    let from = args.iter().find(|arg| arg.starts_with('^')).map_or("", String::as_str);
    Pattern::of_regex(from)
}

/// Whether a rewriting that changes nothing has no other effect.
fn are_harmless_flags(flags: &str) -> bool {
    let flags = flags.trim_matches(['[', ']']);
    flags.split(',').map(str::trim).all(|flag| {
        let name = flag.split(['=', '|']).next().unwrap_or("").to_ascii_lowercase();
        matches!(
            &*name,
            "" | "l" | "last" | "pt" | "passthrough" | "nc" | "nocase" | "end" | "e" | "env"
        )
    })
}
