//! `sapwood install-links DIR`: links named after every Subversion program, leading to this one; with
//! `--man`, `--completions`, `--zsh` and `--fish` their manual pages and what shells complete, too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::OptionSpec;
use crate::getopt::{Item, Parser};
use crate::manual;
use crate::manual_pages::pages;
use crate::output::{self, Output};
use crate::program::Program;
use crate::report;

const SPECS: &[OptionSpec] = &[
    OptionSpec::value("man", None, "write manual pages below the folder ARG"),
    OptionSpec::value("completions", None, "write completions for bash to the folder ARG"),
    OptionSpec::value("zsh", None, "write completions for zsh to the folder ARG"),
    OptionSpec::value("fish", None, "write completions for fish to the folder ARG"),
    OptionSpec::value("target", None, "where the links lead (to this program)"),
    OptionSpec::flag("help", Some('h'), "show this help"),
];

#[derive(Default)]
struct Options {
    help: bool,
    links: Option<PathBuf>,
    man: Option<PathBuf>,
    completions: Option<PathBuf>,
    zsh: Option<PathBuf>,
    fish: Option<PathBuf>,
    target: Option<PathBuf>,
}

/// Makes the links of the programs; files of these names that are not links are left alone and reported.
pub(crate) fn run(args: Vec<OsString>, programs: &[Program]) -> ExitCode {
    let options = match parse(args) {
        Ok(options) => options,
        Err(words) => {
            report::stderr(&format!("sapwood install-links: {words}\n{}", help()));
            return ExitCode::FAILURE;
        }
    };
    if options.help {
        return output::print("sapwood", &help());
    }
    let mut out = Output::stdout();
    match install(&options, programs, &mut out).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::exit_error(&error, "sapwood: ");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text =
        "usage: sapwood install-links [OPTIONS] DIR\n\nLinks every program's name to this \
        program in the folder DIR.\n\nOptions:\n"
            .to_owned();
    text.extend(SPECS.iter().map(OptionSpec::line));
    text
}

fn parse(args: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut parser = Parser::new(SPECS, args);
    while let Some(item) = parser.next()? {
        match item {
            Item::Argument(dir) if options.links.is_none() => options.links = Some(dir.into()),
            Item::Argument(dir) => {
                return Err(format!("one DIR only, not '{}' too", dir.display()));
            }
            Item::Option(spec, value) => {
                let value = value.map(PathBuf::from);
                match spec.long {
                    "man" => options.man = value,
                    "completions" => options.completions = value,
                    "zsh" => options.zsh = value,
                    "fish" => options.fish = value,
                    "target" => options.target = value,
                    _ => options.help = true,
                }
            }
        }
    }
    let written = [&options.links, &options.man, &options.completions, &options.zsh, &options.fish];
    let nothing = written.iter().all(|dir| dir.is_none());
    if nothing && !options.help {
        return Err("a DIR is needed".to_owned());
    }
    Ok(options)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> SvnError {
    move |e| SvnError::io(&e, format_args!("Can't make '{}'", path.display()))
}

fn install(options: &Options, programs: &[Program], out: &mut Output) -> SvnResult<()> {
    if let Some(dir) = &options.links {
        links(dir, options.target.as_deref(), programs, out)?;
    }
    if let Some(dir) = &options.man {
        for page in pages(programs) {
            let dir = dir.join(format!("man{}", page.section));
            write(&dir, &format!("{}.{}", page.name, page.section), &page.text, out)?;
        }
    }
    for program in programs.iter().filter(|p| p.linked) {
        let Some(manual) = program.manual else { continue };
        let (name, manual) = (program.name, manual());
        if let Some(dir) = &options.completions {
            write(dir, name, &manual::completion::bash(name, &manual), out)?;
        }
        if let Some(dir) = &options.zsh {
            write(dir, &format!("_{name}"), &manual::completion::zsh(name, &manual), out)?;
        }
        if let Some(dir) = &options.fish {
            write(dir, &format!("{name}.fish"), &manual::completion::fish(name, &manual), out)?;
        }
    }
    Ok(())
}

fn links(
    dir: &Path,
    target: Option<&Path>,
    programs: &[Program],
    out: &mut Output,
) -> SvnResult<()> {
    let target = match target {
        Some(target) => target.to_owned(),
        None => std::env::current_exe().map_err(|e| SvnError::io(&e, "Can't find this program"))?,
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    for program in programs.iter().filter(|p| p.linked) {
        let link = dir.join(program.name);
        match std::fs::symlink_metadata(&link) {
            Ok(found) if found.is_symlink() => {
                std::fs::remove_file(&link).map_err(failed(&link))?
            }
            Ok(_) => {
                return Err(SvnError::new(
                    ErrorCode::ILLEGAL_TARGET,
                    format!("'{}' is there already and is not a link", link.display()),
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&link)(error)),
        }
        std::os::unix::fs::symlink(&target, &link).map_err(failed(&link))?;
        out.text(&format!("{} -> {}\n", link.display(), target.display()))?;
    }
    Ok(())
}

fn write(dir: &Path, name: &str, text: &str, out: &mut Output) -> SvnResult<()> {
    let path = dir.join(name);
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    std::fs::write(&path, text).map_err(failed(&path))?;
    out.text(&format!("{}\n", path.display()))
}
