//! Corners of everyday commands, by ours and by the reference, each in a folder of its own: same
//! output, same exit codes.

use std::process::Command;

use sapwood_testkit::Programs;

/// Lines that begin with `svn` are run by the program under test, the rest by a shell.
const STEPS: &str = r"
svnadmin create repo; svnadmin create elsewhere; svnadmin create plain
svnadmin setuuid repo 11111111-1111-4111-8111-111111111111
svnadmin setuuid elsewhere 22222222-2222-4222-8222-222222222222
printf '#!/bin/sh\nsvnlook proplist --revprop -t $2 $1 | sort >&2\nexit 1\n' > plain/hooks/pre-commit
chmod +x plain/hooks/pre-commit
svnadmin create repo/../beside
svnadmin create repo/../plain
svnrdump dump -r 99 URL/repo/../repo
svn ls URL/repo/../repo
svn co -q URL/repo wc
mkdir -p wc/d/e wc/d/g; echo f > wc/d/f; echo e > wc/d/e/f; echo g > wc/d/g/f
svn add -q wc/d
svn ps -q p root wc
svn ps -q p below wc/d
svn ci -q -m one wc
svn up -q wc
svn ps -q p working wc
svn proplist -v --show-inherited-props wc/d/e
svn proplist -v --show-inherited-props -rCOMMITTED wc/d/e
svn proplist -v --show-inherited-props -rBASE wc/d/e
svn propget p --show-inherited-props -rCOMMITTED wc/d/e
svn propget p --show-inherited-props wc/d/e@BASE
svn mkdir -m m --with-revprop svn:foo=bar URL/repo/x
svn mkdir -m m --with-revprop svn:log=bar URL/repo/x
svn ci -m m --with-revprop svn:foo=bar wc
svn mkdir -m m URL/plain/x
svn switch --ignore-ancestry URL/elsewhere wc
svn co URL/repo/d wc/d
svn co URL/repo/d/e wc/d
svn co -q URL/repo/d/e wc/nested
svn info --show-item wc-root wc/nested
rm -rf wc/nested
touch wc/d/e/unversioned
svn up --set-depth empty wc/d
svn st wc
svn up -q --set-depth infinity wc/d
rm wc/d/e/unversioned
svn up --set-depth exclude wc/d/e
svn st wc
svn up -q --set-depth infinity wc/d/e
printf 'SVN-fs-dump-format-version: 2\n\nRevision-number: 0\nProp-content-length: 33\nContent-length: 33\n\nK 7\nsvn:log\nV 6\na\nb\r\nc\nPROPS-END\n' | svnadmin load -q --bypass-prop-validation elsewhere
svn propget --revprop -r0 svn:log URL/elsewhere
echo '$Rev$ $Author$' > wc/d/k
svn add -q wc/d/k
svn ps -q svn:keywords 'Rev Author' wc/d/k
svn ci -q -m k wc/d/k
echo more >> wc/d/k
svn cat wc/d/k
echo new > wc/d/new; svn add -q wc/d/new
svn cat -r COMMITTED wc/d/k
svn cat -r COMMITTED wc/d/new
svn cat wc/d/new@COMMITTED
svn revert -q wc/d/new; rm wc/d/new
svn co -q URL/repo other
printf 'f\nmore\n' > other/d/f
svn ci -q -m f other
chmod -R u+w wc/.svn/pristine
for f in $(find wc/.svn/pristine -name '*.svn-base'); do echo broken >> $f; done
svn up wc
svn st wc
printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' > other/.svn/wc.db
svn st other
";

/// File externals, copies of what is not there, and comparisons that notice ancestry.
const MORE: &str = r"
svnadmin create repo
svnadmin setuuid repo 11111111-1111-4111-8111-111111111111
svn co -q URL/repo wc
svn diff -rPREV wc
svn ls -rPREV wc
mkdir -p wc/a/e wc/a/g wc/b; echo f > wc/f; for i in one two; do echo $i > wc/a/e/$i; echo $i > wc/a/g/$i; done
svn add -q wc/a wc/b wc/f
svn ci -q -m 1 wc
svn up -q wc
svn ps -q svn:externals '^/f b/x/file' wc
svn up wc
svn ci -q -m 2 wc
svn up -q wc
svn st -v wc/b
svn info --show-item revision wc/b/x/file
svn ps -q svn:externals '^/f b/y' wc
svn up wc
svn ci -q -m 4 wc
svn cp -q -m 5 URL/repo/f URL/repo/b/y
svn up wc
svn pd -q svn:externals wc
svn up wc
svn up wc
svn st -v wc/b
svn ci -q -m 6 wc
svn up -q wc
svn rm -q wc/a/e/one
svn ci -q -m 7 wc
svn cp -q wc/a/e wc/e
svn info --show-item kind wc/e/one
svn info --show-item depth wc/e/one
svn st wc
svn revert -q -R wc
svn rm -q wc/a/e
svn cp -q wc/f wc/a/e
svn st wc
svn st -v wc/a
svn revert -q -R wc
echo more > wc/a/g/one
svn ci -q -m 8 wc
svn up -q wc
svn mv -q wc/a/g/one wc/a/moved
svn diff -r1 wc/a/moved
svn diff -r1 --show-copies-as-adds wc/a/moved
svn diff -r1 --notice-ancestry wc/a/moved
svn diff -r1 --git wc/a/moved
svn diff -r2 --git wc
svn diff -r1 --git wc/a
svn diff -r2 --show-copies-as-adds wc/a
svn revert -q -R wc
svn diff wc/a/e URL/repo/f
svn diff --git --old=URL/repo/f --new=wc/a/e
svn diff --summarize --old=wc/a/e --new=URL/repo/f
svn ci -q -m 9 wc
svn ps -q p v wc/f
svn ci -q -m 10 wc
svn up -q wc
svn diff --summarize -r8 wc/f
svn diff -r8 wc/f
echo more >> wc/f
svn ci -q -m 11 wc
svn up -q wc
echo f > wc/f
svn pd -q p wc/f
svn diff --summarize -r8 wc/f
svn diff --summarize -rBASE wc/f
svn diff -r8 wc/f
svn revert -q -R wc
svn co -q --depth empty URL/repo later
rmdir later/.svn/tmp
svn up -q --set-depth infinity later
svn cleanup later
svn st later
mkdir -p plain/e; echo x > plain/f; printf '\0\001' > plain/bin; echo other > plain/e/two; echo u > wc/a/unversioned
svn diff --old=wc/a --new=wc/b
svn diff --old=wc/a --new=plain
svn diff --old=plain --new=wc/a
svn diff --summarize --old=wc/a --new=plain
svn diff --depth files --old=wc/a --new=plain
svn diff --depth immediates --old=wc/a --new=plain
svn diff --old=wc/a --new=none
svn diff --old=wc/f --new=plain/bin
svn diff --old=wc/a --new=plain/f
svn diff --old=none --new=nothing
svn diff --old=$PWD/plain --new=wc/a
svn diff --old=wc/f --new=$PWD/plain/f
svn diff --summarize -r8 wc
svn diff --summarize -r10 wc/a
cd wc && svn diff --summarize -r8
cd wc && svn diff --summarize -r11
cd wc/a && svn diff --summarize -r1
cd wc && svn diff --summarize -r7 a/g
svn diff --summarize --old=URL/repo/a@7 --new=wc/a
svn diff --summarize --old=wc/a --new=URL/repo/a@7
svn diff --summarize -rHEAD wc/a
svn diff --summarize -r8 wc/a/g
";

/// The repository has something new where an external is.
const IN_THE_WAY: &str = r"
svnadmin create repo
svn co -q URL/repo wc
mkdir -p wc/a/g wc/b; echo f > wc/a/f
svn add -q wc/a wc/b
svn ci -q -m 1 wc
svn up -q wc
svn ps -q svn:externals '^/a X' wc/b
svn ci -q -m 2 wc
svn pd -q svn:externals wc/b
svn mkdir -q wc/b/X wc/b/X/g wc/b/X/h
svn ci -q -m 3 wc
svn up -q wc
svn up -q -r2 wc
svn st -u wc
svn st wc
";

/// A folder that was added stands where an external had been brought.
const GIVES_WAY: &str = r"
svnadmin create repo
svn co -q URL/repo wc
mkdir -p wc/a/g; echo f > wc/a/f
svn add -q wc/a
svn ci -q -m 1 wc
svn up -q wc
svn ps -q svn:externals '^/a X' wc
svn up wc
rm -rf wc/X
svn mkdir wc/X
svn st wc
svn up wc
svn st wc
svn ci -q -m 2 wc
svn up wc
svn pd -q svn:externals wc
svn up wc
svn st wc
";

fn run(programs: &Programs, line: &str, folder: &std::path::Path) -> String {
    let shown = folder.display().to_string();
    let mut command = match line.strip_prefix("svn ") {
        Some(rest) => {
            let mut command = programs.command("svn");
            let mut words: Vec<String> = Vec::new();
            for (at, part) in rest.split('\'').enumerate() {
                match at % 2 {
                    0 => words.extend(part.split(' ').filter(|w| !w.is_empty()).map(str::to_owned)),
                    _ => words.push(part.to_owned()),
                }
            }
            let url = format!("file://{shown}");
            command.arg("--username=jo").args(words.iter().map(|w| w.replace("URL", &url)));
            command
        }
        None => {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command
        }
    };
    let output = command.current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = format!(
        "{line}\n{}{}{:?}",
        text(&output.stdout),
        text(&output.stderr),
        output.status.code()
    );
    said.replace(&shown, "FOLDER")
}

fn compare(steps: &str) {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for line in steps.lines().filter(|line| !line.is_empty()) {
        let said = run(&Programs::ours(), line, ours.path());
        assert_eq!(said, run(&Programs::reference(), line, theirs.path()));
    }
}

#[test]
fn as_the_reference_says() {
    compare(STEPS);
}

#[test]
fn as_the_reference_says_of_externals_and_comparisons() {
    compare(MORE);
}

#[test]
fn as_the_reference_says_of_what_is_new_in_an_external() {
    compare(IN_THE_WAY);
}

#[test]
fn as_the_reference_says_of_a_folder_in_place_of_an_external() {
    compare(GIVES_WAY);
}
