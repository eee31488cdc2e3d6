//! `svnmucc propset` and `propsetf` refuse, and keep, the values that the reference's do.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use sapwood_testkit::{Programs, long};

const NAMES: &[&str] = &[
    "svn:mime-type",
    "svn:externals",
    "svn:eol-style",
    "svn:keywords",
    "svn:executable",
    "svn:needs-lock",
    "svn:special",
    "svn:ignore",
    "svn:global-ignores",
    "svn:auto-props",
    "svn:mergeinfo",
    "svn:unknown",
    "svn:log",
    "own",
];

const VALUES: &[&str] = &[
    "",
    "junk",
    "text/plain",
    " text/plain; charset=x ",
    "a/b/c",
    "image/png",
    "native",
    "LF ",
    "/a:1-2",
    "/f:1*",
    "^/d x",
    "^/d x\n^/d x",
    "^/d ../x",
    "d",
    "-rX ^/d x",
    "*",
    "Id  Rev",
    "one\r\ntwo\n",
];

/// What is changed: `N` and `V` are the property's name and value.
const ACTIONS: &[&str] = &[
    "propset N V f",
    "propset N V d",
    "propset N V mixed",
    "propset N V nowhere",
    "propsetf N value f",
    "put mixed new propset N V new",
    "put plain mixed propset N V mixed",
    "propset svn:mime-type image/png f propset N V f",
    "mkdir e propset N V e",
    "cp HEAD mixed g propset N V g",
];

fn run(programs: &Programs, folder: &Path, program: &str, args: &[&str]) -> String {
    let mut command = programs.command(program);
    command.args(args).current_dir(folder).stdin(Stdio::null()).env("HOME", folder);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}{:?}\n", text(&output.stdout), text(&output.stderr), output.status.code())
}

/// How far apart an action is tried again, unless a long run is wanted: each value of each property has a fourth of the
/// actions, and each action a fourth of the values.
const APART: usize = 4;

/// What is tried: the arguments of `svnmucc`, in a folder of its own.
fn cases(names: &[&str]) -> Vec<Vec<String>> {
    let apart = if long() { 1 } else { APART };
    let mut all = Vec::new();
    for (row, name) in names.iter().enumerate() {
        for (column, value) in VALUES.iter().enumerate() {
            for action in ACTIONS.iter().skip((row + column) % apart).step_by(apart) {
                let file = format!("value{column}");
                let word = |word: &str| match word {
                    "N" => (*name).to_owned(),
                    "V" => (*value).to_owned(),
                    "value" => file.clone(),
                    other => other.to_owned(),
                };
                all.push(action.split(' ').map(word).collect());
            }
        }
    }
    all
}

/// What one side says of each case, and the properties of each node in the end: those of a case are below its folder.
fn outcomes(
    programs: &Programs,
    folder: &Path,
    cases: &[Vec<String>],
) -> (Vec<String>, BTreeSet<String>) {
    let reference = Programs::reference();
    for (column, value) in VALUES.iter().enumerate() {
        fs::write(folder.join(format!("value{column}")), value).unwrap();
    }
    fs::write(folder.join("plain"), "a\nb\n").unwrap();
    fs::write(folder.join("mixed"), "a\r\nb\n").unwrap();
    let root = format!("file://{}/r", folder.display());
    let made = ["put", "plain", "t/f", "put", "mixed", "t/mixed", "mkdir", "t/d"];
    let copies: Vec<String> = (0..cases.len()).map(|at| format!("case{at:04}")).collect();
    let copy = |to: &'static str| move |name: &String| [to, "1", "t", name].map(str::to_owned);
    let copies: Vec<String> = copies.iter().flat_map(copy("cp")).collect();
    let copies: Vec<&str> = copies.iter().map(String::as_str).collect();
    for (program, args) in [
        ("svnadmin", &["create", "r"][..]),
        ("svnmucc", &[&["-m", "x", "-U", &root, "mkdir", "t"][..], &made].concat()),
        ("svnmucc", &[&["-m", "x", "-U", &root][..], &copies].concat()),
    ] {
        let said = run(&reference, folder, program, args);
        assert!(said.ends_with("Some(0)\n"), "{said}");
    }
    let one = |(at, case): (usize, &Vec<String>)| {
        let url = format!("{root}/case{at:04}");
        let mut args = vec!["-m", "m", "-U", &url];
        args.extend(case.iter().map(String::as_str));
        let said = run(programs, folder, "svnmucc", &args);
        // Only a revision's number may be another: refused cases make none.
        let lines =
            said.lines().filter(|line| !line.starts_with('r') || !line.contains(" committed "));
        lines.map(|line| line.replace(&root, "ROOT") + "\n").collect()
    };
    let said = cases.iter().enumerate().map(one).collect();
    let props = run(programs, folder, "svn", &["proplist", "-vR", &root]).replace(&root, "ROOT");
    let props = props.strip_suffix("Some(0)\n").expect("a list of properties");
    // In no order.
    (said, props.split("Properties on ").map(|block| block.trim_end().to_owned()).collect())
}

fn compare(names: &[&str]) -> String {
    let cases = cases(names);
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (wanted, in_the_end) = outcomes(&Programs::reference(), folders[0].path(), &cases);
    let (found, at_our_end) = outcomes(&Programs::ours(), folders[1].path(), &cases);
    let mut differences = String::new();
    for ((case, wanted), found) in cases.iter().zip(wanted).zip(found) {
        if wanted != found {
            writeln!(differences, "svnmucc {case:?}\n1.14: {wanted}\nours: {found}").unwrap();
        }
    }
    for block in in_the_end.symmetric_difference(&at_our_end) {
        let side = if in_the_end.contains(block) { "1.14" } else { "ours" };
        writeln!(differences, "only {side}: {block}").unwrap();
    }
    differences
}

#[test]
fn values_of_properties_as_the_reference_takes_them() {
    let (one, two) = NAMES.split_at(NAMES.len() / 2);
    let differences = std::thread::scope(|scope| {
        let other = scope.spawn(|| compare(two));
        compare(one) + &other.join().unwrap()
    });
    assert!(differences.is_empty(), "{differences}");
}
