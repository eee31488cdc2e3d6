//! Hook programs that are there and cannot run.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_core::exact::Exact as _;

use super::finding::Findings;
use super::shown;

/// The hooks, and what fails where one cannot run.
const HOOKS: [(&str, &str); 9] = [
    ("start-commit", "every commit fails"),
    ("pre-commit", "every commit fails"),
    ("post-commit", "every commit ends with a warning"),
    ("pre-revprop-change", "no property of a revision can be changed"),
    ("post-revprop-change", "every change of such a property ends with a warning"),
    ("pre-lock", "nothing can be locked"),
    ("post-lock", "every lock ends with a warning"),
    ("pre-unlock", "nothing can be unlocked"),
    ("post-unlock", "every unlock ends with a warning"),
];

/// Looks at the hooks of a folder.
pub(super) fn look(folder: &Path, findings: &mut Findings) {
    let mut count = 0usize;
    for (name, harm) in HOOKS {
        let path = folder.join(name);
        let Ok(link) = fs::symlink_metadata(&path) else { continue };
        count = count.plus(1);
        if let Some((why, todo)) = problem(&path, &link) {
            findings.problem(format!("hooks/{name} {why}: {harm}"), todo);
        }
    }
    for ending in [".bat", ".cmd", ".exe", ".sh", ".py", ".pl"] {
        for (name, _) in HOOKS {
            let path = folder.join(format!("{name}{ending}"));
            if path.exists() && !folder.join(name).exists() {
                let what = format!("hooks/{name}{ending} is never run: a hook has no ending here");
                let target = folder.join(name);
                findings.warning(what, format!("mv {} {}", shown(&path), shown(&target)));
            }
        }
    }
    findings.good(match count {
        0 => "no hook programs".to_owned(),
        1 => "1 hook program".to_owned(),
        count => format!("{count} hook programs"),
    });
}

/// Why a hook cannot run, and what to do.
fn problem(path: &Path, link: &fs::Metadata) -> Option<(String, String)> {
    let Ok(meta) = fs::metadata(path) else {
        let todo = format!("ls -l {}", shown(path));
        return Some(("is a link that leads nowhere".to_owned(), todo));
    };
    if link.is_dir() || !meta.is_file() {
        return Some(("is no file".to_owned(), format!("ls -ld {}", shown(path))));
    }
    if meta.permissions().mode() & 0o111 == 0 {
        let todo = format!("chmod +x {}", shown(path));
        return Some(("may not be executed".to_owned(), todo));
    }
    let mut head = [0; 256];
    let read = crate::input::open(&path.to_string_lossy()).ok()?.read(&mut head).ok()?;
    let first = head.get(..read)?.split(|byte| *byte == b'\n').next()?;
    let line = first.strip_prefix(b"#!")?;
    if line.ends_with(b"\r") {
        let why = "has line ends of Windows, so its interpreter is not found".to_owned();
        return Some((why, format!("sed -i 's/\\r$//' {}", shown(path))));
    }
    let line = String::from_utf8_lossy(line);
    let interpreter = line.split_whitespace().next()?;
    (!Path::new(interpreter).exists()).then(|| {
        (format!("needs '{interpreter}', which is not there"), format!("head -1 {}", shown(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_cannot_run_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        write("pre-commit", "#!/bin/sh\nexit 0\n", 0o755);
        write("pre-commit.tmpl", "#!/nothing\n", 0o644);
        let text = |quiet| {
            let mut findings = Findings::default();
            look(folder.path(), &mut findings);
            findings.text("x", quiet)
        };
        assert_eq!(text(true), "");
        write("start-commit", "#!/bin/sh\n", 0o644);
        write("post-commit", "#!/bin/sh\r\nexit 0\r\n", 0o755);
        write("pre-lock", "#!/no/such/python -u\n", 0o755);
        write("post-lock.sh", "#!/bin/sh\n", 0o755);
        std::os::unix::fs::symlink("/nowhere", folder.path().join("pre-unlock")).unwrap();
        let found = text(true);
        for word in [
            "hooks/start-commit may not be executed: every commit fails\n            chmod +x ",
            "hooks/post-commit has line ends of Windows",
            "hooks/pre-lock needs '/no/such/python', which is not there: nothing can be locked",
            "hooks/pre-unlock is a link that leads nowhere",
            "warning  hooks/post-lock.sh is never run",
        ] {
            assert!(found.contains(word), "{word}: {found}");
        }
        assert!(text(false).contains("5 hook programs"));
    }
}
