//! Help texts and `--version`.

use sapwood_core::SvnResult;

use super::{COMPATIBLE_VERSION, Invocation, Name, Program, Subcommand, name};
use crate::report;

impl Program {
    /// The subcommand `help`, and `--version`.
    pub(super) fn help(&self, invocation: &mut Invocation<'_>) -> SvnResult<()> {
        let args = invocation.take_args(0, usize::MAX)?;
        if !args.is_empty() {
            for arg in args {
                match self.find(&arg) {
                    Some(subcommand) => invocation.out.text(&self.subcommand_help(subcommand))?,
                    None => {
                        invocation.out.flush()?;
                        report::stderr(&format!("\"{arg}\": unknown command.\n\n"));
                    }
                }
            }
            return Ok(());
        }
        if invocation.options.has(name::VERSION) {
            let quiet = invocation.options.has(name::QUIET);
            return invocation.out.text(&version_text(self.name, quiet, self.modules));
        }
        let mut text = self.help_header.to_owned();
        for subcommand in self.subcommands {
            text.push_str("   ");
            text.push_str(&title(subcommand));
            text.push('\n');
        }
        text.push('\n');
        invocation.out.text(&text)
    }

    fn subcommand_help(&self, subcommand: &Subcommand) -> String {
        let mut text = title(subcommand);
        text.push_str(": ");
        text.push_str(subcommand.help);
        for (heading, names) in
            [("Valid options", subcommand.options), ("Global options", self.global_options)]
        {
            self.describe_options(&mut text, heading, names, subcommand);
        }
        text
    }

    fn describe_options(
        &self,
        text: &mut String,
        heading: &str,
        names: &[Name],
        subcommand: &Subcommand,
    ) {
        if names.is_empty() {
            return;
        }
        text.push_str(&format!("\n{heading}:\n"));
        for name in names {
            let Some(option) = self.option(*name) else { continue };
            let about = subcommand
                .overrides
                .iter()
                .find(|(other, _)| other == name)
                .map_or(option.about, |(_, about)| about);
            text.push_str(&format!("  {:<24} : {about}\n", option.display()));
        }
        text.push('\n');
    }
}

/// A subcommand's name with its aliases.
fn title(subcommand: &Subcommand) -> String {
    if subcommand.aliases.is_empty() {
        return subcommand.name.to_owned();
    }
    format!("{} ({})", subcommand.name, subcommand.aliases.join(", "))
}

/// The end of `--version` for programs that work on repositories.
pub(crate) const FS_MODULES: &str = "The following repository back-end (FS) modules are available:\n\n\
    * fs_fs : Module for working with a plain file (FSFS) repository.\n\n";
/// The end of `--version` for programs that work on URLs.
pub(crate) const RA_MODULES: &str = "The following repository access (RA) modules are available:\n\n\
    * ra_svn : Module for accessing a repository using the svn network protocol.\n  \
      - handles 'svn' scheme\n\
    * ra_local : Module for accessing a repository on local disk.\n  \
      - handles 'file' scheme\n\
    * ra_serf : Module for accessing a repository via WebDAV protocol.\n  \
      - handles 'http' scheme\n  \
      - handles 'https' scheme\n\n";

/// The output of `--version`.
pub(crate) fn version_text(program: &str, quiet: bool, modules: &str) -> String {
    if quiet {
        return format!("{COMPATIBLE_VERSION}\n");
    }
    format!("{}{modules}", version_head(program))
}

/// The part of the version text that is the same for all programs.
fn version_head(program: &str) -> String {
    format!(
        "{program}, version {COMPATIBLE_VERSION} (Sapwood {})\n   compiled on {}-{}\n\n\
         Sapwood is Subversion rebuilt, and works with Subversion's repositories and clients.\n\
         It is licensed under the Apache License, version 2.0.\n\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
    )
}
