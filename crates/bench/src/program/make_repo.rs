//! `sapwood-bench make-repo`.

use std::path::Path;

use sapwood_bench::repo::{MakeOptions, PROFILES, Profile, Progress, make};
use sapwood_core::{Revnum, SvnResult, len64};
use sapwood_fs::admin::CreateOptions;

use super::command::{Invocation, Options, Subcommand, name, print, say};
use super::{bad_value, cancel_token, parsed};

const HELP: &str = "\
usage: sapwood-bench make-repo [--profile NAME] PATH

Writes a repository to the new folder PATH, with nothing but a profile and a
seed to go by: the same profile, seed and scale make the same history, in
whatever format.  Nothing waits for the disk.  The profiles:

  ruby    46,000 small revisions, 4,200 files: after the repository of Ruby
  bsd     264,000 revisions, 60,000 files: after the repository of FreeBSD
  office  1,500 revisions of large files that do not compress
  deep    14,000 revisions of one text of 1 to 3 MiB

With '--scale 0.1' a profile is a tenth as long, and its tree a tenth as
large.  Without PATH, the profiles are explained: what of their numbers was
asked for, what is public and what is our own choice.
";

/// The formats that transactions are written to.
const FORMATS: [u32; 5] = [3, 4, 6, 7, 8];

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "make-repo",
    help: HELP,
    options: &[
        name::PROFILE,
        name::SEED,
        name::SCALE,
        name::FORMAT,
        name::COMPATIBLE_VERSION,
        name::PACK,
        name::QUIET,
    ],
    run,
};

/// `sapwood-bench make-repo`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let options = make_options(&invocation.options)?;
    let args = invocation.take_args(0, 1)?;
    let Some(path) = args.first() else {
        for profile in PROFILES {
            print(&format!("{}: {}\n", profile.name, profile.about))?;
        }
        return Ok(());
    };
    let quiet = invocation.options.has(name::QUIET);
    let last = Revnum(len64(options.revisions()));
    let path = Path::new(path);
    make(
        path,
        &options,
        &mut |progress| {
            match progress {
                _ if quiet => {}
                Progress::Revision(at, of) => {
                    let at = len64(at);
                    if at.is_multiple_of(1_000) && Revnum(at) != last {
                        say(&format!("{at} of {of} revisions"));
                    }
                }
                Progress::Packing => {
                    say("Packing");
                }
            }
            Ok(())
        },
        &cancel_token(),
    )?;
    if !quiet {
        let name = options.profile.name;
        say(&format!("{}: {name}, {last} revisions", path.display()));
    }
    Ok(())
}

/// The options that say which repository it is.
pub(super) fn make_options(options: &Options) -> SvnResult<MakeOptions> {
    let profile = options.value(name::PROFILE).unwrap_or_else(|| "ruby".to_owned());
    let found = Profile::find(&profile)
        .ok_or_else(|| bad_value(name::PROFILE, &profile, "use ruby, bsd, office or deep"))?;
    let mut make = MakeOptions::new(found);
    make.seed = parsed(options, name::SEED, "use a whole number")?.unwrap_or(make.seed);
    if let Some(scale) = parsed::<f64>(options, name::SCALE, "use a number, as 0.1")? {
        if !(0.0..=1_000.0).contains(&scale) {
            return Err(bad_value(name::SCALE, &scale.to_string(), "use one between 0 and 1000"));
        }
        make.scale = scale;
    }
    make.pack = options.has(name::PACK);
    if let Some(version) = options.value(name::COMPATIBLE_VERSION) {
        let minor = version.split('.').nth(1).and_then(|minor| minor.parse().ok());
        make.format = minor
            .filter(|_| version.starts_with("1."))
            .and_then(CreateOptions::format_for)
            .ok_or_else(|| {
                bad_value(name::COMPATIBLE_VERSION, &version, "use one from 1.5 to 1.14")
            })?;
    }
    make.format = parsed(options, name::FORMAT, "use a number")?.unwrap_or(make.format);
    if !FORMATS.contains(&make.format) {
        let format = make.format.to_string();
        return Err(bad_value(name::FORMAT, &format, "use 3, 4, 6, 7 or 8"));
    }
    Ok(make)
}
