//! Repositories with damage: every program says what is wrong, or gives what was there; none panics,
//! hangs, or takes memory without bound. And none believes what the reference does not.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_testkit::{Programs, Repository, Rng};

/// All files below a folder, sorted.
fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Does one damage; says what it was.
fn damage(rng: &mut Rng, db: &Path) -> String {
    let mut all = Vec::new();
    files(db, &mut all);
    // Half of all damage is in the revisions.
    let revisions: Vec<PathBuf> =
        all.iter().filter(|f| f.starts_with(db.join("revs"))).cloned().collect();
    let pool = if rng.below(2) == 0 && !revisions.is_empty() { &revisions } else { &all };
    let (file, other) = (rng.pick(pool).clone(), rng.pick(pool).clone());
    let mut bytes = fs::read(&file).unwrap_or_default();
    let at = rng.below(bytes.len() + 1);
    let what = match rng.below(8) {
        0 => {
            bytes.truncate(at);
            "cut"
        }
        1 => {
            let noise = (0..rng.below(64)).map(|_| u8::try_from(rng.below(256)).unwrap());
            bytes.splice(at..at, noise.collect::<Vec<_>>());
            "noise put in"
        }
        2 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
            "zeros"
        }
        3 => {
            bytes = fs::read(&other).unwrap_or_default();
            "another file in its place"
        }
        4 => {
            let _ = fs::remove_file(&file);
            return format!("{} removed", file.display());
        }
        5 => {
            // A digit becomes another: what parses, but is not true.
            let digits: Vec<usize> =
                (0..bytes.len()).filter(|i| bytes[*i].is_ascii_digit()).collect();
            if let Some(at) = digits.get(at % digits.len().max(1)) {
                bytes[*at] = b'0' + u8::try_from(rng.below(10)).unwrap();
            }
            "a digit changed"
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
            "a bit changed"
        }
    };
    let _ = fs::write(&file, bytes);
    format!("{}: {what} at {at}", file.display())
}

#[test]
fn damaged_repositories() {
    super::from_seeds("damages", |seed| {
        let mut rng = Rng::new(seed);
        // Few histories, since each is made once and kept; many damages.
        let source = Repository::random(&super::shape(&mut rng), 900 + seed % 4, 12);
        let dump = |programs: &Programs, path: &str| programs.run("svnadmin", ["dump", "-q", path]);
        let sound = dump(&Programs::reference(), &source.arg()).expect_success("dump").stdout;
        let path = source.arg();
        let what = damage(&mut rng, &source.path().join("db"));
        let what = format!("SAPWOOD_SEED={seed} {}: {what}", source.name());
        let ends =
            |program: &str, args: &[&str]| super::ends_well(&what, program, args, source.parent());
        let verified = ends("svnadmin", &["verify", "-q", &path]);
        let dumped = ends("svnadmin", &["dump", "-q", &path]);
        for args in [
            ["tree", &path].as_slice(),
            &["log", &path],
            &["changed", &path],
            &["diff", &path],
            &["history", &path, "/"],
        ] {
            ends("svnlook", args);
        }
        ends("svnfsfs", &["stats", &path]);
        ends("svnadmin", &["verify", "--keep-going", &path]);
        ends("svnrdump", &["dump", "-q", &source.url()]);
        if verified.code == 0 && dumped.code == 0 && dumped.stdout != sound {
            // Nothing was found, and something else is there: only where the reference sees it so too.
            let theirs = dump(&Programs::reference(), &path);
            let same = theirs.code == 0 && theirs.stdout == dumped.stdout;
            assert!(
                same,
                "{what}: another history is believed; the reference: {}",
                theirs.stderr_text()
            );
        }
        // Writing into it may fail; it must not make it worse for others.
        ends("svnmucc", &["-m", "x", "mkdir", &format!("{}/new", source.url())]);
    });
}
