//! A working copy of Subversion 1.6 (format 10), as files: what `svn upgrade` is measured on. Directories of
//! twenty files below a root, all as they were checked out. The format of an entry is described in
//! `docs/formats/wc.md`; an upgrade asks no repository, so there is none.

use std::fs;
use std::io;
use std::path::Path;

use sapwood_core::{Exact as _, Md5};

use super::history::{IN_DIRECTORY, text};

const ROOT: &str = "file:///nowhere/repository";
const UUID: &str = "11111111-1111-4111-8111-111111111111";
const DATE: &str = "2010-01-02T03:04:05.000000Z";

/// Makes the working copy at `root`, with this number of nodes, directories included.
///
/// # Errors
/// Those of the file system.
pub(super) fn make(root: &Path, nodes: u64) -> io::Result<()> {
    let directories = nodes / IN_DIRECTORY.plus(1);
    let names: Vec<String> = (0..directories).map(|number| format!("d{number}")).collect();
    let mut below = String::new();
    for name in &names {
        below.push_str(&entry(&[(0, name), (1, "dir")]));
    }
    directory(root, ROOT, &below)?;
    let mut file = 0_u64;
    for name in &names {
        let (folder, mut below) = (root.join(name), String::new());
        let base = folder.join(".svn/text-base");
        fs::create_dir_all(&base)?;
        for _ in 0..IN_DIRECTORY {
            let (name, text) = (format!("f{file}"), text(file, None));
            file = file.plus(1);
            fs::write(folder.join(&name), &text)?;
            fs::write(base.join(format!("{name}.svn-base")), &text)?;
            below.push_str(&of_file(&name, &text));
        }
        directory(&folder, &format!("{ROOT}/{name}"), &below)?;
    }
    Ok(())
}

/// The administrative area of a directory, with the entries of what is in it.
fn directory(folder: &Path, url: &str, below: &str) -> io::Result<()> {
    let adm = folder.join(".svn");
    for part in ["props", "prop-base", "text-base", "tmp/props", "tmp/prop-base", "tmp/text-base"] {
        fs::create_dir_all(adm.join(part))?;
    }
    let own = entry(&[
        (1, "dir"),
        (2, "1"),
        (3, url),
        (4, ROOT),
        (8, DATE),
        (9, "1"),
        (10, "bench"),
        (25, UUID),
    ]);
    fs::write(adm.join("entries"), format!("10\n{own}{below}"))
}

/// The entry of a file.
fn of_file(name: &str, text: &str) -> String {
    let (sum, size) = (Md5::of(text.as_bytes()).to_hex(), text.len().to_string());
    entry(&[
        (0, name),
        (1, "file"),
        (6, DATE),
        (7, &sum),
        (8, DATE),
        (9, "1"),
        (10, "bench"),
        (32, &size),
    ])
}

/// Fields on the lines that their numbers name, in order; a form feed ends an entry.
fn entry(fields: &[(usize, &str)]) -> String {
    let (mut out, mut line) = (String::new(), 0_usize);
    for (number, value) in fields {
        while line < *number {
            out.push('\n');
            line = line.plus(1);
        }
        out.push_str(value);
    }
    out + "\n\u{c}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_on_their_lines() {
        assert_eq!(entry(&[(0, "a"), (1, "file"), (4, "x")]), "a\nfile\n\n\nx\n\u{c}\n");
    }
}
