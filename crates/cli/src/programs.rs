//! The table of programs: what each is called, and the function that is its `main`.

use std::ffi::OsStr;

use crate::program::Program;

/// All programs, in the order that help lists them.
pub(crate) static PROGRAMS: &[Program] = &[
    Program {
        name: "serve",
        linked: false,
        about: "serve a repository, or a folder of repositories (--demo: a small one of our own)",
        run: crate::serve::run,
        manual: Some(crate::serve::manual),
    },
    Program {
        name: "import-httpd-conf",
        linked: false,
        about: "write the configuration of 'serve' that does what an httpd's does",
        run: crate::import_httpd::run,
        manual: Some(crate::import_httpd::manual),
    },
    Program {
        name: "status",
        linked: false,
        about: "show how a running 'serve' is",
        run: crate::status::run,
        manual: Some(crate::status::manual),
    },
    Program {
        name: "user",
        linked: false,
        about: "look after the accounts of 'serve': users, passwords, groups, tokens",
        run: crate::user::run,
        manual: Some(crate::user::manual),
    },
    Program {
        name: "repo",
        linked: false,
        about: "make repositories from templates, list, archive, delete and restore them",
        run: crate::repo_admin::run,
        manual: Some(crate::repo_admin::manual),
    },
    Program {
        name: "backup",
        linked: false,
        about: "copy repositories that are in use, and verify the copies",
        run: crate::backup::run,
        manual: Some(crate::backup::manual),
    },
    Program {
        name: "search",
        linked: false,
        about: "say which names, messages and texts of a repository have some words",
        run: crate::search::run,
        manual: Some(crate::search::manual),
    },
    Program {
        name: "doctor",
        linked: false,
        about: "say what is wrong with repositories and a server, and what to do",
        run: crate::doctor::run,
        manual: Some(crate::doctor::manual),
    },
    Program {
        name: "convert",
        linked: false,
        about: "convert a repository to another format, also while it is used",
        run: crate::convert::run,
        manual: Some(crate::convert::manual),
    },
    Program {
        name: "store",
        linked: false,
        about: "bring repositories into object stores, and out of them",
        run: crate::store::run,
        manual: Some(crate::store::manual),
    },
    Program {
        name: "watch",
        linked: false,
        about: "watch working copies, so that 'svn status' need not look at every file",
        run: crate::watch::run,
        manual: Some(crate::watch::manual),
    },
    Program {
        name: "mergeinfo-tidy",
        linked: false,
        about: "find svn:mergeinfo in a working copy that says nothing, and remove it",
        run: crate::mergeinfo_tidy::run,
        manual: Some(crate::mergeinfo_tidy::manual),
    },
    Program {
        name: "install-links",
        linked: false,
        about: "link every program's name to this program in a folder",
        run: |args| crate::install_links::run(args, PROGRAMS),
        manual: None,
    },
    Program {
        name: "svn",
        linked: true,
        about: "the client: working copies, and what can be done with URLs",
        run: crate::svn::run,
        manual: Some(crate::svn::manual),
    },
    Program {
        name: "svnserve",
        linked: true,
        about: "the svn:// server",
        run: crate::svnserve::run,
        manual: Some(crate::svnserve::manual),
    },
    Program {
        name: "svnadmin",
        linked: true,
        about: "look after repositories",
        run: crate::svnadmin::run,
        manual: Some(crate::svnadmin::manual),
    },
    Program {
        name: "svnlook",
        linked: true,
        about: "look into a repository",
        run: crate::svnlook::run,
        manual: Some(crate::svnlook::manual),
    },
    Program {
        name: "svndumpfilter",
        linked: true,
        about: "let the wanted part of a dump stream pass",
        run: crate::svndumpfilter::run,
        manual: Some(crate::svndumpfilter::manual),
    },
    Program {
        name: "svnauthz",
        linked: true,
        about: "check authz files and ask them",
        run: crate::svnauthz::run,
        manual: Some(crate::svnauthz::manual),
    },
    Program {
        name: "svnauthz-validate",
        linked: true,
        about: "check authz files, as before 1.8",
        run: crate::svnauthz::run_validate,
        manual: Some(crate::svnauthz::manual),
    },
    Program {
        name: "svnfsfs",
        linked: true,
        about: "look into the storage of a repository",
        run: crate::svnfsfs::run,
        manual: Some(crate::svnfsfs::manual),
    },
    Program {
        name: "svnmucc",
        linked: true,
        about: "several changes to URLs, committed as one",
        run: crate::svnmucc::run,
        manual: Some(crate::svnmucc::manual),
    },
    Program {
        name: "svnsync",
        linked: true,
        about: "keep a repository the mirror of another",
        run: crate::svnsync::run,
        manual: Some(crate::svnsync::manual),
    },
    Program {
        name: "svnrdump",
        linked: true,
        about: "dump and load over a session",
        run: crate::svnrdump::run,
        manual: Some(crate::svnrdump::manual),
    },
    Program {
        name: "svnversion",
        linked: true,
        about: "a working copy in one line",
        run: crate::svnversion::run,
        manual: Some(crate::svnversion::manual),
    },
    Program {
        name: "svnbench",
        linked: true,
        about: "time what a server does",
        run: crate::svnbench::run,
        manual: Some(crate::svnbench::manual),
    },
];

/// The program that a link of this name (without `.exe`) stands for.
pub(crate) fn by_link_name(name: &OsStr) -> Option<&'static Program> {
    PROGRAMS.iter().find(|p| p.linked && name == p.name)
}

/// The words that select a program.
pub(crate) fn words() -> Vec<&'static str> {
    PROGRAMS.iter().map(|program| program.name).collect()
}

/// The program that a first argument selects.
pub(crate) fn by_word(word: &OsStr) -> Option<&'static Program> {
    PROGRAMS.iter().find(|p| word == p.name)
}

/// The list of programs.
pub(crate) fn help() -> String {
    crate::program::list(PROGRAMS)
}

/// The programs that have a subcommand of this name, in the order of help.
pub(crate) fn with_subcommand(word: &str) -> Vec<&'static str> {
    let has = |program: &&Program| {
        let manual = program.manual.map(|manual| manual());
        manual.is_some_and(|m| m.parts.iter().any(|part| part.names.iter().any(|n| n == word)))
    };
    PROGRAMS.iter().filter(has).map(|program| program.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands_are_found_in_their_programs() {
        assert_eq!(with_subcommand("create"), ["svnadmin"]);
        assert!(with_subcommand("lock").starts_with(&["svn", "svnadmin"]));
        assert!(with_subcommand("nothing").is_empty());
    }

    #[test]
    fn names_are_unique_and_found() {
        for (at, program) in PROGRAMS.iter().enumerate() {
            let found = by_word(OsStr::new(program.name)).unwrap();
            assert!(std::ptr::eq(found, &PROGRAMS[at]), "{} is there twice", program.name);
        }
        assert!(by_link_name(OsStr::new("svnserve")).is_some());
        assert!(by_link_name(OsStr::new("serve")).is_none());
    }
}
