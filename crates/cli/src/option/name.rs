//! The long names of all options of programs that are described by a [`crate::command::Program`], each once: tables and
//! look-ups name them by these constants, so that a slip does not compile. `svn`'s options have a type of
//! their own (`svn/options.rs`).

use super::OptionSpec;

/// The long name of an option, which is also its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(&'static str);

impl Name {
    /// The name in a row of a table.
    pub(super) const fn of(spec: &OptionSpec) -> Self {
        Self(spec.long)
    }

    /// A row of a table: an option without a value.
    pub(crate) const fn flag(self, short: Option<char>, about: &'static str) -> OptionSpec {
        OptionSpec::flag(self.0, short, about)
    }

    /// A row of a table: an option with a value.
    pub(crate) const fn value(self, short: Option<char>, about: &'static str) -> OptionSpec {
        OptionSpec::value(self.0, short, about)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

macro_rules! names {
    ($($name:ident = $text:literal;)*) => {
        $(pub(crate) const $name: Name = Name($text);)*
    };
}

/// `-?`, which has no long name.
pub(crate) const HELP_MARK: Name = Name("");

names! {
    ALLOW_NON_EMPTY = "allow-non-empty";
    BDB_LOG_KEEP = "bdb-log-keep";
    BDB_TXN_NOSYNC = "bdb-txn-nosync";
    BYPASS_HOOKS = "bypass-hooks";
    BYPASS_PROP_VALIDATION = "bypass-prop-validation";
    CHANGE = "change";
    CHECK_NORMALIZATION = "check-normalization";
    CLEAN_LOGS = "clean-logs";
    COMPATIBLE_VERSION = "compatible-version";
    CONFIG_DIR = "config-dir";
    CONFIG_OPTION = "config-option";
    COPY_INFO = "copy-info";
    DELTAS = "deltas";
    DEPTH = "depth";
    DIFF_CMD = "diff-cmd";
    DIFF_COPY_FROM = "diff-copy-from";
    DISABLE_LOCKING = "disable-locking";
    DROP_ALL_EMPTY_REVS = "drop-all-empty-revs";
    DROP_EMPTY_REVS = "drop-empty-revs";
    EXCLUDE = "exclude";
    EXTENSIONS = "extensions";
    EXTRA_ARGS = "extra-args";
    FILE = "file";
    FORCE_INTERACTIVE = "force-interactive";
    FORCE_UUID = "force-uuid";
    FS_TYPE = "fs-type";
    FULL_PATHS = "full-paths";
    GROUPS_FILE = "groups-file";
    HELP = "help";
    IGNORE_DATES = "ignore-dates";
    IGNORE_PROPERTIES = "ignore-properties";
    IGNORE_UUID = "ignore-uuid";
    INCLUDE = "include";
    INCREMENTAL = "incremental";
    IS = "is";
    KEEP_GOING = "keep-going";
    LIMIT = "limit";
    MEMORY_CACHE_SIZE = "memory-cache-size";
    MESSAGE = "message";
    METADATA_ONLY = "metadata-only";
    NO_AUTH_CACHE = "no-auth-cache";
    NO_DIFF_ADDED = "no-diff-added";
    NO_DIFF_DELETED = "no-diff-deleted";
    NO_FLUSH_TO_DISK = "no-flush-to-disk";
    NO_NEWLINE = "no-newline";
    NON_INTERACTIVE = "non-interactive";
    NON_RECURSIVE = "non-recursive";
    NORMALIZE_PROPS = "normalize-props";
    PARENT_DIR = "parent-dir";
    PASSWORD = "password";
    PASSWORD_FROM_STDIN = "password-from-stdin";
    PATH = "path";
    PATTERN = "pattern";
    PRE_1_4_COMPATIBLE = "pre-1.4-compatible";
    PRE_1_5_COMPATIBLE = "pre-1.5-compatible";
    PRE_1_6_COMPATIBLE = "pre-1.6-compatible";
    PRESERVE_REVPROPS = "preserve-revprops";
    PROPERTIES_ONLY = "properties-only";
    QUIET = "quiet";
    RECURSIVE = "recursive";
    RENUMBER_REVS = "renumber-revs";
    REPOSITORY = "repository";
    REVISION = "revision";
    REVPROP = "revprop";
    ROOT_URL = "root-url";
    SEARCH = "search";
    SHOW_IDS = "show-ids";
    SHOW_INHERITED_PROPS = "show-inherited-props";
    SKIP_MISSING_MERGE_SOURCES = "skip-missing-merge-sources";
    SKIP_REVPROP = "skip-revprop";
    SKIP_UNCHANGED = "skip-unchanged";
    SOURCE_PASSWORD = "source-password";
    SOURCE_PROP_ENCODING = "source-prop-encoding";
    SOURCE_TRUST_SERVER_CERT_FAILURES = "source-trust-server-cert-failures";
    SOURCE_USERNAME = "source-username";
    STEAL_LOCK = "steal-lock";
    STOP_ON_COPY = "stop-on-copy";
    STRICT = "strict";
    SYNC_PASSWORD = "sync-password";
    SYNC_TRUST_SERVER_CERT_FAILURES = "sync-trust-server-cert-failures";
    SYNC_USERNAME = "sync-username";
    TARGETS = "targets";
    TRANSACTION = "transaction";
    TRUST_SERVER_CERT = "trust-server-cert";
    TRUST_SERVER_CERT_FAILURES = "trust-server-cert-failures";
    USE_MERGE_HISTORY = "use-merge-history";
    USE_POST_COMMIT_HOOK = "use-post-commit-hook";
    USE_POST_REVPROP_CHANGE_HOOK = "use-post-revprop-change-hook";
    USE_PRE_COMMIT_HOOK = "use-pre-commit-hook";
    USE_PRE_REVPROP_CHANGE_HOOK = "use-pre-revprop-change-hook";
    USERNAME = "username";
    VERBOSE = "verbose";
    VERSION = "version";
    WAIT = "wait";
    WITH_ALL_REVPROPS = "with-all-revprops";
    WITH_NO_REVPROPS = "with-no-revprops";
    WITH_REVPROP = "with-revprop";
    XML = "xml";
}
