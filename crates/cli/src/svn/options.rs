//! The options of `svn`: one table, from which the parser, the help texts, the man page and the shell
//! completions are made. A subcommand names its options by [`Opt`], so that a slip does not compile.

use crate::command::OptionSpec;

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident = $kind:ident($long:literal, $short:expr, $about:expr);)*) => {
        /// An option.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Opt {
            $($name,)*
        }

        impl Opt {
            /// All options, in the order of [`SPECS`].
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];
        }

        /// The parser's table of them.
        pub(crate) static SPECS: &[OptionSpec] = &[
            $(OptionSpec::$kind($long, $short, $about),)*
            // Other names of options above.
            OptionSpec::flag("", Some('?'), ""),
            OptionSpec::value("cl", None, ""),
        ];
    };
}

/// A new line of an explanation.
macro_rules! lines {
    ($first:literal $(, $more:literal)*) => {
        concat!($first $(, "\n                             ", $more)*)
    };
}

pub(crate) use lines;

options! {
    Accept = value("accept", None, lines!(
        "resolve conflicts without asking, by ARG:",
        "'postpone' (p), 'working', 'base',",
        "'mine-conflict' (mc), 'theirs-conflict' (tc),",
        "'mine-full' (mf), 'theirs-full' (tf),",
        "'edit' (e), 'launch' (l), 'recommended' (r)"
    ));
    AddsAsModification = flag("adds-as-modification", None, lines!(
        "merge what is added here with what comes in under",
        "the same name instead of raising a tree conflict;",
        "better leave that to 'svn resolve'"
    ));
    AllowMixedRevisions = flag("allow-mixed-revisions", None, lines!(
        "go on although the working copy has nodes of",
        "several revisions; better run 'svn update' first"
    ));
    AutoProps = flag("auto-props", None, "set properties as configured for names");
    Change = value("change", Some('c'), lines!(
        "the change made in revision ARG (-r ARG-1:ARG);",
        "a negative ARG takes it back (-r ARG:ARG-1);",
        "ARG1-ARG2 is all from ARG1 to ARG2, with both"
    ));
    Changelist = value("changelist", None, "only what is in the changelist ARG");
    CompatibleVersion = value("compatible-version", None, lines!(
        "make a working copy that Subversion ARG can use",
        "('1.8' to '1.14': format 31; '1.15': format 32)"
    ));
    ConfigDir = value("config-dir", None, "read the user's configuration in the folder ARG");
    ConfigOption = value("config-option", None, lines!(
        "configure FILE:SECTION:OPTION=[VALUE], as in",
        "servers:global:http-timeout=60"
    ));
    Depth = value("depth", None, lines!(
        "go as deep as ARG: 'empty', 'files',",
        "'immediates' or 'infinity'"
    ));
    Diff = flag("diff", None, "show the differences too");
    Diff3Cmd = value("diff3-cmd", None, "merge texts with the program ARG");
    DiffCmd = value("diff-cmd", None, "compare with the program ARG");
    Drop = flag("drop", None, "throw the shelf away once it is unshelved");
    DryRun = flag("dry-run", None, "say what would happen, and change nothing");
    EditorCmd = value("editor-cmd", None, "edit with the program ARG");
    Encoding = value("encoding", None, "the text given is in the character set ARG");
    Extensions = value("extensions", Some('x'), lines!(
        "options for comparing, separated by spaces; for",
        "ours (default '-u'):",
        "  -u, --unified: three lines of context",
        "  -b, --ignore-space-change: any amount of white",
        "    space is as good as another",
        "  -w, --ignore-all-space: white space is nothing",
        "  --ignore-eol-style: line ends are all the same",
        "  -U ARG, --context ARG: ARG lines of context",
        "  -p, --show-c-function: name the C function"
    ));
    File = value("file", Some('F'), "the log message is in the file ARG");
    Force = flag("force", None, "do it all the same");
    ForceInteractive = flag("force-interactive", None, lines!(
        "ask although standard input is no terminal"
    ));
    ForceLog = flag("force-log", None, "take the log message, whatever it looks like");
    Git = flag("git", None, "write differences in git's extended form");
    Help = flag("help", Some('h'), "explain a subcommand");
    HumanReadable = flag("human-readable", Some('H'), "sizes with units, for people");
    IgnoreAncestry = flag("ignore-ancestry", None, lines!(
        "take all nodes as related, and keep no track of",
        "the merge"
    ));
    IgnoreExternals = flag("ignore-externals", None, "leave externals alone");
    IgnoreKeywords = flag("ignore-keywords", None, "leave keywords as they are");
    IgnoreProperties = flag("ignore-properties", None, "leave properties out");
    IgnoreWhitespace = flag("ignore-whitespace", None, "white space may differ where hunks fit");
    IncludeExternals = flag("include-externals", None, lines!(
        "go into what svn:externals properties define too"
    ));
    Incremental = flag("incremental", None, "output that can be put together with more of it");
    InternalDiff = flag("internal-diff", None, "compare with ours, whatever is configured");
    KeepChangelists = flag("keep-changelists", None, "leave changelists as they are");
    KeepLocal = flag("keep-local", None, "leave the files where they are");
    Limit = value("limit", Some('l'), "at most ARG entries");
    Log = flag("log", None, "show message, author and date of revisions too");
    Message = value("message", Some('m'), "the log message is ARG");
    NativeEol = value("native-eol", None, lines!(
        "line ends of files whose svn:eol-style is 'native':",
        "ARG is 'LF', 'CR' or 'CRLF'"
    ));
    New = value("new", None, "the newer of two targets");
    NoAuthCache = flag("no-auth-cache", None, "do not keep the name and the password");
    NoAutoProps = flag("no-auto-props", None, "set no properties by names");
    NoDiffAdded = flag("no-diff-added", None, "leave out the texts of added files");
    NoDiffDeleted = flag("no-diff-deleted", None, "leave out the texts of deleted files");
    NoIgnore = flag("no-ignore", None, lines!(
        "look at names too that the configuration,",
        "svn:ignore or svn:global-ignores leave out"
    ));
    NoNewline = flag("no-newline", None, "end the output without a newline");
    NonInteractive = flag("non-interactive", None, lines!(
        "ask nothing (without this: only if standard input",
        "is a terminal)"
    ));
    NonRecursive = flag("non-recursive", Some('N'), "old");
    NoticeAncestry = flag("notice-ancestry", None, "unrelated nodes are a deletion and an addition");
    NoUnlock = flag("no-unlock", None, "leave the targets locked");
    Old = value("old", None, "the older of two targets");
    Parents = flag("parents", None, "make missing folders above too");
    Password = value("password", None, lines!(
        "log in with the password ARG (beware: on many",
        "systems others can see it)"
    ));
    PasswordFromStdin = flag("password-from-stdin", None, "read the password from standard input");
    PatchCompatible = flag("patch-compatible", None, lines!(
        "write what other programs can apply: the same as",
        "--show-copies-as-adds --ignore-properties"
    ));
    PinExternals = flag("pin-externals", None, lines!(
        "give externals without a revision the one that",
        "they have now (good for tags)"
    ));
    PropertiesOnly = flag("properties-only", None, "only properties");
    Quiet = flag("quiet", Some('q'), "say nothing, or only the least");
    RecordOnly = flag("record-only", None, "only record that it was merged");
    Recursive = flag("recursive", Some('R'), "go down all the way (--depth=infinity)");
    Reintegrate = flag("reintegrate", None, "old, and not needed any more");
    Relocate = flag("relocate", None, "old: now the subcommand 'relocate'");
    Remove = flag("remove", None, "take out of changelists");
    RemoveAdded = flag("remove-added", None, "remove files whose addition is reverted");
    RemoveIgnored = flag("remove-ignored", None, "remove what is ignored");
    RemoveUnversioned = flag("remove-unversioned", None, "remove what is not under version control");
    ReverseDiff = flag("reverse-diff", None, "apply the patch backwards");
    Revision = value("revision", Some('r'), lines!(
        "revision ARG, or for some subcommands ARG1:ARG2;",
        "one of:",
        "   NUMBER       the revision of this number",
        "   '{' DATE '}' the youngest at the begin of DATE",
        "   'HEAD'       the youngest in the repository",
        "   'BASE'       what the working copy is based on",
        "   'COMMITTED'  the last change in or before BASE",
        "   'PREV'       the revision before COMMITTED"
    ));
    Revprop = flag("revprop", None, "a property of a revision (use with -r)");
    Search = value("search", None, lines!(
        "only what matches the pattern ARG (globs; case and",
        "accents do not count; quote it for the shell)"
    ));
    SearchAnd = value("search-and", None, "and ARG, beside the --search before it");
    SetDepth = value("set-depth", None, lines!(
        "from now on as deep as ARG: 'exclude', 'empty',",
        "'files', 'immediates' or 'infinity'"
    ));
    ShowCopiesAsAdds = flag("show-copies-as-adds", None, "compare copies with nothing");
    ShowInheritedProps = flag("show-inherited-props", None, "also properties of folders above");
    ShowItem = value("show-item", None, lines!(
        "print nothing but ARG:",
        "   'kind'       file or directory",
        "   'url'        URL in the repository",
        "   'relative-url'",
        "                URL from the repository's root on",
        "   'repos-root-url'",
        "                URL of the repository's root",
        "   'repos-uuid' UUID of the repository",
        "   'repos-size' a file's size in the repository",
        "   'revision'   the revision that is looked at",
        "   'last-changed-revision'",
        "                revision of the last change up to",
        "                'revision'",
        "   'last-changed-date'",
        "                its date",
        "   'last-changed-author'",
        "                its author",
        "   'wc-root'    root of the working copy",
        "   'schedule'   'normal','add','delete','replace'",
        "   'depth'      depth in the working copy",
        "   'changelist' changelist in the working copy"
    ));
    ShowPasswords = flag("show-passwords", None, "show the passwords that are kept");
    ShowRevs = value("show-revs", None, "which revisions to list: 'merged', 'eligible'");
    StopOnCopy = flag("stop-on-copy", None, "do not follow history beyond copies");
    Strict = flag("strict", None, "old name of --no-newline");
    StorePristine = value("store-pristine", None, lines!(
        "'no': the new working copy does not keep a second",
        "copy of each text, but fetches those of modified",
        "files when it needs them (Subversion 1.15 and",
        "Sapwood only); 'yes': it does, as always before"
    ));
    Strip = value("strip", None, lines!(
        "take ARG names off the front of paths in the patch:",
        "with 1, 'doc/a/b.html' becomes 'a/b.html', with 2",
        "'b.html'; without this none. A leading '/' counts",
        "as a name"
    ));
    Summarize = flag("summarize", None, "only name what differs");
    Targets = value("targets", None, "more targets are in the file ARG");
    TrustServerCert = flag("trust-server-cert", None, lines!(
        "old form of",
        "--trust-server-cert-failures=unknown-ca"
    ));
    TrustServerCertFailures = value("trust-server-cert-failures", None, lines!(
        "with --non-interactive, take certificates of",
        "servers that fail in the ways that ARG lists with",
        "commas: 'unknown-ca', 'cn-mismatch' (another host's",
        "name), 'expired', 'not-yet-valid', 'other'"
    ));
    UseMergeHistory = flag("use-merge-history", Some('g'), "also what merges brought");
    Username = value("username", None, "log in as ARG");
    VacuumPristines = flag("vacuum-pristines", None, "remove texts in .svn that nothing needs");
    Verbose = flag("verbose", Some('v'), "say more");
    Version = flag("version", None, "say which version this is");
    ShowUpdates = flag("show-updates", Some('u'), "say what is newer in the repository");
    WithAllRevprops = flag("with-all-revprops", None, "all properties of revisions");
    WithNoRevprops = flag("with-no-revprops", None, "no properties of revisions");
    WithRevprop = value("with-revprop", None, lines!(
        "set a property of the new revision: ARG is",
        "NAME[=VALUE]"
    ));
    Viewspec = value("x-viewspec", None, lines!(
        "print the layout of the working copy in the form",
        "ARG: 'classic' or 'svn11'"
    ));
    Xml = flag("xml", None, "output in XML");
}

impl Opt {
    /// The option that a row of [`SPECS`] stands for.
    pub(crate) fn of(spec: &OptionSpec) -> Self {
        match spec.long {
            "" => Self::Help,
            "cl" => Self::Changelist,
            long => {
                let found = Self::ALL.iter().zip(SPECS).find(|(_, known)| known.long == long);
                found.map_or(Self::Help, |(opt, _)| *opt)
            }
        }
    }

    /// The row of this option.
    pub(crate) fn spec(self) -> &'static OptionSpec {
        static NONE: OptionSpec = OptionSpec::flag("?", None, "");
        Self::ALL.iter().zip(SPECS).find(|(opt, _)| **opt == self).map_or(&NONE, |(_, spec)| spec)
    }

    /// `-r [--revision] ARG`, `--changelist [--cl] ARG`.
    pub(crate) fn display(self, with_alias: bool) -> String {
        let spec = self.spec();
        if self == Self::Changelist && with_alias {
            return "--changelist [--cl] ARG".to_owned();
        }
        spec.display()
    }

    /// Whether the option is only shown to users who ask for experiments.
    pub(crate) fn is_experimental(self) -> bool {
        self.spec().long.starts_with("x-")
    }
}

/// The options that every subcommand takes.
pub(crate) const GLOBAL: &[Opt] = &[
    Opt::Username,
    Opt::Password,
    Opt::PasswordFromStdin,
    Opt::NoAuthCache,
    Opt::NonInteractive,
    Opt::ForceInteractive,
    Opt::TrustServerCert,
    Opt::TrustServerCertFailures,
    Opt::ConfigDir,
    Opt::ConfigOption,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_found_by_its_row() {
        for opt in Opt::ALL {
            assert_eq!(Opt::of(opt.spec()), *opt);
        }
        // As many as 1.14 has, with --cl and -?; two are of format 32, which came later.
        assert_eq!(SPECS.len(), 96 + 2);
    }
}
