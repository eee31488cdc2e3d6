//! `sapwood-bench report`.

use sapwood_bench::results::Results;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::command::{Invocation, Subcommand, name};
use super::output;

const HELP: &str = "\
usage: sapwood-bench report FILE...

Makes one report of the results that 'matrix --json' and 'heatup --json' wrote
to the FILEs: parts of a matrix that were measured one after the other.
";

pub(super) const COMMAND: Subcommand =
    Subcommand { name: "report", help: HELP, options: &[name::HTML, name::JSON, name::CSV], run };

/// `sapwood-bench report`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let mut all = Results::default();
    for path in invocation.take_args(1, usize::MAX)? {
        let text = std::fs::read_to_string(&path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{path}'")))?;
        let part = Results::from_json(&text).map_err(|e| {
            let message = format!("'{path}' does not hold results: {e}");
            SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, message)
        })?;
        all.add(part);
    }
    output::write(invocation, &all)
}
