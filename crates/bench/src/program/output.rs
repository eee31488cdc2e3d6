//! Where results go: tables to standard output, files where the options say.

use sapwood_bench::report::{page, tables};
use sapwood_bench::results::Results;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::command::{self, Invocation, name, print};

/// Prints the tables and writes the requested files.
pub(super) fn write(invocation: &mut Invocation, results: &Results) -> SvnResult<()> {
    let options = &invocation.options;
    if let Some(path) = options.value(name::JSON) {
        let text = results
            .to_json()
            .map_err(|e| SvnError::new(ErrorCode::BASE, format!("Can't write '{path}': {e}")))?;
        file(&path, &text)?;
    }
    if let Some(path) = options.value(name::CSV) {
        file(&path, &results.to_csv())?;
    }
    if let Some(path) = options.value(name::HTML) {
        file(&path, &page::page(results))?;
    }
    print(&tables::to_markdown(results))
}

pub(super) fn file(path: &str, text: &str) -> SvnResult<()> {
    std::fs::write(path, text)
        .map_err(|e| SvnError::io(&e, format_args!("Can't write to '{path}'")))
}

/// A line of progress.
pub(super) fn say(quiet: bool) -> impl FnMut(&str) {
    move |words| {
        if !quiet {
            command::say(words);
        }
    }
}
