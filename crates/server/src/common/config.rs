//! How a repository may be used, whichever file says so: what users may do, and how they
//! authenticate. [`super::svnserve_conf`] reads it.

use std::path::PathBuf;
use std::time::Duration;

use sapwood_ldap::Directory;

use crate::common::settings::RootUsers;

/// What a user may do, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blanket {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// The change of case of user names before authz rules are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsernameCase {
    /// Nothing.
    #[default]
    AsIs,
    /// Made upper case.
    Upper,
    /// Made lower case.
    Lower,
}

impl UsernameCase {
    /// The name that authz rules are asked about.
    #[must_use]
    pub fn apply(self, user: &str) -> String {
        match self {
            Self::AsIs => user.to_owned(),
            Self::Upper => user.to_ascii_uppercase(),
            Self::Lower => user.to_ascii_lowercase(),
        }
    }
}

/// Whether users have to authenticate. (Over http; svn:// has [`Login::Optional`] only.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// They cannot.
    Never,
    /// When anonymous users may not do what they request.
    #[default]
    Optional,
    /// The same; but a user with a wrong password is treated as anonymous, not refused.
    Lenient,
    /// Always.
    Required,
}

/// Which part of a client's certificate is the user's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateName {
    /// `CN` of its subject.
    Common,
    /// `O`.
    Organization,
    /// `OU`.
    Unit,
    /// `UID`.
    UserId,
    /// `emailAddress`.
    Mail,
    /// The first mail address of its alternative names.
    OtherMail,
    /// The first host of these.
    OtherHost,
}

impl CertificateName {
    /// The words of configurations, as mod_ssl has them behind `SSL_CLIENT_S_DN_` and `SSL_CLIENT_`.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("CN", Self::Common),
        ("O", Self::Organization),
        ("OU", Self::Unit),
        ("UID", Self::UserId),
        ("Email", Self::Mail),
        ("SAN_Email", Self::OtherMail),
        ("SAN_DNS", Self::OtherHost),
    ];

    /// The field that a word stands for.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, name)| *name)
    }
}

/// How one repository may be used.
#[derive(Clone, Debug)]
pub struct AccessConfig {
    /// Whether users have to authenticate.
    pub login: Login,
    /// A password file in httpd's format, for http.
    pub htpasswd: Option<PathBuf>,
    /// The same for Digest authentication.
    pub htdigest: Option<PathBuf>,
    /// A file of accounts of our own.
    pub accounts: Option<PathBuf>,
    /// A directory service that knows users, for http.
    pub directory: Option<Directory>,
    /// Whether users log in by tickets of Kerberos, over http.
    pub negotiate: bool,
    /// Whether browsers sign in by a provider of OpenID Connect.
    pub sign_in: bool,
    /// The only users who are let in, and groups (`group:NAME`) whose members are; all, if there is none.
    pub members: Vec<String>,
    /// Whether users of the accounts and the directory may send their passwords over svn://.
    pub plain_over_svn: bool,
    /// The header in which a trusted proxy says who the user is.
    pub user_header: Option<String>,
    /// Whether a client must show a certificate. (Over http)
    pub requires_certificate: bool,
    /// Which field of a client's certificate is the user's name, if certificates authenticate
    /// users.
    pub certificate_name: Option<CertificateName>,
    /// Whether the authz file is asked about each path in a reply, and not only about the path of the
    /// request.
    pub each_path: bool,
    /// Whether names of authz files are relative to the repository's `conf` folder.
    pub is_relative_to_conf: bool,
    /// What unauthenticated users may do.
    pub anon_access: Blanket,
    /// What authenticated users may do.
    pub auth_access: Blanket,
    /// The password file.
    pub password_db: Option<PathBuf>,
    /// The authz file: a path, a URL or a path within the repository (`^/...`).
    pub authz_db: Option<String>,
    /// The global groups file, likewise.
    pub groups_db: Option<String>,
    /// The realm of authentication; the repository's UUID when there is none.
    pub realm: Option<String>,
    /// The change of case of user names before authz rules are asked.
    pub username_case: UsernameCase,
    /// A file of rules for commits, besides the repository's own.
    pub rules: Option<PathBuf>,
    /// Where the environment of hooks is set, relative to the repository's `conf` folder.
    pub hooks_env: Option<PathBuf>,
    /// Set when users authenticate by SASL.
    pub sasl: Option<SaslStrength>,
    /// How long a hook may run; without a limit if there is none.
    pub hook_time_limit: Option<Duration>,
    /// The delay of the answer to the first wrong password beyond the free ones; zero for no
    /// delays.
    pub password_delay: Duration,
    /// The folder that relative names are relative to.
    pub base: PathBuf,
}

impl AccessConfig {
    /// Lets no user in: there is no way to log in, and no access without one. What a configuration sets is put in its place.
    #[must_use]
    pub fn closed() -> Self {
        Self {
            login: Login::Required,
            htpasswd: None,
            htdigest: None,
            accounts: None,
            directory: None,
            negotiate: false,
            sign_in: false,
            members: Vec::new(),
            plain_over_svn: false,
            user_header: None,
            requires_certificate: false,
            certificate_name: None,
            each_path: true,
            is_relative_to_conf: false,
            anon_access: Blanket::None,
            auth_access: Blanket::None,
            password_db: None,
            authz_db: None,
            groups_db: None,
            realm: None,
            username_case: UsernameCase::AsIs,
            rules: None,
            hooks_env: None,
            sasl: None,
            hook_time_limit: None,
            password_delay: Duration::from_secs(1),
            base: PathBuf::from("/"),
        }
    }

    /// The same, with users of the whole server besides.
    #[must_use]
    pub(crate) fn and_users(self, users: &RootUsers) -> Self {
        Self {
            accounts: users.accounts.clone(),
            directory: users.directory.clone(),
            members: users.members.clone(),
            plain_over_svn: users.plain_over_svn,
            sign_in: users.sign_in,
            ..self
        }
    }

    /// Whether users of accounts and a directory can log in over svn://.
    #[must_use]
    pub(crate) const fn has_plain_users(&self) -> bool {
        self.plain_over_svn && (self.accounts.is_some() || self.directory.is_some())
    }

    /// Whether there is a password file, a directory or a realm of Kerberos for users to authenticate with.
    #[must_use]
    pub const fn has_passwords(&self) -> bool {
        self.htpasswd.is_some()
            || self.htdigest.is_some()
            || self.accounts.is_some()
            || self.directory.is_some()
            || self.negotiate
            || self.sign_in
            || self.password_db.is_some()
    }
}

/// The minimum and maximum strength of a connection's encryption, in bits of the key: 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslStrength {
    /// `min-encryption`
    pub min: u32,
    /// `max-encryption`
    pub max: u32,
}
