//! `sapwood repo list`.

use std::path::Path;
use std::process::ExitCode;

use sapwood_core::SvnResult;
use sapwood_core::props::names as prop_names;

use super::bin::{self, Bin};
use crate::command::Options;
use crate::output::Output;

/// Prints the repositories of a folder by name, and what is in its bins. One that cannot be opened is printed with the
/// reason; then the exit code is 1.
pub(super) fn list(folder: &Path, out: &mut Output) -> SvnResult<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for path in crate::repo::repositories_in(folder)? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let state = state(&path).unwrap_or_else(|error| {
            code = ExitCode::FAILURE;
            let reason = crate::report::lines(&error, "").trim_end().replace('\n', " ");
            format!("cannot be read: {reason}")
        });
        out.text(&format!("{:<24} {state}\n", name.as_deref().unwrap_or("")))?;
    }
    for bin in Bin::ALL {
        for kept in bin::contents(folder, bin)? {
            let place = kept.path.strip_prefix(folder).unwrap_or(&kept.path);
            let word = if bin == Bin::Deleted { "deleted" } else { "archived" };
            out.text(&format!("{:<24} {word}, {}\n", kept.name, place.display()))?;
        }
    }
    Ok(code)
}

/// Engine and format, youngest revision and its date.
fn state(path: &Path) -> SvnResult<String> {
    let repository = crate::repo::open(&path.to_string_lossy(), &Options::default())?;
    let fs = repository.fs();
    let (engine, format) = (fs.engine().name().to_ascii_uppercase(), fs.format().number);
    let youngest = fs.youngest()?;
    let props = fs.revprops(youngest)?;
    let date = props.get(prop_names::DATE).map(|date| String::from_utf8_lossy(date).into_owned());
    let engine = format!("{engine} {format}");
    Ok(format!("{engine:<8} {:<8} {}", format!("r{youngest}"), date.as_deref().unwrap_or("-")))
}
