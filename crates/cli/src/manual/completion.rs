//! What `bash` completes: subcommands, and the options of the subcommand that is typed. Files are left
//! to the shell.

use std::collections::BTreeSet;

use super::{Described, Manual, Part};

fn words<'a>(options: impl Iterator<Item = &'a Described>) -> String {
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
