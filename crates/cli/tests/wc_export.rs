//! `svn export` by ours and by the reference: the same words, and the same tree with its modes and
//! times.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use sapwood_testkit::Programs;

/// A working copy with all kinds of files and of local changes.
const SETUP: &str = r#"
svnadmin create repo
svn co -q file://$PWD/repo wc
cd wc
mkdir -p d/e ext/d
echo '$Rev$ $Author$ $Date$ $Id$' > d/keys; echo '$Rev$' > d/both; printf 'a\nb\n' > d/eol; echo x > d/run
ln -s eol d/link; echo p > d/e/plain; echo gone > d/gone; echo old > d/changed; echo r > d/replaced
head -c 700000 /dev/zero | tr '\0' z > d/large; cp d/large d/largerun
echo e > ext/d/f; echo f > ext/f
svn add -q d ext
svn ps -q svn:keywords 'Rev Author Date Id' d/keys d/both
svn ps -q svn:eol-style native d/eol d/both
svn ps -q svn:executable '*' d/run d/largerun
svn ps -q svn:externals "$(printf '^/ext/d x\n^/ext/f xf\n')" d
svn ci -qm one
svn up -q
echo new >> d/changed; echo mine >> d/keys; svn rm -q d/gone; echo a > d/added; svn add -q d/added
svn rm -q d/replaced; echo r2 > d/replaced; svn add -q d/replaced; svn cp -q d/e d/copied; echo u > d/unversioned
chmod 700 d/e; mkdir -p ../there ../full/d; echo there > ../full/d/run; echo file > ../file
"#;

/// What is exported, below the folder of the working copy.
const EXPORTS: &[&str] = &[
    "wc/d out",
    "-r BASE wc/d out",
    "-r COMMITTED wc/d out",
    "-r 1 wc/d out",
    "-r HEAD wc out",
    "--ignore-keywords wc/d out",
    "--native-eol CRLF wc/d out",
    "--ignore-externals wc out",
    "--depth files wc/d out",
    "--depth immediates wc/d out",
    "--depth empty wc/d out",
    "wc/d/keys out",
    "wc/d/large out",
    "wc/d/changed there",
    "wc/d/link out",
    "wc/d/xf out",
    "wc/d there",
    "--force wc/d full",
    "wc/d file",
    "wc/d/changed file",
    "--force wc/d/changed file",
    "wc/d/unversioned out",
    "wc/d/none out",
    "wc/d/gone out",
    "-r BASE wc/d/gone out",
    "URL out",
    "URL/d out",
    "URL/d --ignore-keywords out",
    "URL/d --native-eol CR out",
    "URL/d there",
    "URL/d --force full",
    "URL/d file",
    "URL/d/keys out",
    "URL/d/largerun out",
    "URL/d/run there",
    "URL/d/run file",
    "URL/d/run --force file",
    "URL/d/run .",
    "--force URL/d/run .",
    "URL/d/e/plain@1 out",
    "URL/none out",
    "-q wc/d out",
    "--force URL/d .",
];

fn shell(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-ec", script]).current_dir(folder).status().unwrap();
    assert!(status.success());
}

/// All that lies in a folder: kind, mode, time where it is the file's own, and contents.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let look = path.symlink_metadata().unwrap();
            let what = if look.is_symlink() {
                format!("link {}", path.read_link().unwrap().display())
            } else if look.is_dir() {
                left.push(path);
                format!("dir {:o}", look.mode())
            } else {
                let text = std::fs::read(&path).unwrap();
                let time = look.mtime() * 1_000_000 + look.mtime_nsec() / 1000;
                format!("file {:o} {time} {}", look.mode(), text.escape_ascii())
            };
            found.insert(name, what);
        }
    }
    found
}

/// Exports into a fresh copy of what lies beside the working copy.
fn export(
    programs: &Programs,
    folder: &Path,
    words: &str,
) -> (Vec<String>, BTreeMap<String, String>) {
    let place = folder.join("place");
    shell(folder, "rm -rf place; mkdir place; cp -a there full file place; ln -s ../wc place/wc");
    let url = format!("file://{}/repo", folder.display());
    let mut command = programs.command("svn");
    command.arg("export").args(words.split(' ').map(|word| word.replace("URL", &url)));
    let output = command.current_dir(&place).output().unwrap();
    let mut said: Vec<String> = [&output.stdout, &output.stderr]
        .iter()
        .flat_map(|text| {
            let text = String::from_utf8(text.to_vec()).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    // Externals come in the order of a hash table.
    said.sort_unstable();
    said.push(format!("{:?}", output.status.code()));
    std::fs::remove_file(place.join("wc")).unwrap();
    (said, tree(&place))
}

#[test]
fn as_the_reference_exports() {
    let folder = tempfile::tempdir().unwrap();
    shell(folder.path(), SETUP);
    for words in EXPORTS {
        let (said, made) = export(&Programs::ours(), folder.path(), words);
        let (expected, wanted) = export(&Programs::reference(), folder.path(), words);
        assert_eq!(said, expected, "svn export {words}");
        assert_eq!(made.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{words}");
        for (name, what) in made {
            assert!(what == wanted[&name], "svn export {words}: {name}");
        }
    }
}
