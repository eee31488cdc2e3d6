//! `sapwood import-httpd-conf FILE`: the configuration of `sapwood serve` that does what httpd's
//! does for mod_dav_svn and mod_authz_svn, on standard output; and on standard error what
//! could not be converted. `docs/serve.md` has the table of all directives.
//!
//! Invariant: no user gets more than httpd gives. An unknown directive in or around a location
//! closes it, and the exit code says so.
//! Values of directives are never printed in notes: they may be passwords.

mod access;
mod certificates;
mod conditions;
#[cfg(test)]
mod directives;
mod directory;
mod include;
mod kerberos;
mod known;
mod macros;
mod parse;
mod place;
mod sections;
mod servers;
#[cfg(test)]
mod tests;
mod whole;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::OptionSpec;
use crate::getopt::{Item, Parser};
use crate::{output, report};
use certificates::Trust;
use conditions::{Conditions, HttpdFacts};
use directory::TomlDirectory;
use parse::{Directive, Reader};
use place::Around;
use sections::{ImportedPlace, Sections};
use servers::Server;
use words::{in_comment, quoted};

const SPECS: &[OptionSpec] = &[
    OptionSpec::value("modules", None, ""),
    OptionSpec::value("defines", None, ""),
    OptionSpec::value("httpd-version", None, ""),
    OptionSpec::value("server-root", None, ""),
    OptionSpec::value("virtual-host", None, ""),
    OptionSpec::flag("help", Some('h'), ""),
];

const HELP: &str = "\
usage: sapwood import-httpd-conf [OPTIONS] FILE

Reads the configuration of an Apache httpd that serves repositories with mod_dav_svn, with what it
includes, and writes a configuration for 'sapwood serve --config' to standard output. No user gets
more than httpd gives: where something in or around a place is not understood, nobody is let in
there. What could not be taken over is said on standard error, with its file and line, and what
closes a place stands as a comment in the new file, too. Look at both before you use it, and try
'sapwood serve --config NEW --check'.

Exit code: 0 when all was taken over, 1 when something was left out or closed, 2 when nothing was
written.

Options:
  --modules LIST     all modules of httpd, separated by commas, or @FILE with what 'apache2ctl -M'
                     says; they decide <IfModule>. Without it FILE's own LoadModule and httpd's
                     programs on this machine say it
  --defines LIST     all names that httpd is started with (-D), or nothing; they decide <IfDefine>
  --httpd-version N  httpd's version, for <IfVersion>
  --server-root DIR  what relative names are relative to, if FILE has no ServerRoot
  --virtual-host NAME[:PORT]
                     take over this virtual host only
  -h [--help]        show this help
";

/// Folders of httpd's own configuration.
const SYSTEM: [&str; 3] = ["/etc/apache2", "/etc/httpd", "/usr/local/apache2/conf"];

/// The exit code when something was left out.
const LEFT_OUT: u8 = 1;
/// The exit code when nothing was written.
const NOTHING: u8 = 2;

/// A directive that could not be converted, and its location in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Note {
    place: String,
    name: String,
    why: String,
}

impl Note {
    fn new(place: &str, name: &str, why: &str) -> Self {
        Self { place: place.to_owned(), name: name.to_owned(), why: why.to_owned() }
    }

    /// A note about a directive: its name only, because its value may be a secret.
    fn of(directive: &Directive, why: &str) -> Self {
        Self::new(&directive.place, &directive.shown, why)
    }

    fn text(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!("{}: ", self.place) };
        in_comment(&format!("{place}{}: {}", self.name, self.why))
    }
}

#[derive(Debug, Default)]
struct Options {
    given: HttpdFacts,
    root: Option<PathBuf>,
    host: Option<String>,
    path: Option<PathBuf>,
    help: bool,
}

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let options = match parse_options(args) {
        Ok(options) => options,
        Err(words) => {
            report::stderr(&format!("sapwood import-httpd-conf: {words}\n"));
            report::stderr("Type 'sapwood import-httpd-conf --help' for usage.\n");
            return ExitCode::from(NOTHING);
        }
    };
    if options.help {
        return output::print("sapwood import-httpd-conf", HELP);
    }
    match import(&options) {
        Ok((text, notes)) => {
            for note in &notes {
                report::stderr(&format!("sapwood import-httpd-conf: {note}\n"));
            }
            let printed = output::print("sapwood import-httpd-conf", &text);
            if notes.is_empty() || printed != ExitCode::SUCCESS {
                return printed;
            }
            ExitCode::from(LEFT_OUT)
        }
        Err(error) => {
            report::exit_error(&error, "sapwood import-httpd-conf: ");
            ExitCode::from(NOTHING)
        }
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    crate::manual::Manual::of_help(HELP)
}

fn parse_options(args: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut parser = Parser::new(SPECS, args);
    while let Some(item) = parser.next()? {
        let (name, value) = match item {
            Item::Argument(path) if options.path.is_none() => {
                options.path = Some(path.into());
                continue;
            }
            Item::Argument(_) => return Err("one FILE is needed".to_owned()),
            // Flags have none.
            Item::Option(spec, value) => (spec.long, value.unwrap_or_default()),
        };
        let text = value.to_string_lossy().into_owned();
        match name {
            "help" => options.help = true,
            "modules" => options.given.modules = Some(modules(&text)?),
            "defines" => options.given.defines = Some(list(&text)),
            "httpd-version" => options.given.version = Some(text),
            "server-root" => options.root = Some(value.into()),
            _ => options.host = Some(text),
        }
    }
    if options.path.is_none() && !options.help {
        return Err("one FILE is needed".to_owned());
    }
    Ok(options)
}

fn list(text: &str) -> Vec<String> {
    let words = text.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// A list of modules, or the name of a file with what `apache2ctl -M` says.
fn modules(text: &str) -> Result<Vec<String>, String> {
    let Some(file) = text.strip_prefix('@') else { return Ok(list(text)) };
    let bytes = crate::input::contents(file).map_err(|e| e.message().to_owned())?;
    let listed = conditions::listed_modules(&String::from_utf8_lossy(&bytes));
    if listed.is_empty() { Err(format!("'{file}' names no modules")) } else { Ok(listed) }
}

/// The folder that relative names are relative to, where no `ServerRoot` says it: that of httpd's main file.
fn server_root(path: &Path) -> PathBuf {
    let has_main = |folder: &&Path| {
        ["apache2.conf", "httpd.conf", "conf/httpd.conf"]
            .iter()
            .any(|name| folder.join(name).is_file())
    };
    let above = path.ancestors().skip(1).find(has_main).or_else(|| path.parent());
    above.unwrap_or(Path::new("/")).to_owned()
}

/// The variables that httpd is started with, as Debian has them.
fn environment(root: &Path) -> SvnResult<HashMap<String, String>> {
    for file in [root.join("envvars"), PathBuf::from("/etc/apache2/envvars")] {
        if let Some(bytes) = crate::input::contents_if_there(&file)? {
            return Ok(conditions::exported(&String::from_utf8_lossy(&bytes)));
        }
    }
    Ok(HashMap::new())
}

/// Reads a configuration: once to see what it loads and defines, and then as httpd does.
fn read(options: &Options, path: &Path) -> SvnResult<Reader> {
    let root = options.root.clone().unwrap_or_else(|| server_root(path));
    let variables = environment(&root)?;
    let mut first = Conditions::unknown();
    first.set_environment(variables.clone());
    let mut look = Reader::new(first, root.clone());
    look.read(path, 0)?;
    let sets: HashSet<String> = look.sets;
    let is_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
    let mut known = Conditions::new(&options.given, look.loads, is_system, &sets);
    known.set_environment(variables);
    let mut reader = Reader::new(known, root);
    reader.read(path, 0)?;
    Ok(reader)
}

/// The new configuration, and what could not be taken over.
fn import(options: &Options) -> SvnResult<(String, Vec<String>)> {
    let path = options.path.as_deref().unwrap_or(Path::new(""));
    let full = std::path::absolute(path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't find '{}'", path.display())))?;
    let reader = read(options, &full)?;
    let all = servers::servers(&reader.directives);
    let mut notes = Vec::new();
    let chosen = choose(options, &all, &reader.root, &mut notes)?;
    let (servers, places): (Vec<&Server<'_>>, Vec<_>) = chosen.into_iter().unzip();
    let places = combined(&servers, places);
    if places.is_empty() {
        let message = format!("'{}' has no <Location> with 'DAV svn'", path.display());
        return Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message));
    }
    let mut text = format!(
        "# Made by 'sapwood import-httpd-conf' of {}\n",
        in_comment(&path.display().to_string())
    );
    whole::settings((&servers, &reader.root), &places, &mut text, &mut notes);
    let directories = directories(&places);
    places.values().for_each(|place| write_place(place, &directories, &mut text));
    for (number, directory) in directories.iter().enumerate() {
        let name = quoted(&directory_name(number));
        let _ = write!(text, "\n[[directory]]\nname = {name}\n{}\n", directory.lines.join("\n"));
    }
    notes.extend(notes_of(&places));
    whole::write_redirects(&servers, &mut text, &mut notes);
    Ok((text, notes))
}

/// Writes a location, and the reason if it is closed.
fn write_place(place: &ImportedPlace, directories: &[&TomlDirectory], text: &mut String) {
    text.push('\n');
    for reason in &place.closed {
        let _ = writeln!(text, "# {}", reason.text());
    }
    if !place.closed.is_empty() {
        text.push_str("# Nobody is let in here until this is solved otherwise.\n");
    }
    let _ = write!(text, "[[location]]\n{}\n", place.written.lines.join("\n"));
    let own = place.written.directory.as_ref();
    let number = own.and_then(|own| directories.iter().position(|directory| *directory == own));
    if let Some(number) = number {
        let _ = writeln!(text, "directory = {}", quoted(&directory_name(number)));
    }
}

/// The directories of all locations, each once.
fn directories(places: &PlacesByUrl) -> Vec<&TomlDirectory> {
    let mut found: Vec<&TomlDirectory> = Vec::new();
    for directory in places.values().filter_map(|place| place.written.directory.as_ref()) {
        if !found.contains(&directory) {
            found.push(directory);
        }
    }
    found
}

/// The name of a directory in the new configuration.
fn directory_name(number: usize) -> String {
    if number == 0 { "directory".to_owned() } else { format!("directory-{}", number.plus(1)) }
}

/// The notes about the locations; a note that several of them share appears once.
fn notes_of(places: &PlacesByUrl) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (url, place) in places {
        let shown = if url.is_empty() { "/".to_owned() } else { in_comment(url) };
        let closing = place.closed.iter().map(|note| (note.text(), Some(&shown)));
        for (text, url) in closing.chain(place.notes.iter().map(|note| (note.text(), None))) {
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, urls)) => urls.extend(url.cloned()),
                None => found.push((text, url.cloned().into_iter().collect())),
            }
        }
    }
    let line = |(text, urls): (String, Vec<String>)| match urls.is_empty() {
        true => text,
        false => format!(
            "{text}: nobody is let in at {} until this is solved otherwise",
            urls.join(", ")
        ),
    };
    found.into_iter().map(line).collect()
}

type PlacesByUrl = BTreeMap<String, ImportedPlace>;

/// The servers with locations of mod_dav_svn, and these locations.
fn choose<'s, 'd>(
    options: &Options,
    all: &'s [Server<'d>],
    root: &Path,
    notes: &mut Vec<String>,
) -> SvnResult<Vec<(&'s Server<'d>, PlacesByUrl)>> {
    // The authorities of client certificates are for the whole server here.
    let trusts: Vec<Trust> = all.iter().map(|server| Trust::of(root, server.outside())).collect();
    let taken = trusts.iter().find(|trust| trust.is_some());
    let mut found = Vec::new();
    for (server, trust) in all.iter().zip(&trusts) {
        if options.host.as_deref().is_some_and(|wanted| !server.is_named(wanted)) {
            continue;
        }
        let sections = Sections::of(server, |directive| whole::moved(directive).is_some());
        let around = Around { root, trust, taken, tls: server.is_tls_only() };
        let (places, more) = sections.places(&around);
        if places.is_empty() {
            notes.extend(more.iter().map(Note::text));
            continue;
        }
        if server.is_reached {
            found.push((server, places));
        } else if !server.place.is_empty() {
            notes.push(format!(
                "{}: VirtualHost: no Listen leads to it, so it is left out",
                server.place
            ));
        }
    }
    if let [(server, _)] = found.as_slice()
        && options.host.is_none()
        && !server.place.is_empty()
        && all.iter().any(|other| other.place != server.place && other.meets(server))
    {
        notes.push(format!("{}: VirtualHost: ours answers by any name", server.place));
    }
    let wanted = options.host.as_deref().filter(|_| found.is_empty());
    match wanted {
        Some(wanted) => {
            let message = format!("there is no virtual host '{wanted}' with 'DAV svn'");
            Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message))
        }
        None => Ok(found),
    }
}

/// The locations of all servers: ours does not ask by which name or address it is called, so that what is not the same
/// on all of them is closed.
fn combined(servers: &[&Server<'_>], mut places: Vec<PlacesByUrl>) -> PlacesByUrl {
    let urls: BTreeSet<String> = places.iter().flat_map(|places| places.keys().cloned()).collect();
    let mut all = PlacesByUrl::new();
    for url in urls {
        let here: Vec<Option<ImportedPlace>> =
            places.iter_mut().map(|places| places.remove(&url)).collect();
        let differ = here.windows(2).any(|pair| {
            let written = pair.iter().map(|found| found.as_ref().map(|found| &found.written));
            written.collect::<HashSet<_>>().len() > 1
        });
        let Some(mut found) = here.into_iter().flatten().next() else { continue };
        if differ {
            found.written = place::closed(&url, &found.served);
            let names: Vec<String> = servers.iter().map(|server| server.display_name()).collect();
            let why = format!(
                "{} differ there (--virtual-host takes over one of them)",
                names.join(", ")
            );
            found.closed.push(Note::new("", "VirtualHost", &why));
        }
        all.insert(url, found);
    }
    all
}
