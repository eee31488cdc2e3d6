//! Files of passwords as programs of PostgreSQL have them: `HOST:PORT:DATABASE:USER:PASSWORD` in each line, where `*` is any, and a
//! colon or backslash stands behind a backslash. The first line that fits counts.
//!
//! Invariant: a line that is not understood gives no password.

/// Where a connection goes.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// A machine, or the folder of a socket.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The database.
    pub database: &'a str,
    /// Who logs in; `None` where nothing says it: then only a line for any user fits.
    pub user: Option<&'a str>,
}

/// The password for a login, of the text of a file.
#[must_use]
pub fn password_in(text: &str, login: &Login<'_>) -> Option<String> {
    // A return before the end of a line is none of the password, nor one at the end of the file.
    text.split('\n').find_map(|line| password_of(line.trim_end_matches('\r'), login))
}

fn password_of(line: &str, login: &Login<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let [host, port, database, user, password] = fields(line)?;
    let fits = |field: &Field, value: &str| field.is_any || field.text == value;
    // A socket is of this machine.
    let is_here = login.host.starts_with('/') && host.text == "localhost";
    let of_user = user.is_any || login.user == Some(&user.text);
    let all = (is_here || fits(&host, login.host))
        && fits(&port, &login.port.to_string())
        && fits(&database, login.database)
        && of_user;
    (all && !password.text.is_empty()).then_some(password.text)
}

/// What stands between two colons.
#[derive(Default)]
struct Field {
    text: String,
    /// Whether it is `*`, and nothing else.
    is_any: bool,
}

/// The five fields of a line. What follows the fourth colon is the password; a colon in it need not be behind a backslash.
fn fields(line: &str) -> Option<[Field; 5]> {
    let mut fields: [Field; 5] = Default::default();
    let mut chars = line.chars();
    for (at, field) in fields.iter_mut().enumerate() {
        let is_last = at == 4;
        let mut plain = true;
        loop {
            match chars.next() {
                Some('\\') => {
                    plain = false;
                    field.text.push(chars.next()?);
                }
                Some(':') if !is_last => break,
                Some(c) => field.text.push(c),
                None if is_last => break,
                None => return None,
            }
        }
        field.is_any = plain && field.text == "*";
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> =
        Login { host: "db.example.com", port: 5432, database: "sapwood", user: Some("svn") };

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a note\nother:*:*:*:wrong\n\nnot a line\ndb.example.com:5433:*:*:wrong\n\
                    *:5432:sapwood:svn:a\\:b\\\\c:d\n*:*:*:*:last\n";
        assert_eq!(password_in(text, &LOGIN).as_deref(), Some("a:b\\c:d"));
        let other = Login { user: None, ..LOGIN };
        assert_eq!(password_in(text, &other).as_deref(), Some("last"));
        for none in ["", "*:*:*:*:", "*:*:*:*", "*:*:*:*:x\\", "\\*:*:*:*:x", "#*:*:*:*:x"] {
            assert_eq!(password_in(none, &LOGIN), None, "{none}");
        }
    }

    #[test]
    fn no_end_of_a_line_is_of_the_password() {
        for end in ["", "\n", "\r\n", "\r", "\r\r\n", "\r\n\r"] {
            let found = password_in(&format!("*:*:*:*:a\rb{end}"), &LOGIN);
            assert_eq!(found.as_deref(), Some("a\rb"), "{end:?}");
        }
    }

    #[test]
    fn a_socket_is_of_this_machine() {
        let socket = Login { host: "/var/run/postgresql", ..LOGIN };
        for host in ["localhost", "/var/run/postgresql", "*"] {
            assert!(password_in(&format!("{host}:*:*:svn:x"), &socket).is_some(), "{host}");
        }
        assert!(password_in("localhost:*:*:svn:x", &LOGIN).is_none());
    }

    /// Whatever a password is, it comes back as it was written.
    #[test]
    fn passwords_come_back() {
        let mut seed = 7_u64;
        for _ in 0..2_000 {
            let mut word = String::new();
            for _ in 0..=seed % 9 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
                word.push(
                    ['a', ':', '\\', '*', '#', 'é', ' '][usize::try_from(seed >> 40).unwrap() % 7],
                );
            }
            let quoted = word.replace('\\', "\\\\").replace(':', "\\:");
            let line = format!("{quoted}:5432:sapwood:svn:{quoted}");
            let login = Login { host: &word, ..LOGIN };
            let found = password_in(&line, &login);
            // A line that begins with a hash is a note.
            let expected = (!line.starts_with('#')).then_some(word.as_str());
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
