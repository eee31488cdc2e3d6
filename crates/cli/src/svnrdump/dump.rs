//! `svnrdump dump`.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};

use sapwood_client::rdump::{DumpSink, dump};
use sapwood_core::{Revnum, SvnError, SvnResult};

use super::{open, range};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::output::stream_error;
use crate::report;

/// A stream that marks its errors as its own, and the progress lines.
struct Sink<W> {
    to: W,
    quiet: bool,
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).map_err(|e| match e.kind() {
            ErrorKind::Interrupted => e,
            _ => io::Error::other(stream_error(&e)),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush().map_err(|e| io::Error::other(stream_error(&e)))
    }
}

impl<W: Write> DumpSink for Sink<W> {
    fn dumped(&mut self, revision: Revnum) -> SvnResult<()> {
        if !self.quiet {
            // A revision is reported only after its records are written.
            self.flush().map_err(SvnError::from_stream)?;
            report::stderr(&format!("* Dumped revision {revision}.\n"));
        }
        Ok(())
    }
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "dump",
    aliases: &[],
    help: "usage: svnrdump dump URL [-r LOWER[:UPPER]]\n\n\
         Write revisions LOWER to UPPER (all; or only LOWER) of the repository at URL to\n\
         stdout as a dump stream with deltas.  The first revision is written whole,\n\
         unless --incremental says that only what is new in it is wanted.  Of a URL\n\
         below the repository's root only what is there is written.\n",
    options: &[name::REVISION, name::QUIET, name::INCREMENTAL, name::FILE],
    overrides: &[(name::FILE, "write to file ARG instead of stdout")],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let (session, _) = open(invocation, true)?;
    let session = session.as_ref();
    let range = range(&invocation.options, session.latest_revnum()?)?;
    let quiet = invocation.options.has(name::QUIET);
    let incremental = invocation.options.has(name::INCREMENTAL);
    let cancel = crate::signals::cancel_token();
    if let Some(path) = invocation.options.value(name::FILE)? {
        // As with the reference, which does not write over a file.
        let file = File::create_new(&path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{path}'")))?;
        let mut sink = Sink { to: BufWriter::with_capacity(64 << 10, file), quiet };
        dump(session, range, incremental, &cancel, &mut sink)?;
        return sink.flush().map_err(SvnError::from_stream);
    }
    let mut sink = Sink { to: &mut invocation.out, quiet };
    dump(session, range, incremental, &cancel, &mut sink)?;
    invocation.out.end_stream()
}
