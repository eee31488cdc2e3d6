//! All manual pages: one of each program, and one of the server's configuration file.

use crate::manual::{Manual, roff};
use crate::program::{self, Program};

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) section: u8,
    pub(crate) text: String,
}

/// The file that every new repository has, which explains itself.
const SVNSERVE_CONF: &str = include_str!("../../repos/src/create/templates/svnserve.conf");

fn conf() -> Manual {
    Manual {
        section: 5,
        text: "Says who may read and write a repository that svnserve serves, and how they log in. It is \
            the file conf/svnserve.conf of each repository, or one for all that svnserve is given with \
            --config-file. Sections begin with a name in brackets; an option is NAME = VALUE; a line \
            that begins with '#' is a comment. This is the file of a new repository:"
            .to_owned(),
        laid_out: SVNSERVE_CONF.to_owned(),
        ..Manual::default()
    }
}

/// All pages of these programs.
pub(crate) fn pages(programs: &[Program]) -> Vec<Page> {
    let mut all: Vec<(String, &str, Manual)> = programs
        .iter()
        .filter_map(|program| Some((program.page_name(), program.about, (program.manual?)())))
        .collect();
    all.push(("sapwood".to_owned(), "Subversion in one program", of_all(programs)));
    all.push(("svnserve.conf".to_owned(), "configuration of svnserve", conf()));
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<String> =
        all.iter().map(|(name, _, manual)| format!("{name}({})", manual.section.max(1))).collect();
    all.iter()
        .map(|(name, about, manual)| {
            let section = manual.section.max(1);
            let own = format!("{name}({section})");
            let others: Vec<String> = names.iter().filter(|n| **n != own).cloned().collect();
            let text = roff::page(name, about, manual, &others);
            Page { name: name.clone(), section, text }
        })
        .collect()
}

/// The page of the program itself.
fn of_all(programs: &[Program]) -> Manual {
    Manual {
        synopsis: vec!["sapwood PROGRAM [ARGUMENTS]".to_owned()],
        text:
            "All programs of Subversion in one. By its own name it takes the program as its first \
            argument; called by the name of one of them, through a link, it is that program. \
            'sapwood install-links FOLDER' makes the links."
                .to_owned(),
        laid_out: program::list(programs),
        ..Manual::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::PROGRAMS;

    #[test]
    fn every_program_has_a_page_and_every_option_is_in_it() {
        let pages = pages(PROGRAMS);
        for program in PROGRAMS.iter().filter(|p| p.linked) {
            let page = pages.iter().find(|p| p.name == program.name);
            let page = page.unwrap_or_else(|| panic!("no manual page of {}", program.name));
            let manual = (program.manual.unwrap())();
            let parts = manual.parts.iter().flat_map(|p| &p.options);
            for option in manual.options.iter().chain(parts) {
                let shown = option.shown.replace('-', "\\-");
                assert!(page.text.contains(&shown), "{}: {}", program.name, option.shown);
            }
            assert!(!manual.parts.is_empty() || !manual.options.is_empty(), "{}", program.name);
        }
        assert!(pages.iter().any(|p| p.name == "svnserve.conf" && p.section == 5));
        assert!(pages.iter().any(|p| p.name == "svnserve" && p.section == 8));
    }
}
