//! The options of a measurement: which part of the matrix, which history, which systems' programs.

use std::path::{Path, PathBuf};

use sapwood_bench::axes::{Format, Selection, System};
use sapwood_bench::matrix::Plan;
use sapwood_bench::programs::Programs;
use sapwood_bench::repo::{MakeOptions, Profile};
use sapwood_bench::repositories::Source;
use sapwood_core::{SvnError, SvnResult};

use super::command::{Invocation, Name, Options, name};
use super::{bad_value, make_repo, parsed};

/// How large `--quick` makes a history without `--scale`.
const QUICK_SCALE: f64 = 0.05;
/// How often each run is made unless said otherwise.
pub(super) const REPEAT: u32 = 3;

/// The plan for a measurement in the folder that is its argument.
pub(super) fn plan(invocation: &mut Invocation) -> SvnResult<Plan> {
    let args = invocation.take_args(1, 1)?;
    let folder = PathBuf::from(args.first().map_or("", String::as_str));
    let options = &invocation.options;
    let reference = reference(options, "svnserve")?;
    let client = match options.value(name::CLIENT).as_deref() {
        Some("sapwood") => System::Sapwood,
        Some("reference") if reference.is_some() => System::Reference,
        Some("reference") => {
            return Err(bad_value(name::CLIENT, "reference", "it needs --against"));
        }
        Some(other) => return Err(bad_value(name::CLIENT, other, "use sapwood or reference")),
        None if reference.is_some() => System::Reference,
        None => System::Sapwood,
    };
    let (source, tree, file) = history(options)?;
    Ok(Plan {
        selection: selection(options)?,
        source,
        tree,
        file,
        folder,
        sapwood: own_programs(options)?,
        reference,
        client,
        repeat: parsed(options, name::REPEAT, "use a whole number")?.unwrap_or(REPEAT).max(1),
    })
}

/// The programs that `--against` names, of which `needed` must be one.
pub(super) fn reference(options: &Options, needed: &str) -> SvnResult<Option<Programs>> {
    let Some(path) = options.value(name::AGAINST) else { return Ok(None) };
    let programs = Programs::folder(System::Reference, Path::new(&path));
    if !programs.has(needed) {
        let missing = format!("there is no {needed} in that folder");
        return Err(bad_value(name::AGAINST, &path, &missing));
    }
    Ok(Some(programs))
}

/// The names under which the program is called.
const NAMES: [&str; 6] = ["svn", "svnserve", "svnadmin", "svnlook", "svnbench", "svnfsfs"];

/// The `sapwood` that is measured, as all programs: the one that `--program` names, or the one beside this
/// program.
pub(super) fn own_programs(options: &Options) -> SvnResult<Programs> {
    let program = match options.value(name::PROGRAM) {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()
            .map_err(|e| SvnError::io(&e, "Can't find the program that is running"))?
            .with_file_name("sapwood"),
    };
    // Children run in other folders.
    let program = program.canonicalize().map_err(|e| {
        let what = format!("Can't find the program '{}' (see --program)", program.display());
        SvnError::io(&e, what)
    })?;
    let names = NAMES.iter().map(|name| (*name).to_owned()).collect();
    Ok(Programs::single(System::Sapwood, &program, names))
}

fn selection(options: &Options) -> SvnResult<Selection> {
    let mut all = Selection::default();
    if options.has(name::QUICK) {
        all.formats = vec![Format::F6, Format::F8];
        all.caches = vec![sapwood_bench::axes::Caches::Medium];
    }
    let text = options.values(name::ONLY).join(",");
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    all.only(&names).map_err(|name| {
        let known = "use names of formats (f6, f7, f8, fsx), packing (packed, unpacked), access (svn, svn-sasl, svn-ssh, \
                     http, file), path rules (open, authz), caches (slow, medium, fast), states (cold, hot-os, hot-server), requests \
                     (log, null-log, export, null-export, null-blame, null-list, dump) and systems \
                     (sapwood, reference)";
        bad_value(name::ONLY, name, known)
    })
}

/// Where the history comes from, and what to ask of it.
fn history(options: &Options) -> SvnResult<(Source, String, String)> {
    let mut made: MakeOptions = make_repo::make_options(options)?;
    if options.has(name::QUICK) && !options.has(name::SCALE) {
        made.scale = QUICK_SCALE;
    }
    let (source, targets) = match options.value(name::REPOSITORY) {
        // The names that most projects have.
        Some(path) => (Source::Loaded(path.into()), Profile::find("ruby").map(|p| p.targets)),
        None => (Source::Made(made), Some(made.profile.targets)),
    };
    let fspath = |option: Name, other: Option<&str>| -> SvnResult<String> {
        let path = options.value(option).unwrap_or_else(|| other.unwrap_or("").to_owned());
        Ok(sapwood_core::path::canonical_fspath(&path).into_owned())
    };
    let tree = fspath(name::TREE, targets.map(|t| t.tree))?;
    let file = fspath(name::FILE, targets.map(|t| t.file))?;
    Ok((source, tree, file))
}
