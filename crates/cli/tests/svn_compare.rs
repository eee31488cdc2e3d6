//! The same command lines through `svn` of the reference and ours, on equal working copies: what is
//! said, to which stream, and the exit code must be the same.
//!
//! A table is a text file in `svn_compare`: each line is given to a shell, one after the other, in a
//! folder of their own, in which `base.txt` has run before; `$R` is the repository's URL. A line that
//! ends with a backslash goes on. Dates, UUIDs and the order of XML attributes (random in the
//! reference) do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::Programs;

/// Shapes of what differs from run to run: 9 is a digit, @ a letter, # a digit of hexadecimal numbers.
const VARYING: [&str; 4] = [
    "9999-99-99T99:99:99.999999Z",
    "9999-99-99 99:99:99 +9999 (@@@, 99 @@@ 9999)",
    "@@@ 99 99:99",
    "########-####-####-####-############",
];

fn fits(shape: &str, text: &[u8]) -> bool {
    text.len() >= shape.len()
        && shape.bytes().zip(text).all(|(wanted, byte)| match wanted {
            b'9' => byte.is_ascii_digit(),
            b'@' => byte.is_ascii_alphabetic(),
            b'#' => byte.is_ascii_hexdigit(),
            wanted => wanted == *byte,
        })
}

/// The text with what varies taken out.
fn masked(text: &[u8]) -> String {
    let mut made = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match VARYING.iter().find(|shape| fits(shape, &text[at..])) {
            Some(shape) => {
                made.extend_from_slice(b"<varies>");
                at += shape.len();
            }
            None => {
                made.push(text[at]);
                at += 1;
            }
        }
    }
    sorted_attributes(&String::from_utf8_lossy(&made))
}

/// Lines like `   name="value">` in a row, sorted by name; what follows the last value stays last.
fn sorted_attributes(text: &str) -> String {
    let attribute = |line: &str| -> Option<usize> {
        let rest = line.strip_prefix("   ")?;
        let (name, rest) = rest.split_once("=\"")?;
        let plain = name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'_');
        let end = rest.find('"').filter(|_| plain && !name.is_empty())?;
        Some(3 + name.len() + 2 + end + 1)
    };
    let mut made = String::new();
    let mut row: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        match attribute(line) {
            Some(end) => {
                row.push(&line[..end]);
                if line[end..].trim() != "" {
                    row.sort_unstable();
                    made.push_str(&row.join("\n"));
                    made.push_str(&line[end..]);
                    row.clear();
                }
            }
            None => made.push_str(line),
        }
    }
    made
}

fn lines(table: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (text, more) = match line.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(text),
            None => lines.push(text.to_owned()),
        }
        goes_on = more;
    }
    lines
}

/// Runs all lines with one set of programs; what each said.
fn run(lines: &[String], folder: &Path, programs: &Programs) -> Vec<String> {
    let _gone = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder.join("home")).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let said = |line: &String| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder).stdin(Stdio::null()).env_clear();
        command.env("PATH", &path).env("HOME", folder.join("home"));
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.env("R", format!("file://{}/repo", folder.display()));
        let output = command.output().unwrap();
        format!(
            "{}\n-- stderr:\n{}\n-- exit code: {:?}\n",
            masked(&output.stdout),
            masked(&output.stderr),
            output.status.code()
        )
    };
    lines.iter().map(said).collect()
}

fn compare(table: &str) {
    let mut all = lines(include_str!("svn_compare/base.txt"));
    all.extend(lines(table));
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("box");
    let reference = run(&all, &folder, &Programs::reference());
    let ours = run(&all, &folder, &Programs::ours());
    let mut told = String::new();
    for ((line, reference), ours) in all.iter().zip(&reference).zip(&ours) {
        if reference != ours {
            writeln!(told, "$ {line}\n** reference:\n{reference}** ours:\n{ours}").unwrap();
        }
    }
    assert!(told.is_empty(), "{told}");
}

#[test]
fn logs_and_listings() {
    compare(include_str!("svn_compare/log.txt"));
}

#[test]
fn updates_and_conflicts() {
    compare(include_str!("svn_compare/update.txt"));
}

#[test]
fn changelists_and_info() {
    compare(include_str!("svn_compare/info.txt"));
}

#[test]
fn wrong_usage() {
    compare(include_str!("svn_compare/usage.txt"));
}

#[test]
fn every_subcommand() {
    compare(include_str!("svn_compare/everyday.txt"));
}

#[test]
fn options_that_stand_nowhere_else() {
    compare(include_str!("svn_compare/options.txt"));
}

/// An option as a subcommand's help names it: all its spellings, and whether it takes an argument.
#[derive(Clone)]
struct Listed {
    spellings: Vec<String>,
    has_argument: bool,
    /// Whether all subcommands take it.
    global: bool,
}

/// The options of a help text.
fn listed(help: &str) -> Vec<Listed> {
    let mut global = false;
    let mut options = Vec::new();
    for line in help.lines() {
        global |= line.starts_with("Global options");
        let Some((option, _)) = line.split_once(" : ").filter(|_| line.starts_with("  -")) else {
            continue;
        };
        let words = option.split_whitespace().map(|word| word.trim_matches(['[', ']']));
        let (spellings, others): (Vec<&str>, Vec<&str>) = words.partition(|w| w.starts_with('-'));
        options.push(Listed {
            spellings: spellings.into_iter().map(str::to_owned).collect(),
            has_argument: !others.is_empty(),
            global,
        });
    }
    options
}

/// The pairs of a subcommand and an option that no line gives to `svn`; a global option is one pair.
fn pairs_without_a_line(
    subcommands: &[(Vec<String>, Vec<Listed>)],
    lines: &[String],
) -> BTreeSet<String> {
    let key = |name: &str, option: &Listed| {
        let name = if option.global { "any" } else { name };
        format!("{name} {}", option.spellings.last().unwrap())
    };
    let mut missing: BTreeSet<String> = subcommands
        .iter()
        .flat_map(|(names, options)| options.iter().map(|option| key(&names[0], option)))
        .collect();
    let by_name: BTreeMap<&str, _> = subcommands
        .iter()
        .flat_map(|all| all.0.iter().map(move |name| (name.as_str(), all)))
        .collect();
    let commands = lines.iter().flat_map(|line| line.split(['&', '|', ';', '(', '`']));
    for command in commands {
        let words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"', ')']));
        let words: Vec<&str> = words.skip_while(|word| *word != "svn").skip(1).collect();
        let Some((names, options)) = words.iter().find_map(|word| by_name.get(word)) else {
            continue;
        };
        let find = |spelling: &str| {
            options.iter().find(|option| option.spellings.iter().any(|known| known == spelling))
        };
        for word in words {
            if word.starts_with("--") {
                let found = find(word.split('=').next().unwrap());
                missing.retain(|pair| found.is_none_or(|option| *pair != key(&names[0], option)));
                continue;
            }
            // Letters in a row, up to the first that takes what follows as its argument.
            for letter in word.strip_prefix('-').unwrap_or_default().chars() {
                let Some(option) = find(&format!("-{letter}")) else { break };
                missing.remove(&key(&names[0], option));
                if option.has_argument {
                    break;
                }
            }
        }
    }
    missing
}

#[test]
fn every_option_of_every_subcommand_has_a_line() {
    let ours = Programs::ours();
    let say =
        |args: &[&str]| -> String { String::from_utf8(ours.run("svn", args).stdout).unwrap() };
    // What 1.15 has beyond 1.14.
    let later = ["--compatible-version", "--store-pristine"];
    let mut subcommands = Vec::new();
    for line in say(&["help"]).lines().filter_map(|line| line.strip_prefix("   ")) {
        let names: Vec<String> =
            line.split([' ', '(', ')', ',']).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        let mut options = listed(&say(&["help", "-v", &names[0]]));
        options.retain(|option| !later.contains(&option.spellings[0].as_str()));
        subcommands.push((names, options));
    }
    subcommands.retain(|(names, _)| names[0] != "'svn");
    let (global, own): (Vec<&Listed>, Vec<&Listed>) =
        subcommands.iter().flat_map(|(_, options)| options).partition(|option| option.global);
    assert!(own.len() > 300 && global.len() > 300, "{} {}", own.len(), global.len());

    let mut tables: Vec<String> = [
        include_str!("svn_compare/base.txt"),
        include_str!("svn_compare/everyday.txt"),
        include_str!("svn_compare/info.txt"),
        include_str!("svn_compare/log.txt"),
        include_str!("svn_compare/update.txt"),
        include_str!("svn_compare/usage.txt"),
    ]
    .into_iter()
    .flat_map(lines)
    .collect();
    // The count sees what is not there.
    let before = pairs_without_a_line(&subcommands, &tables);
    assert!(before.contains("copy --pin-externals") && before.len() > 50, "{before:#?}");
    assert!(!before.contains("info --show-item"), "{before:#?}");
    tables.extend(lines(include_str!("svn_compare/options.txt")));
    let missing = pairs_without_a_line(&subcommands, &tables);
    assert!(missing.is_empty(), "{missing:#?}");
}

/// What a help text has in common with the reference's: the lines up to the last one of the usage, and
/// the options.
fn structure(text: &str) -> (Vec<String>, Vec<String>) {
    let mut head = Vec::new();
    let mut options = Vec::new();
    let mut in_head = true;
    for line in text.lines() {
        if in_head && !line.trim().is_empty() {
            head.push(line.to_owned());
        } else if head.iter().any(|line| line.contains("usage:")) {
            in_head = false;
        }
        if let Some((option, _)) = line.split_once(" : ").filter(|_| line.starts_with("  -")) {
            options.push(option.trim().to_owned());
        }
    }
    (head, options)
}

#[test]
fn help_texts_have_the_same_structure() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let say = |programs: &Programs, args: &[&str]| {
        String::from_utf8(programs.run("svn", args).stdout).unwrap()
    };
    let names: Vec<String> = say(&reference, &["help"])
        .lines()
        .filter_map(|line| line.strip_prefix("   "))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .filter(|name| !name.is_empty() && !name.starts_with("x-") && !name.starts_with('\''))
        .collect();
    assert!(names.len() > 35, "{names:?}");
    let mut told = String::new();
    let mut copied = BTreeSet::new();
    for name in &names {
        let (theirs, own) =
            (say(&reference, &["help", "-v", name]), say(&ours, &["help", "-v", name]));
        let (wanted, mut found) = (structure(&theirs), structure(&own));
        // What 1.15 has beyond 1.14.
        let later = ["--compatible-version ARG", "--store-pristine ARG"];
        found.1.retain(|option| !later.contains(&option.as_str()));
        if wanted != found {
            writeln!(told, "{name}:\n{wanted:#?}\nbut ours:\n{found:#?}").unwrap();
        }
        // Our explanations are our own.
        let head = wanted.0.len();
        for line in own.lines().skip(head).map(str::trim).filter(|line| line.len() > 40) {
            // Words of the command line may be the same.
            if line.split_whitespace().all(|word| word.starts_with(['-', '\''])) {
                continue;
            }
            if theirs.lines().skip(head).any(|other| other.trim() == line) {
                copied.insert(format!("{name}: {line}"));
            }
        }
    }
    assert!(told.is_empty(), "{told}");
    assert!(copied.is_empty(), "{copied:#?}");
}
