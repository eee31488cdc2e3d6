//! Ways to a server of svn:// besides a plain connection: after a login by SASL, and through a tunnel, as svn+ssh is one.
//!
//! Invariant: both systems' servers have the same settings, of files that are written here; the tunnel is a local command, so no
//! time of ssh itself is in the figures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::axes::Axis as _;
use crate::programs::Programs;

/// The user who logs in, and the password.
const USER: (&str, &str) = ("bench", "secret of bench");
/// The realm of the login.
const REALM: &str = "bench";

/// A login by DIGEST-MD5, with the layer that encrypts, as both sides choose it.
#[derive(Debug)]
pub(crate) struct SaslLogin {
    /// The `svnserve.conf`.
    pub(crate) config: PathBuf,
    /// The folder with the configuration of Cyrus SASL, whose users are in a database there.
    pub(crate) folder: PathBuf,
}

fn write(path: &Path, text: &str) -> SvnResult<()> {
    std::fs::write(path, text)
        .map_err(|e| SvnError::io(&e, format_args!("Can't write '{}'", path.display())))
}

impl SaslLogin {
    /// Writes the files of it into a folder within `root`.
    ///
    /// # Errors
    /// When they cannot be written; where there is no `perl` with `DB_File`, which makes the database.
    pub(crate) fn prepare(root: &Path) -> SvnResult<Self> {
        let folder = root.join("sasl");
        let config = folder.join("svnserve.conf");
        let login = Self { config, folder };
        if login.config.exists() {
            return Ok(login);
        }
        std::fs::create_dir_all(&login.folder).map_err(|e| {
            SvnError::io(&e, format_args!("Can't create '{}'", login.folder.display()))
        })?;
        let (passwords, database) = (login.folder.join("passwd"), login.folder.join("sasldb"));
        write(&passwords, &format!("[users]\n{} = {}\n", USER.0, USER.1))?;
        make_database(&database)?;
        let cyrus = format!(
            "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: {}\nmech_list: DIGEST-MD5\n",
            database.display()
        );
        write(&login.folder.join("svn.conf"), &cyrus)?;
        let text = format!(
            "[general]\nanon-access = none\nauth-access = read\nrealm = {REALM}\npassword-db = {}\n\
             [sasl]\nuse-sasl = true\n",
            passwords.display()
        );
        write(&login.config, &text)?;
        Ok(login)
    }

    /// Has a client log in.
    pub(crate) fn log_in(client: &mut Command) {
        client.args(["--username", USER.0, "--password", USER.1, "--no-auth-cache"]);
    }
}

/// Makes the database of Cyrus SASL, as `saslpasswd2` does, which few machines have.
fn make_database(path: &Path) -> SvnResult<()> {
    let script = "use DB_File; tie %h, 'DB_File', $ARGV[0], O_RDWR|O_CREAT, 0600, $DB_HASH or die; \
                  $h{\"$ARGV[1]\\0$ARGV[2]\\0userPassword\"} = $ARGV[3]; untie %h";
    let mut perl = Command::new("perl");
    perl.args(["-e", script]).arg(path).args([USER.0, REALM, USER.1]);
    let made = perl.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match made.map_err(|e| SvnError::io(&e, "Can't start 'perl'"))?.success() {
        true => Ok(()),
        false => {
            let why = "perl with DB_File is needed for the users of Cyrus SASL";
            Err(SvnError::new(ErrorCode::EXTERNAL_PROGRAM, why))
        }
    }
}

/// Writes the script that is the tunnel to the server of `programs` for the repositories in `root`, whatever a client asks it
/// for; the value of `SVN_SSH`.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn tunnel(programs: &Programs, root: &Path, options: &[String]) -> SvnResult<String> {
    let command = programs.command("svnserve");
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    words.extend(["-t".to_owned(), "-r".to_owned(), root.display().to_string()]);
    // There is one connection, and one process for it.
    words.extend(options.iter().filter(|option| *option != "-T").cloned());
    let words: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let path = root.join(format!("tunnel-{}", programs.system.name()));
    write(&path, &format!("exec {}\n", words.join(" ")))?;
    Ok(format!("sh {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::System;

    #[test]
    fn a_tunnel_is_the_server_with_its_options() {
        let root = tempfile::tempdir().unwrap();
        let programs = Programs::single(System::Sapwood, Path::new("/it's"), Vec::new());
        let options = ["-T", "-M", "256"].map(str::to_owned);
        let value = tunnel(&programs, root.path(), &options).unwrap();
        let file = root.path().join("tunnel-sapwood");
        assert_eq!(value, format!("sh {}", file.display()));
        let text = std::fs::read_to_string(file).unwrap();
        let wanted = format!("'svnserve' '-t' '-r' '{}' '-M' '256'\n", root.path().display());
        assert_eq!(text, format!("exec '/it'\\''s' {wanted}"));
    }
}
