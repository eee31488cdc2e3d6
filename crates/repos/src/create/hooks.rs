//! The examples in a new repository's `hooks` folder.

/// One hook: what its example says and does.
pub(super) struct Hook {
    /// The program's name.
    pub(super) name: &'static str,
    /// When it runs, and what its success or failure decides. Comment lines without the `# `.
    about: &'static [&'static str],
    /// Its arguments after the repository's path.
    args: &'static [&'static str],
    /// What it finds on its standard input, if anything.
    stdin: Option<&'static str>,
    /// The example itself.
    script: &'static str,
}

const HOLDS_BACK: &str =
    "Success lets it happen; failure prevents it, and the client is shown what the hook wrote";
const TOO_LATE: &str =
    "It is done already: failure changes nothing. What the hook writes to standard error is";

/// All hooks.
pub(super) const HOOKS: [Hook; 9] = [
    Hook {
        name: "start-commit",
        about: &[
            "Runs when a commit begins, before anything of it has come in.",
            HOLDS_BACK,
            "to standard error.",
        ],
        args: &[
            "USER          who commits, empty if not logged in",
            "CAPABILITIES  what the client can do, with colons between (mergeinfo ...)",
            "TXN-NAME      the transaction",
        ],
        stdin: None,
        script: "REPOS=\"$1\"\nUSER=\"$2\"\n\n# Only people with a name.\n\
                 if [ -z \"$USER\" ]; then\n  echo \"Please log in to commit.\" >&2\n  exit 1\nfi\nexit 0\n",
    },
    Hook {
        name: "pre-commit",
        about: &[
            "Runs when a commit is complete and about to become a revision.",
            HOLDS_BACK,
            "to standard error. 'svnlook -t' looks into the transaction; do not change it.",
        ],
        args: &["TXN-NAME  the transaction"],
        stdin: Some("lock tokens of the commit, one a line: TOKEN|PATH"),
        script: "REPOS=\"$1\"\nTXN=\"$2\"\n\n# Only with a log message.\n\
                 if ! svnlook log -t \"$TXN\" -- \"$REPOS\" | grep '[^[:space:]]' >/dev/null; then\n  \
                 echo \"Please say what you changed.\" >&2\n  exit 1\nfi\nexit 0\n",
    },
    Hook {
        name: "post-commit",
        about: &["Runs after a commit has become a revision.", TOO_LATE, "shown to the client."],
        args: &["REV       the new revision", "TXN-NAME  the transaction that it was"],
        stdin: None,
        script: "REPOS=\"$1\"\nREV=\"$2\"\n\n\
                 svnlook log -r \"$REV\" -- \"$REPOS\" | mail -s \"Revision $REV\" developers\n",
    },
    Hook {
        name: "pre-revprop-change",
        about: &[
            "Runs before a revision property is set, changed or deleted.",
            HOLDS_BACK,
            "to standard error. Without this hook nobody can change revision properties:",
            "their old values are not kept, so you have to allow it.",
        ],
        args: &[
            "REV       the revision",
            "USER      who changes it",
            "PROPNAME  the property",
            "ACTION    A (add), M (modify) or D (delete)",
        ],
        stdin: Some("the new value"),
        script: "REPOS=\"$1\"\nREV=\"$2\"\nUSER=\"$3\"\nPROPNAME=\"$4\"\nACTION=\"$5\"\n\n\
                 # Log messages may be improved, nothing else.\n\
                 if [ \"$ACTION\" = \"M\" ] && [ \"$PROPNAME\" = \"svn:log\" ]; then exit 0; fi\n\
                 echo \"Only log messages may be changed.\" >&2\nexit 1\n",
    },
    Hook {
        name: "post-revprop-change",
        about: &["Runs after a revision property was changed.", TOO_LATE, "shown to the client."],
        args: &[
            "REV       the revision",
            "USER      who changed it",
            "PROPNAME  the property",
            "ACTION    A (added), M (modified) or D (deleted)",
        ],
        stdin: Some("the old value"),
        script: "REPOS=\"$1\"\nREV=\"$2\"\nUSER=\"$3\"\nPROPNAME=\"$4\"\n\n\
                 echo \"$USER changed $PROPNAME of revision $REV\" | \
                 mail -s \"Revision $REV\" developers\n",
    },
    Hook {
        name: "pre-lock",
        about: &[
            "Runs before a path is locked.",
            HOLDS_BACK,
            "to standard error. What it writes to standard output becomes the lock token: write",
            "nothing unless you mean that, and then never the same token twice.",
        ],
        args: &[
            "PATH     the path",
            "USER     who locks it",
            "COMMENT  why",
            "STEAL    1 to take over another's lock, else 0",
        ],
        stdin: None,
        script: "REPOS=\"$1\"\nLOCKED=\"$2\"\nUSER=\"$3\"\nSTEAL=\"$5\"\n\n\
                 # Nobody takes over locks.\n\
                 if [ \"$STEAL\" = \"1\" ]; then\n  echo \"Ask the owner of the lock.\" >&2\n  exit 1\nfi\nexit 0\n",
    },
    Hook {
        name: "post-lock",
        about: &["Runs after paths were locked.", TOO_LATE, "shown to the client."],
        args: &["USER  who locked them"],
        stdin: Some("the paths, one a line"),
        script: "REPOS=\"$1\"\nUSER=\"$2\"\n\nmail -s \"$USER locked files\" developers\n",
    },
    Hook {
        name: "pre-unlock",
        about: &["Runs before a lock is given up or broken.", HOLDS_BACK, "to standard error."],
        args: &[
            "PATH          the path",
            "USER          who unlocks it",
            "TOKEN         the lock's token",
            "BREAK-UNLOCK  1 to break another's lock, else 0",
        ],
        stdin: None,
        script: "REPOS=\"$1\"\nLOCKED=\"$2\"\nUSER=\"$3\"\nBREAK=\"$5\"\n\n\
                 # Nobody breaks locks.\n\
                 if [ \"$BREAK\" = \"1\" ]; then\n  echo \"Ask the owner of the lock.\" >&2\n  exit 1\nfi\nexit 0\n",
    },
    Hook {
        name: "post-unlock",
        about: &["Runs after locks were given up or broken.", TOO_LATE, "shown to the client."],
        args: &["USER  who unlocked them"],
        stdin: Some("the paths, one a line"),
        script: "REPOS=\"$1\"\nUSER=\"$2\"\n\nmail -s \"$USER unlocked files\" developers\n",
    },
];

impl Hook {
    /// The whole example file.
    pub(super) fn template(&self) -> String {
        let name = self.name;
        let mut text = format!(
            "#!/bin/sh\n\n# {name}: an example. To use a hook, put a program called '{name}' (without\n\
             # '.tmpl') here that the server's user may execute; it need not be a shell script.\n#\n"
        );
        for line in self.about {
            text.push_str(&format!("# {line}\n"));
        }
        text.push_str("#\n# Arguments:\n#   1. REPOS-PATH  this repository\n");
        for (line, number) in self.args.iter().zip(2..) {
            text.push_str(&format!("#   {number}. {line}\n"));
        }
        if let Some(stdin) = self.stdin {
            text.push_str(&format!("# Standard input: {stdin}\n"));
        }
        text.push_str(
            "#\n# Hooks run in an empty environment (PATH too!) unless conf/hooks-env gives them one,\n\
             # and in no particular folder. Arguments come from clients and can hold any characters:\n\
             # keep the quotes, and put '--' before arguments that are not options.\n\n\
             PATH=/usr/local/bin:/usr/bin:/bin\n",
        );
        text.push_str(self.script);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_a_shell_script() {
        for hook in &HOOKS {
            let text = hook.template();
            let mut shell = std::process::Command::new("sh");
            let mut child = shell.arg("-n").stdin(std::process::Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{}", hook.name);
            assert!(text.contains("#   1. REPOS-PATH"));
        }
    }
}
