//! `svn list`.

use jiff::tz::TimeZone;
use sapwood_client::list::{Entry, Request, list};
use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact;
use sapwood_core::fold::fold;
use sapwood_core::paths::UrlBuf;
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult, path};
use sapwood_ra::{Dirent, DirentFields, Lock};

use super::options::Opt;
use super::out::Out;
use super::targets::local_style;
use super::{Command, Invocation, size, xml_out};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::user_date;
use crate::xml::{self, Tag};

pub(super) const COMMAND: Command = Command {
    name: "list",
    aliases: &["ls"],
    help: "List directory entries in the repository.\n\
        usage: list [TARGET[@REV]...]\n\
        \n  \
        List what is in each TARGET, or name it if it is a file. A TARGET in a working copy means\n  \
        its URL in the repository. Without TARGET: the current folder.\n\
        \n  \
        With -v: revision and author of the last change, O for what is locked, size, date and\n  \
        name. With --search only names that match the pattern: * is any text, ? any character,\n  \
        [abc] any of these; with -R it looks into all folders below.\n",
    options: &[
        Opt::Revision,
        Opt::Verbose,
        Opt::Recursive,
        Opt::HumanReadable,
        Opt::Depth,
        Opt::Incremental,
        Opt::Xml,
        Opt::IncludeExternals,
        Opt::Search,
    ],
    overrides: &[(
        Opt::HumanReadable,
        "with --verbose, sizes with units (B, K, M, G, T, P,\n                             \
     E), for people",
    )],
    run,
    ..Command::DEFAULT
};

/// How entries are shown.
struct Printer {
    out: Out,
    verbose: bool,
    units: bool,
    zone: TimeZone,
    now: Timestamp,
    /// How wide the column of authors is, and may become.
    width: (usize, usize),
    /// The external that is being listed: the URL that defines it, and its location.
    external: Option<(UrlBuf, String)>,
}

impl Printer {
    fn new(invocation: &Invocation) -> Self {
        let units = invocation.has(Opt::HumanReadable);
        Self {
            out: invocation.out.clone(),
            verbose: invocation.has(Opt::Verbose),
            units,
            zone: user_date::zone(),
            now: user_date::now(),
            width: if units { (14, 22) } else { (8, 16) },
            external: None,
        }
    }

    /// Whether an entry is the first one of an external.
    fn begins(&mut self, entry: &Entry<'_>) -> bool {
        let Some(source) = entry.external else { return false };
        let (url, target) = (source.parent_url.to_owned(), source.target.to_owned());
        let new = Some((url, target));
        let begins = self.external != new;
        self.external = new;
        begins
    }

    fn text(&mut self, entry: &Entry<'_>) -> SvnResult<()> {
        let dirent = entry.dirent;
        let is_dir = dirent.kind == Some(NodeKind::Dir);
        let name = match entry.path {
            "" if !is_dir => path::basename(entry.base),
            "" if self.verbose => ".",
            "" => return Ok(()),
            path => path,
        };
        if self.begins(entry)
            && let Some((url, target)) = &self.external
        {
            self.out.text(&format!("Listing external '{target}' defined on '{url}':\n"))?;
        }
        let slash = if is_dir { "/" } else { "" };
        if !self.verbose {
            return self.out.text(&format!("{name}{slash}\n"));
        }
        let author = dirent.last_author.as_deref().unwrap_or(" ? ");
        let (width, most) = &mut self.width;
        if dirent.last_author.is_some() && author.len() > *width {
            *width = author.len().min(*most);
        }
        // Columns are as many bytes wide, as C's are.
        let mut end = author.len().min(*width);
        while !author.is_char_boundary(end) {
            end = end.minus(1);
        }
        let shown = author.get(..end).unwrap_or(author);
        let blanks = " ".repeat(width.saturating_sub(shown.len()));
        let size = match (dirent.kind, self.units) {
            (Some(NodeKind::File), true) => size::with_unit(dirent.size.unwrap_or(0), false),
            (Some(NodeKind::File), false) => size::plain(dirent.size.unwrap_or(0)),
            _ => String::new(),
        };
        let size_width = if self.units { 4 } else { 10 };
        self.out.text(&format!(
            "{:>7} {shown}{blanks} {} {size:>size_width$} {:>12} {name}{slash}\n",
            dirent.created_rev.0,
            if entry.lock.is_some() { 'O' } else { ' ' },
            self.date(dirent.time.unwrap_or_default()),
        ))
    }

    /// Month, day, and the time, or for what is not within half a year the year.
    fn date(&self, at: Timestamp) -> String {
        const HALF_A_YEAR: u64 = 365 * 86_400 / 2 * 1_000_000;
        let near = self.now.0.abs_diff(at.0) < HALF_A_YEAR;
        let form = if near { "%b %d %H:%M" } else { "%b %d  %Y" };
        let local = jiff::Timestamp::from_microsecond(at.0)
            .map(|at| at.to_zoned(self.zone.clone()).strftime(form).to_string());
        // The last two days of the year 9999 have no local time; they are shown as UTC has them.
        local.unwrap_or_else(|_| {
            let utc = at.to_string();
            let date = utc.split('T').next().unwrap_or_default();
            let civil = date.parse::<jiff::civil::Date>();
            civil.map_or_else(|_| date.to_owned(), |date| date.strftime("%b %d  %Y").to_string())
        })
    }

    fn xml(&mut self, entry: &Entry<'_>) -> SvnResult<()> {
        let is_dir = entry.dirent.kind == Some(NodeKind::Dir);
        let name = match entry.path {
            "" if is_dir => return Ok(()),
            "" => path::basename(entry.base),
            path => path,
        };
        let mut text = String::new();
        let inside = self.external.is_some();
        if self.begins(entry)
            && let Some((url, target)) = &self.external
        {
            if inside {
                xml::close(&mut text, "external");
            }
            let attributes = [("parent_url", url.as_str()), ("target", target.as_str())];
            xml::open(&mut text, "external", Tag::Normal, &attributes);
        }
        xml_entry(&mut text, name, entry.dirent, entry.lock);
        self.out.bytes(text.as_bytes())
    }
}

fn xml_entry(text: &mut String, name: &str, dirent: &Dirent, lock: Option<&Lock>) {
    let kind = dirent.kind.map_or("none", NodeKind::word);
    xml::open(text, "entry", Tag::Normal, &[("kind", kind)]);
    xml_out::text_element(text, "name", name);
    if let (Some(NodeKind::File), Some(size)) = (dirent.kind, dirent.size) {
        xml_out::text_element(text, "size", &size.to_string());
    }
    let date = dirent.time.filter(|at| at.0 != 0).map(|at| at.to_string());
    let revision = dirent.created_rev.to_string();
    xml_out::commit(text, &revision, dirent.last_author.as_deref(), date.as_deref());
    if let Some(lock) = lock {
        xml_out::lock(text, lock);
    }
    xml::close(text, "entry");
}

fn check(invocation: &Invocation) -> SvnResult<()> {
    let wrong = match invocation.has(Opt::Xml) {
        true if invocation.has(Opt::Verbose) => "--verbose is not valid in --xml mode",
        true if invocation.has(Opt::HumanReadable) => "--human-readable is not valid in --xml mode",
        false if invocation.has(Opt::Incremental) => "--incremental is only valid in --xml mode",
        _ => return Ok(()),
    };
    Err(usage_error(wrong))
}

/// The patterns to search for.
fn patterns(invocation: &Invocation) -> SvnResult<Vec<String>> {
    let one = |group: &Vec<String>| match group.as_slice() {
        [pattern] => Ok(fold(pattern)),
        _ => Err(usage_error("'search-and' option is not supported")),
    };
    invocation.opt.search.iter().map(one).collect()
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets_or_here()?;
    check(invocation)?;
    let xml = invocation.has(Opt::Xml);
    let whole = xml && !invocation.has(Opt::Incremental);
    let out = invocation.out.clone();
    if whole {
        xml_out::header(&out, "lists")?;
    }
    let patterns = patterns(invocation)?;
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let verbose = xml || invocation.has(Opt::Verbose);
    let fields = if verbose {
        DirentFields { has_props: false, ..DirentFields::ALL }
    } else {
        DirentFields { kind: true, ..DirentFields::default() }
    };
    let mut printer = Printer::new(invocation);
    let mut missing = false;
    invocation.announce(&targets);
    for arg in targets {
        invocation.ctx.check_cancel()?;
        let target = invocation.target(Part::Target, &arg)?;
        let request = Request {
            target: &target.text,
            peg: target.peg,
            revision: invocation.opt.revision(),
            patterns: (!patterns.is_empty()).then_some(&patterns),
            depth: invocation.opt.depth_or(Depth::Immediates),
            fields,
            locks: verbose,
            externals: invocation.has(Opt::IncludeExternals),
        };
        missing |= !one_target(invocation, &mut printer, &request)?;
    }
    if whole {
        xml_out::footer(&out, "lists")?;
    }
    let externals = invocation.check_externals();
    if missing {
        let error = SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            "Could not list all targets because some targets don't exist",
        );
        return Err(match externals {
            Err(failed) => failed.with_cause(error),
            Ok(()) => error,
        });
    }
    externals
}

/// Prints one target. False when there is no such target.
fn one_target(
    invocation: &Invocation,
    printer: &mut Printer,
    request: &Request<'_>,
) -> SvnResult<bool> {
    let (out, xml) = (&invocation.out, invocation.has(Opt::Xml));
    if xml {
        let mut text = String::new();
        let path = local_style(request.target);
        xml::open(&mut text, "list", Tag::Normal, &[("path", path)]);
        out.bytes(text.as_bytes())?;
    }
    printer.external = None;
    let listed = list(&invocation.ctx, request, &mut |entry| {
        if xml { printer.xml(entry) } else { printer.text(entry) }
    });
    let is_there = match listed {
        Err(error) if error.is_no_target() => {
            out.warn(&error);
            false
        }
        other => {
            other?;
            true
        }
    };
    if xml {
        let mut text = String::new();
        if printer.external.is_some() {
            xml::close(&mut text, "external");
        }
        xml::close(&mut text, "list");
        out.bytes(text.as_bytes())?;
    }
    Ok(is_there)
}
