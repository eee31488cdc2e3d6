//! `sapwood install-links DIR`: links named after every Subversion program, leading to this one.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::output::Output;
use crate::programs::PROGRAMS;
use crate::report;

/// Makes the links; files of these names that are not links are left alone and reported.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let [dir] = args.as_slice() else {
        report::stderr("usage: sapwood install-links DIR\n");
        return ExitCode::FAILURE;
    };
    let mut out = Output::stdout();
    match install(Path::new(dir), &mut out).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::exit_error(&error, "sapwood: ");
            ExitCode::FAILURE
        }
    }
}

fn install(dir: &Path, out: &mut Output) -> SvnResult<()> {
    let failed = |e: &std::io::Error, path: &Path| {
        SvnError::io(e, format_args!("Can't make '{}'", path.display()))
    };
    let target =
        std::env::current_exe().map_err(|e| SvnError::io(&e, "Can't find this program"))?;
    std::fs::create_dir_all(dir).map_err(|e| failed(&e, dir))?;
    for program in PROGRAMS.iter().filter(|p| p.linked) {
        let link = dir.join(program.name);
        match std::fs::symlink_metadata(&link) {
            Ok(found) if found.is_symlink() => {
                std::fs::remove_file(&link).map_err(|e| failed(&e, &link))?;
            }
            Ok(_) => {
                return Err(SvnError::new(
                    ErrorCode::ILLEGAL_TARGET,
                    format!("'{}' is there already and is not a link", link.display()),
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&error, &link)),
        }
        std::os::unix::fs::symlink(&target, &link).map_err(|e| failed(&e, &link))?;
        out.text(&format!("{} -> {}\n", link.display(), target.display()))?;
    }
    Ok(())
}
