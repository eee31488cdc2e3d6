//! The same steps by ours and by the reference, each on working copies of its own: what they say and
//! what is in wc.db afterwards is compared after each step.

use std::process::Command;

use rusqlite::types::ValueRef;
use sapwood_testkit::Programs;

/// One program with its repositories (`repo`, `other`) and working copies (`wc`, `wc2`, `foreign`).
pub(crate) struct Side {
    folder: tempfile::TempDir,
    programs: Programs,
}

/// Working copies of a side.
const COPIES: [(&str, &str); 3] = [("wc", "repo"), ("wc2", "repo"), ("foreign", "other")];

impl Side {
    pub(crate) fn new(programs: Programs) -> Self {
        let side = Self { folder: tempfile::tempdir().unwrap(), programs };
        let reference = Programs::reference();
        let run = |command: &mut Command| assert!(command.status().unwrap().success());
        for repo in ["repo", "other"] {
            let path = side.folder.path().join(repo);
            run(reference.command("svnadmin").arg("create").arg(path));
        }
        for (wc, repo) in COPIES {
            let url = format!("file://{}/{repo}", side.folder.path().display());
            let wc = side.folder.path().join(wc);
            run(reference.command("svn").args(["co", "-q"]).arg(url).arg(wc));
        }
        side
    }

    /// Runs one step in `wc` and returns what was said. Lines that begin with `=` are for the
    /// program under test (with `=svnversion` for that one), `svn ...` is run by the reference,
    /// anything else by a shell. `URL` and `OTHER` stand for the repositories.
    pub(crate) fn step(&self, line: &str) -> String {
        let folder = self.folder.path().display().to_string();
        let with_urls = line
            .replace("OTHER", &format!("file://{folder}/other"))
            .replace("URL", &format!("file://{folder}/repo"));
        if let Some(rest) = with_urls.strip_prefix("=svnversion ") {
            let mut command = self.programs.command("svnversion");
            command.args(rest.split(' '));
            return self.told(command, &folder);
        }
        let (program, rest) = match (with_urls.strip_prefix("= "), with_urls.strip_prefix("svn ")) {
            (Some(rest), _) => (Some(&self.programs), rest),
            (None, Some(rest)) => (None, rest),
            (None, None) => return self.shell(&with_urls),
        };
        let reference = Programs::reference();
        let mut command = program.unwrap_or(&reference).command("svn");
        command.arg("--username=jo").args(rest.split(' '));
        self.told(command, &folder)
    }

    fn shell(&self, line: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.told(command, &self.folder.path().display().to_string())
    }

    fn told(&self, mut command: Command, folder: &str) -> String {
        let output = command.current_dir(self.folder.path().join("wc")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // Both sides do the same at different times.
        let dated = |line: &&str| line.starts_with("Last Changed Date: ");
        let mut out: Vec<String> =
            text(&output.stdout).lines().filter(|line| !dated(line)).map(without_date).collect();
        if out.iter().all(|line| line.len() > 8) {
            // The reference tells of children in the order of a hash table.
            out.sort();
        }
        let out = out.join("\n");
        let code = output.status.code().unwrap_or(-1);
        let mut told = format!("{out}\n{}{code}\n", text(&output.stderr)).replace(folder, "FOLDER");
        for (repo, name) in [("repo", "UUID"), ("other", "OTHER-UUID")] {
            let uuid =
                std::fs::read_to_string(self.folder.path().join(repo).join("db/uuid")).unwrap();
            told = told.replace(uuid.lines().next().unwrap(), name);
        }
        told
    }

    /// What is in the databases, times apart; property lists in order.
    fn rows(&self) -> Vec<String> {
        COPIES.iter().flat_map(|(wc, _)| self.rows_of(wc)).collect()
    }

    fn rows_of(&self, wc: &str) -> Vec<String> {
        let path = self.folder.path().join(wc).join(".svn/wc.db");
        let db = rusqlite::Connection::open(path).unwrap();
        let folder = self.folder.path().display().to_string();
        let mut rows = Vec::new();
        for sql in [
            "SELECT local_relpath, op_depth, parent_relpath, repos_id, repos_path, revision, \
             presence, moved_here, moved_to, kind, properties, depth, checksum, changed_revision, \
             changed_author, translated_size, last_mod_time IS NOT NULL, dav_cache, file_external, \
             inherited_props IS NOT NULL FROM nodes ORDER BY 1, 2",
            "SELECT local_relpath, properties, changelist, conflict_data FROM actual_node ORDER BY 1",
            "SELECT checksum, size, refcount FROM pristine WHERE refcount > 0 ORDER BY 1",
            "SELECT local_relpath, kind, def_local_relpath, def_repos_relpath, \
             def_operational_revision, def_revision FROM externals ORDER BY 1",
            "SELECT id FROM work_queue",
            "SELECT local_dir_relpath FROM wc_lock",
        ] {
            let mut statement = db.prepare(sql).unwrap();
            let columns = statement.column_count();
            let mut found = statement.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let value = |at| match row.get_ref(at).unwrap() {
                    ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    ValueRef::Blob(bytes) => skel(bytes, &folder),
                    other => format!("{other:?}"),
                };
                let values: Vec<String> = (0..columns).map(value).collect();
                rows.push(format!("{wc}: {}", values.join("|")));
            }
        }
        rows
    }

    /// Names of the files, with what is in them.
    fn files(&self) -> String {
        self.shell("cd ..; find wc wc2 foreign -path '*/.svn' -prune -o -print | sort | while read f; \
                    do echo \"$f\"; test ! -f \"$f\" || cat \"$f\"; done; find . -perm -100 -type f | sort")
    }

    fn log(&self) -> String {
        let text = self.shell("svn log -v -r 0:HEAD ^/; svn diff -r 0:HEAD ^/");
        // Lines with a date are left out.
        let dated = |line: &&str| !line.contains(" | ");
        text.lines().filter(dated).collect::<Vec<_>>().join("\n")
    }
}

/// When the text of a file was written.
const UPDATED: &str = "Text Last Updated: ";

/// A line; of the first of a log entry, and of one that says when a text was written, what is not the date.
fn without_date(line: &str) -> String {
    if line.starts_with(UPDATED) {
        return UPDATED.to_owned();
    }
    let parts: Vec<&str> = line.split(" | ").collect();
    match parts.as_slice() {
        [revision, author, _, rest @ ..] if revision.starts_with('r') => {
            format!("{revision} {author} {rest:?}")
        }
        _ => line.to_owned(),
    }
}

/// A property list or a conflict, without the order of a hash table and without URLs.
fn skel(bytes: &[u8], folder: &str) -> String {
    if let Ok(props) = sapwood_wc::db::read_props(bytes) {
        return format!("{props:?}");
    }
    match sapwood_wc::conflict::Conflict::parse(bytes) {
        Ok(mut conflict) => {
            for location in conflict.locations.iter_mut().flatten() {
                location.root = location.root.replace(folder, "FOLDER");
                location.uuid = None;
            }
            format!("{conflict:?}")
        }
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Runs steps on both sides and compares.
pub(crate) fn compare(steps: &str) {
    let ours = Side::new(Programs::ours());
    let theirs = Side::new(Programs::reference());
    for line in steps.lines().filter(|line| !line.is_empty()) {
        let (we, they) = (ours.step(line), theirs.step(line));
        assert_eq!(we, they, "{line}");
        let (we, they) = (ours.rows(), theirs.rows());
        let only = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|row| !b.contains(row)).cloned().collect()
        };
        let (more, less) = (only(&we, &they), only(&they, &we));
        assert!(
            more.is_empty() && less.is_empty(),
            "wc.db after {line}\nours: {more:#?}\n1.14: {less:#?}"
        );
    }
    assert_eq!(ours.files(), theirs.files());
    assert_eq!(ours.log(), theirs.log());
}
