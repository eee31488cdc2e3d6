//! Files that the user names and that are no plain files: pipes, devices, standard input, folders,
//! what may not be read. Programs do with them what the reference does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::compare::difference;
use sapwood_testkit::{Output, Programs, patience};

/// Runs a line of bash in which `svnXXX` are programs of one side, below a time limit.
fn bash(programs: &Programs, folder: &Path, line: &str, user: Option<&str>) -> Output {
    let mut command = Command::new("bash");
    if let Some(user) = user {
        command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
        command.arg("bash");
    }
    sapwood_testkit::programs::environment(&mut command);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", programs.dir().display()));
    command.env("SVN", Programs::reference().path("svn"));
    command.env("HOME", folder.join("home")).current_dir(folder).stdin(Stdio::null());
    let done = patience::run(command.args(["-c", line]), 60, &[], folder);
    done.unwrap_or_else(|late| panic!("{line} hangs ({}):\n{}", programs.label, late.report))
}

/// A folder with a repository `r` that all users may write to, whose first revisions are made.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let script = "svnadmin create r && svnadmin setuuid r 73cc67cf-b35f-4fe4-bdbb-5cee159a8126 && svnmucc -qm x mkdir file://$PWD/r/d 2>/dev/null \
        || svnmucc -m x mkdir file://$PWD/r/d >/dev/null; printf '[groups]\\ng = u\\n' >groups; \
        printf '[/]\\n* = r\\n@g = rw\\n' >authz; echo text >f; svnadmin dump -q r >dump; mkdir home";
    bash(&Programs::reference(), dir.path(), script, None).expect_success("the folder");
    dir
}

fn both(lines: &str, prepare: &str, user: Option<&str>) {
    let mut differences = String::new();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let run = |programs: &Programs| {
            let dir = folder();
            bash(&Programs::reference(), dir.path(), prepare, None).expect_success(prepare);
            if let Some(user) = user {
                let give = format!("chown -R {user} .");
                bash(&Programs::reference(), dir.path(), &give, None).expect_success("chown");
            }
            let out = bash(programs, dir.path(), line, user);
            let here = dir.path().display().to_string();
            out.replacing(&here, "HERE")
        };
        let (reference, ours) = (run(&Programs::reference()), run(&Programs::ours()));
        if let Some(difference) = difference(&reference, &ours) {
            differences += &format!(
                "== {prepare}: {line}
{difference}
"
            );
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Names of pipes are different in each run of bash, so they are not shown.
const PIPES: &str = "
svnauthz validate /dev/stdin <authz
cat authz | svnauthz validate /dev/stdin
svnauthz validate /dev/null
svnauthz validate .
svnauthz validate -- -
svnauthz accessof <(cat authz)
svnauthz accessof <(cat authz) --path / --username u --groups-file <(cat groups)
svnauthz accessof authz --path / --username u --groups-file /dev/stdin <groups
svnauthz accessof authz --groups-file nix
svnadmin freeze -F - echo frozen <<<r
svnadmin freeze -F <(echo r) echo frozen
svnadmin freeze -F . true
svnadmin freeze -F /dev/null echo frozen
svndumpfilter include --targets <(echo d) <dump | grep -a Node
svndumpfilter include --targets - <<<d
svndumpfilter exclude --targets /dev/stdin --quiet /x <<<d
svndumpfilter exclude --targets . /x <dump
svnmucc -m x put <(echo new) file://$PWD/r/f | wc -l; $SVN cat file://$PWD/r/f
mkfifo p; (echo new >p &) ; svnmucc -m x put p file://$PWD/r/f | wc -l; $SVN cat file://$PWD/r/f
mkfifo p q; (echo 1 >p &) ; (echo 2 >q &) ; svnmucc -m x -U file://$PWD/r put p g put q h >/dev/null; $SVN cat file://$PWD/r/{g,h}
svnmucc -m x put /dev/null file://$PWD/r/f | wc -l; $SVN cat file://$PWD/r/f
svnmucc -m x put /dev/stdin file://$PWD/r/f <f | wc -l; $SVN cat file://$PWD/r/f
svnmucc -m x put . file://$PWD/r/f
svnmucc -m x -X <(printf 'mkdir\\nfile://%s/r/a\\n' $PWD) | wc -l
printf 'mkdir\\nfile://%s/r/a\\n' $PWD | svnmucc -m x -X - | wc -l
svnmucc -F <(echo message) mkdir file://$PWD/r/a | wc -l; svnlook log r
svnmucc -F . mkdir file://$PWD/r/a
svnmucc -m x propsetf p <(echo value) file://$PWD/r | wc -l; svnlook pg r p /
svnadmin setlog --bypass-hooks r -r 1 <(echo message); svnlook log r
svnadmin setlog --bypass-hooks r -r 1 /dev/null; svnlook log r
svnadmin setlog --bypass-hooks r -r 1 .
svnadmin setrevprop r -r 1 p /dev/stdin <f; $SVN pg --revprop -r1 p file://$PWD/r
svnadmin lock r /f u <(echo comment); svnadmin lslocks r | grep -v UUID
svnadmin load -q -F <(cat dump) r --ignore-uuid; svnlook youngest r
svnadmin load -q -F . r
svnadmin load-revprops -q -F <(cat dump) r
svnadmin dump -q -F >(cat >out) r; wait $!; cmp out dump
svnadmin dump -q -F /dev/stdout r | cmp - dump
svnadmin dump -q -F . r
svnrdump load -F . file://$PWD/r
svnrdump load -F nix file://$PWD/r
svnmucc -m x propset svn:eol-style LF file://$PWD/r/nix
svnmucc -m x propset p v file://$PWD/r/nix
svnmucc -m x -U file://$PWD/r propset svn:eol-style LF nix mkdir q
svnmucc -m x -U file://$PWD/r propset svn:ignore LF d/nix mkdir q
svnmucc -m x -U file://$PWD/r propdel svn:eol-style nix mkdir q
svnserve -i --config-file . </dev/null >/dev/null
svnserve -i --config-file nix </dev/null >/dev/null
svnserve -i --log-file . </dev/null >/dev/null
";

#[test]
fn what_is_no_plain_file() {
    both(PIPES, "true", None);
}

/// Programs that look at the user's configuration.
const CONFIGURED: &str = "
svnmucc -m x rm file://$PWD/r/nix
svnrdump dump -q file://$PWD/r | grep -av 'Z$'
svnsync info file://$PWD/r
svnbench null-info file://$PWD/r | grep -v seconds
svnadmin info r | grep Revisions
svnlook youngest r
";

#[test]
fn a_users_configuration_that_cannot_be_read() {
    for prepare in [
        "mkdir home/.subversion; echo >home/.subversion/config; chmod 0 home/.subversion/config",
        "mkdir home/.subversion; echo >home/.subversion/servers; chmod 0 home/.subversion/servers",
        "mkdir -p home/.subversion/config",
        "mkdir -p home/.subversion/servers",
        "mkdir home/.subversion; chmod 0 home/.subversion",
        "echo >home/.subversion",
        "mkdir home/.subversion; echo '[broken' >home/.subversion/config",
        "mkdir home/.subversion; ln -s nix home/.subversion/config",
        "mkdir home/.subversion; ln -s config home/.subversion/config",
    ] {
        both(CONFIGURED, prepare, Some("65534"));
    }
}

#[test]
fn locales_that_are_none() {
    let lines = "
LC_ALL=nonsense svnadmin info r | grep Revisions
LC_ALL=nonsense svnlook youngest r
LC_ALL=nonsense svnserve --version -q | wc -l
LC_ALL=nonsense svnmucc --help | wc -l >/dev/null
LC_ALL=nonsense svndumpfilter include nix </dev/null
LC_ALL=nonsense svnauthz validate authz
LC_ALL=nonsense svnrdump dump -q file://$PWD/r | wc -l
LC_ALL=nonsense.UTF-8 svnadmin lstxns r
LC_ALL=nonsense.UTF-8 svnadmin \u{e9} r
LC_ALL= LC_CTYPE=zz_ZZ svnlook youngest r
LC_ALL= LANG=zz_ZZ@euro svnlook youngest r
LC_ALL= LC_CTYPE=C LANG=zz_ZZ svnlook youngest r
LC_ALL=C svnlook youngest r
LC_ALL=C.utf8 svnlook youngest r
LC_ALL=POSIX svnlook youngest r
LC_ALL=/nix svnlook youngest r
";
    both(lines, "true", None);
}

/// A working copy whose database may not be looked at, or whose texts are gone: an error, not "no working copy" and not silence.
#[test]
fn a_working_copy_that_cannot_be_read() {
    let made = "$SVN co -q file://$PWD/r w; echo 1 >w/f; $SVN add -q w/f; $SVN ci -qm made w; ";
    let lines = "
svn st w
svn info w/f
svn up w
";
    both(lines, &format!("{made}chmod 0 w/.svn"), Some("65534"));
    let lines = "
echo 2 >>w/f; svn diff w
echo 2 >>w/f; svn revert w/f
echo 2 >>w/f; svn ci -m x w
svn cat w/f
svn add w/.svn/entries
";
    both(lines, &format!("{made}rm -r w/.svn/pristine/*"), None);
}

/// Pipes and sockets cannot be under version control.
#[test]
fn what_cannot_be_added() {
    let lines = "
svn add w/p; svn st w
svn add --force w; svn st w
svn import -m x w/sub file://$PWD/r/sub
svn import -m x w/p file://$PWD/r/p
rm w/f; mkfifo w/f; svn st w; svn revert w/f; svn st w
";
    let made = "$SVN co -q file://$PWD/r w; echo 1 >w/f; $SVN add -q w/f; $SVN ci -qm made w; mkfifo w/p; mkdir w/sub; mkfifo w/sub/p; echo 1 >w/sub/f";
    both(lines, made, None);
}

/// Configuration of a repository and of the server.
#[test]
fn a_servers_configuration_that_cannot_be_read() {
    let ask = |name: &str| {
        format!(
            "printf '( 2 ( edit-pipeline ) {}:svn://localhost/{name} 3:foo ( ) ) ( EXTERNAL ( 0: ) ) ( get-latest-rev ( ) ) '",
            name.len() + 16
        )
    };
    // What is left of the greeting is the same on both sides, but for what they are able to do.
    let lines = format!(
        "\n{} | svnserve -t -r . | grep -ao 'failure.*'\n{} | svnserve -t -r . 2>&1 >/dev/null\n{} | svnserve -t -r . --config-file r/conf/svnserve.conf | grep -ao 'failure.*'\n",
        ask("r"),
        ask("nix"),
        ask("r"),
    );
    for prepare in [
        "true",
        "chmod 0 r/conf/svnserve.conf",
        "rm r/conf/svnserve.conf; mkdir r/conf/svnserve.conf",
        "echo '[broken' >r/conf/svnserve.conf",
        "printf '[general]\\npassword-db = nix\\n' >r/conf/svnserve.conf",
        "printf '[general]\\npassword-db = passwd\\n' >r/conf/svnserve.conf; chmod 0 r/conf/passwd",
        "printf '[general]\\npassword-db = .\\n' >r/conf/svnserve.conf",
        "printf '[general]\\nauthz-db = nix\\n' >r/conf/svnserve.conf",
        "printf '[general]\\nauthz-db = authz\\n' >r/conf/svnserve.conf; chmod 0 r/conf/authz",
        "printf '[general]\\nauthz-db = .\\n' >r/conf/svnserve.conf",
        "printf '[general]\\nauthz-db = authz\\ngroups-db = nix\\n' >r/conf/svnserve.conf",
        "printf '[general]\\nhooks-env = .\\n' >r/conf/svnserve.conf",
        "chmod 0 r/db/fsfs.conf",
        "rm r/db/fsfs.conf",
        "chmod 0 r/format",
        "chmod 0 r/db/format",
        "chmod 0 r/db/current",
        "chmod 0 r/db/uuid",
        "chmod 0 r",
    ] {
        both(&lines, prepare, Some("65534"));
    }
}
