//! `svnadmin load`.

use std::io::{BufRead, BufReader};

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_repos::load::{LoadEvent, LoadOptions, UuidAction, load};

use crate::command::{Invocation, Options, Runner, Subcommand, name, usage_error};
use crate::output::Output;
use crate::revision::RevisionSpec;

/// Bytes of the stream that are read at once.
const BUFFER: usize = 256 << 10;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "load",
    aliases: &[],
    help: "usage: svnadmin load REPOS_PATH\n\n\
         Read a dump stream from stdin and commit its revisions.  An empty repository\n\
         takes the stream's UUID.  Progress goes to stdout.  With -r, only revisions\n\
         of the stream in that range are loaded.\n",
    options: &[
        name::QUIET,
        name::REVISION,
        name::IGNORE_UUID,
        name::FORCE_UUID,
        name::IGNORE_DATES,
        name::USE_PRE_COMMIT_HOOK,
        name::USE_POST_COMMIT_HOOK,
        name::PARENT_DIR,
        name::NORMALIZE_PROPS,
        name::BYPASS_PROP_VALIDATION,
        name::MEMORY_CACHE_SIZE,
        name::NO_FLUSH_TO_DISK,
        name::FILE,
    ],
    overrides: super::FROM_FILE,
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let load_options = LoadOptions {
        range: range(options)?,
        uuid: if options.has(name::FORCE_UUID) {
            UuidAction::Force
        } else if options.has(name::IGNORE_UUID) {
            UuidAction::Ignore
        } else {
            UuidAction::Default
        },
        parent_dir: options.value(name::PARENT_DIR)?.map(|dir| FsPathBuf::canonicalize(&dir)),
        bypass_validation: options.has(name::BYPASS_PROP_VALIDATION),
        ignore_dates: options.has(name::IGNORE_DATES),
        normalize_props: options.has(name::NORMALIZE_PROPS),
        no_flush: options.has(name::NO_FLUSH_TO_DISK),
        pre_commit_hook: options.has(name::USE_PRE_COMMIT_HOOK),
        post_commit_hook: options.has(name::USE_POST_COMMIT_HOOK),
    };
    let repository = crate::repo::open(&invocation.repository, options)?;
    let input = input(options)?;
    let quiet = options.has(name::QUIET);
    let out = &mut invocation.out;
    let mut notify = |event: LoadEvent<'_>| if quiet { Ok(()) } else { print_event(out, event) };
    load(&repository, input, load_options, &mut notify, &crate::signals::cancel_token())
        .map_err(explain)
}

/// The stream that the options name: a file, or standard input.
pub(super) fn input(options: &Options) -> SvnResult<Box<dyn BufRead + Send>> {
    Ok(match options.value(name::FILE)? {
        Some(file) => Box::new(BufReader::with_capacity(BUFFER, crate::input::open_named(&file)?)),
        None => Box::new(BufReader::with_capacity(BUFFER, std::io::stdin())),
    })
}

/// The first and last revision of the stream to load.
pub(super) fn range(options: &Options) -> SvnResult<Option<(u64, u64)>> {
    let number = |spec: RevisionSpec| match spec {
        RevisionSpec::Number(revision) => Ok(Some(revision.0)),
        RevisionSpec::Unspecified => Ok(None),
        _ => Err(usage_error("Non-numeric revision specified")),
    };
    let (start, end) = (number(options.revision.start)?, number(options.revision.end)?);
    let Some((first, last)) = start.or(end).zip(end.or(start)) else { return Ok(None) };
    if first > last {
        return Err(usage_error("First revision cannot be higher than second"));
    }
    Ok(Some((first, last)))
}

/// Prints what happens, in the reference's words.
pub(super) fn print_event(out: &mut Output, event: LoadEvent<'_>) -> SvnResult<()> {
    match event {
        LoadEvent::Started(number) => {
            out.text(&format!("<<< Started new transaction, based on original revision {number}\n"))
        }
        LoadEvent::Skipped(number) => {
            out.text(&format!("<<< Skipped original revision {number}\n"))
        }
        // The reference says this of additions and deletions, too.
        LoadEvent::Node(path) => out.text(&format!("     * editing path : {path} ...")),
        LoadEvent::Copied => out.text("COPIED..."),
        LoadEvent::NormalizedMergeinfo => out.text(" removing '\\r' from svn:mergeinfo ..."),
        LoadEvent::NodeDone => out.text(" done.\n"),
        LoadEvent::Warning(number, text) => out.text(&format!("WARNING 0x{number:04x}: {text}\n")),
        LoadEvent::PropsSet(revision) => {
            out.text(&format!("Properties set on revision {revision}.\n"))
        }
        LoadEvent::Committed(here, number) => {
            let text = if here.0 == number {
                format!("\n------- Committed revision {here} >>>\n\n")
            } else {
                format!(
                    "\n------- Committed new rev {here} (loaded from original rev {number}) >>>\n\n"
                )
            };
            out.text(&text)?;
            // A user who watches wants to see each revision when it is committed.
            out.flush()
        }
    }
}

/// Hints at the options that help with bad property values.
pub(super) fn explain(error: SvnError) -> SvnError {
    if error.has_code(ErrorCode::BAD_PROPERTY_VALUE_EOL) {
        error.context(
            "A property with invalid line ending found in dumpstream; consider using \
             --normalize-props while loading.",
        )
    } else if error.code() == ErrorCode::BAD_PROPERTY_VALUE {
        error.context(
            "Invalid property value found in dumpstream; consider repairing the source or using \
             --bypass-prop-validation while loading.",
        )
    } else {
        error
    }
}
