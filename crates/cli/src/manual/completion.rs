//! Completion for `bash`, `zsh` and `fish`: subcommands, and the options of the subcommand that is typed.
//! Files are left to the shell.

use std::collections::BTreeSet;

use super::{Manual, OptionText, Part};

fn words<'a>(options: impl Iterator<Item = &'a OptionText>) -> String {
    let typed: BTreeSet<&str> = options.flat_map(|o| &o.typed).map(String::as_str).collect();
    typed.into_iter().collect::<Vec<_>>().join(" ")
}

/// The script for the program `name`.
pub(crate) fn bash(name: &str, manual: &Manual) -> String {
    let function = format!("_sapwood_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let mut cases = String::new();
    for Part { names, options, .. } in &manual.parts {
        let pattern = names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join("|");
        let options = words(options.iter().chain(&manual.options));
        cases.push_str(&format!("            {pattern}) words='{options}' ;;\n"));
    }
    let all = words(manual.options.iter());
    let names: Vec<&str> =
        manual.parts.iter().filter_map(|p| p.names.first()).map(String::as_str).collect();
    let subcommands = names.join(" ");
    format!(
        "# Completion of {name} for bash, made by 'sapwood install-links --completions'.\n\
         {function}() {{\n    \
             local current=${{COMP_WORDS[COMP_CWORD]}} words='' word sub='' at\n    \
             for ((at = 1; at < COMP_CWORD; at++)); do\n        \
                 word=${{COMP_WORDS[at]}}\n        \
                 case $word in -*) ;; *) sub=$word; break ;; esac\n    \
             done\n    \
             if [[ $current == -* ]]; then\n        \
                 case $sub in\n{cases}            \
                     *) words='{all} --help --version' ;;\n        \
                 esac\n    \
             elif [[ -z $sub || $sub == help ]]; then\n        \
                 words='{subcommands}'\n    \
             fi\n    \
             mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n\
         }}\n\
         complete -o default -F {function} {name}\n"
    )
}

/// Text in single quotes of `zsh` or `fish`.
fn quoted(text: &str, quote: &str) -> String {
    format!("'{}'", text.replace('\'', quote))
}

/// The first line of an explanation.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim()
}

/// The script for `zsh`.
pub(crate) fn zsh(name: &str, manual: &Manual) -> String {
    let list = |options: &mut dyn Iterator<Item = &OptionText>| {
        let mut words = BTreeSet::new();
        for option in options {
            for typed in &option.typed {
                let about = first_line(&option.about).replace(':', "\\:");
                words.insert(quoted(&format!("{typed}:{about}"), "'\\''"));
            }
        }
        words.into_iter().collect::<Vec<_>>().join(" ")
    };
    let mut cases = String::new();
    let mut subcommands = Vec::new();
    for part in &manual.parts {
        let pattern = part.names.iter().map(|n| quoted(n, "'\\''")).collect::<Vec<_>>().join("|");
        let options = list(&mut part.options.iter().chain(&manual.options));
        cases.push_str(&format!("            {pattern}) options=({options}) ;;\n"));
        let about = first_line(&part.text).replace(':', "\\:");
        let first = part.names.first().map_or("", String::as_str);
        subcommands.push(quoted(&format!("{first}:{about}"), "'\\''"));
    }
    let all = list(&mut manual.options.iter());
    let subcommands = subcommands.join(" ");
    format!(
        "#compdef {name}\n\
         # Completion of {name} for zsh, made by 'sapwood install-links --zsh'.\n\
         local word sub=''\n\
         local -a options subcommands\n\
         for word in ${{words[2,CURRENT-1]}}; do\n    \
             case $word in -*) ;; *) sub=$word; break ;; esac\n\
         done\n\
         if [[ $PREFIX == -* ]]; then\n    \
             case $sub in\n{cases}            \
                 *) options=({all} '--help:explain' '--version:say the version') ;;\n    \
             esac\n    \
             _describe -o option options\n\
         elif [[ -z $sub || $sub == help ]]; then\n    \
             subcommands=({subcommands})\n    \
             _describe subcommand subcommands\n    \
             [[ -z $sub && ${{#subcommands}} -eq 0 ]] && _files\n\
         else\n    \
             _files\n\
         fi\n"
    )
}

/// A word that is no pattern of file names to fish, within single quotes.
fn pattern_free(word: &str) -> String {
    let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if plain { word.to_owned() } else { format!("\"{word}\"") }
}

/// The script for `fish`.
pub(crate) fn fish(name: &str, manual: &Manual) -> String {
    let mut text =
        format!("# Completion of {name} for fish, made by 'sapwood install-links --fish'.\n");
    let word = |text: &str| quoted(&text.replace('\\', "\\\\"), "\\'");
    let mut line = |when: &str, option: &OptionText| {
        let mut words = String::new();
        for typed in &option.typed {
            match typed.strip_prefix("--") {
                Some(long) => words.push_str(&format!(" -l {}", word(long))),
                None => words.push_str(&format!(" -s {}", word(typed.trim_start_matches('-')))),
            }
        }
        if words.is_empty() {
            return;
        }
        // An option with a value is marked behind its name.
        let value = if option.shown.ends_with(" ARG") { " -r" } else { "" };
        let about = word(first_line(&option.about));
        text.push_str(&format!("complete -c {name}{when}{words}{value} -d {about}\n"));
    };
    for option in &manual.options {
        line("", option);
    }
    for part in &manual.parts {
        // The condition is a command of fish, to which `?` is a pattern unless it is quoted.
        let names: Vec<String> = part.names.iter().map(|name| pattern_free(name)).collect();
        let when = format!(" -n '__fish_seen_subcommand_from {}'", names.join(" "));
        part.options.iter().for_each(|option| line(&when, option));
    }
    for part in &manual.parts {
        let about = word(first_line(&part.text));
        if let Some(first) = part.names.first() {
            let when = "-n __fish_use_subcommand -f";
            text.push_str(&format!("complete -c {name} {when} -a {} -d {about}\n", word(first)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_and_option_is_completed() {
        let manual = crate::svn::manual();
        let scripts = [bash("svn", &manual), zsh("svn", &manual), fish("svn", &manual)];
        for part in &manual.parts {
            let name = part.names.first().unwrap();
            for script in &scripts {
                assert!(script.contains(name.as_str()), "{name}");
                for typed in part.options.iter().flat_map(|option| &option.typed) {
                    let bare = typed.trim_start_matches('-');
                    assert!(script.contains(bare), "{name} {typed}");
                }
            }
        }
        // A bare `?` is a pattern to fish 3, which complains at each TAB that it fits no file.
        assert!(!fish("svn", &manual).contains(" ? "));
        // Quotes in explanations do not end the words that they are in.
        let option = OptionText {
            shown: "--x ARG".to_owned(),
            typed: vec!["--x".to_owned()],
            about: "as in 'y': z".to_owned(),
        };
        let manual = Manual { options: vec![option], ..Manual::default() };
        assert!(zsh("p", &manual).contains(r"'--x:as in '\''y'\''\: z'"));
        assert!(fish("p", &manual).contains(r"complete -c p -l 'x' -r -d 'as in \'y\': z'"));
    }
}
