//! `sapwood install-links DIR`: links named after every Subversion program, leading to this one.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::programs::PROGRAMS;

/// Makes the links; files of these names that are not links are left alone and reported.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let [dir] = args.as_slice() else {
        eprintln!("usage: sapwood install-links DIR");
        return ExitCode::FAILURE;
    };
    match install(Path::new(dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sapwood: {}: {error}", dir.display());
            ExitCode::FAILURE
        }
    }
}

fn install(dir: &Path) -> std::io::Result<()> {
    let target = std::env::current_exe()?;
    std::fs::create_dir_all(dir)?;
    for program in PROGRAMS.iter().filter(|p| p.linked) {
        let link = dir.join(program.name);
        match std::fs::symlink_metadata(&link) {
            Ok(found) if found.is_symlink() => std::fs::remove_file(&link)?,
            Ok(_) => {
                return Err(std::io::Error::new(
                    std::io::ErrorKind::AlreadyExists,
                    format!("{} is there already and is not a link", link.display()),
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        std::os::unix::fs::symlink(&target, &link)?;
        println!("{} -> {}", link.display(), target.display());
    }
    Ok(())
}
