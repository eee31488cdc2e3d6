//! Whole configurations, and the access that they are converted to.

use super::*;

/// Imports a text; httpd has these modules and definitions.
pub(super) fn imported_by(text: &str, options: Options) -> SvnResult<(String, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    std::fs::write(&path, text).unwrap();
    let list = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let given = HttpdFacts {
        modules: list(&["dav_svn", "authz_svn"]),
        defines: list(&[]),
        version: Some("2.4.62".to_owned()),
    };
    let (text, notes) = import(&Options { path: Some(path), given, ..options })?;
    let text = text.replace(&folder.path().display().to_string(), "FOLDER");
    Ok((text.split_once('\n').unwrap().1.to_owned(), notes))
}

fn imported(text: &str) -> (String, Vec<String>) {
    imported_by(text, Options::default()).unwrap()
}

#[test]
fn a_whole_configuration() {
    let (text, notes) = imported(
        "Listen 80\nListen 443\nSVNCompressionLevel 3\nSVNInMemoryCacheSize 1048576\n\
         <VirtualHost *:443>\nSSLCertificateFile /c.pem\nSSLCertificateKeyFile /k.pem\n\
         <Location /svn>\nDAV svn\nSVNParentPath \"/srv/s v\"\nSVNListParentPath on\n\
         AuthType Basic\nAuthName \"Our \\\"best\\\"\"\nAuthUserFile /u\nRequire valid-user\n\
         AuthzSVNAccessFile /a\nSVNAllowBulkUpdates Prefer\nSVNCacheRevProps on\n\
         SVNIndexXSLT /x.xsl\nAuthLDAPURL ldap://x\n</Location>\n\
         <Location /svn/secret>\nRequire user joe\n</Location>\n</VirtualHost>\n\
         Redirect permanent /old /svn\nRedirectMatch ^/x-(.*)$ /svn/$1\n\
         RedirectMatch ^/other[ab](.*)$ /svn$1\n",
    );
    let expected = "listen = \"0.0.0.0\"\nhttps-port = 443\ncompression = 3\n\
         cache-megabytes = 1024\ntls-certificate = \"/c.pem\"\ntls-key = \"/k.pem\"\n\
         bulk-updates = \"prefer\"\n\n\
         [[location]]\nurl = \"/svn\"\nfolder = \"/srv/s v\"\nflat = true\nlist = true\n\
         realm = \"Our \\\"best\\\"\"\nusers = \"/u\"\nauthz = \"/a\"\nlogin = \"required\"\n\n\
         [[location]]\nurl = \"/svn/secret\"\nrepository = \"/srv/s v/secret\"\nrealm = \"Our \\\"best\\\"\"\n\
         users = \"/u\"\nmembers = [\"joe\"]\nauthz = \"/a\"\nlogin = \"required\"\n\n\
         [[redirect]]\nfrom = \"/old\"\nto = \"/svn\"\npermanent = true\n\n\
         [[redirect]]\nfrom = \"/x-*\"\nto = \"/svn/\"\npermanent = false\n";
    assert_eq!(text, expected);
    let all = notes.join("\n");
    for word in ["SVNIndexXSLT", "AuthLDAPURL", "RedirectMatch"] {
        assert!(all.contains(word), "{word}: {all}");
    }
    assert_eq!(notes.len(), 3, "{all}");
}

#[test]
fn who_may_come_in() {
    let place = |inner: &str| {
        let (text, notes) = imported(&format!(
            "<Location />\nAuthType Basic\nAuthUserFile /u\n</Location>\n\
             <Location /s>\nDAV svn\nSVNPath /r\n{inner}\n</Location>\n"
        ));
        let says =
            |line: &&str| ["anonymous", "login", "authz"].iter().any(|word| line.starts_with(word));
        let lines: Vec<&str> = text.lines().filter(says).collect();
        (lines.join(", "), notes.len())
    };
    let of = |text: &str| (text.to_owned(), 0);
    assert_eq!(place("Require all granted").0, "anonymous = \"write\"");
    // A user may log in where the rules want it.
    let optional = "authz = \"/a\", login = \"optional\"";
    assert_eq!(place("Require all granted\nAuthzSVNAccessFile /a"), of(optional));
    assert_eq!(place("Require valid-user\nSatisfy Any").0, "anonymous = \"write\"");
    const ANY: &str = "Require valid-user\nSatisfy Any\nAuthzSVNAccessFile /a";
    assert_eq!(place(ANY).0, optional);
    let anonymous = |more: &str| place(&format!("{ANY}\n{more}")).0;
    assert_eq!(anonymous("AuthzSVNAnonymous Off"), "authz = \"/a\", login = \"required\"");
    let lenient = "authz = \"/a\", login = \"lenient\"";
    assert_eq!(anonymous("AuthzSVNNoAuthWhenAnonymousAllowed On"), lenient);
    assert_eq!(
        place("<LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</LimitExcept>").0,
        "login = \"optional\", anonymous = \"read\""
    );
    assert_eq!(place("Require ip 10.0.0.0/8"), ("anonymous = \"none\"".to_owned(), 1));
}

#[test]
fn what_guards_a_place_is_never_lost() {
    let import = |server: &str, inner: &str| {
        let (text, notes) = imported(&format!(
            "{server}\n<Location /s>\nDAV svn\nSVNPath /r\n{inner}\n</Location>\n"
        ));
        let words =
            ["anonymous", "authenticated", "login", "users", "require-c", "certificate-", "master"];
        let says = |line: &&str| words.iter().any(|word| line.starts_with(word));
        let lines: Vec<&str> = text.lines().filter(says).collect();
        (lines.join(", "), notes.join("\n"))
    };
    const LOGIN: &str = "AuthType Basic\nAuthUserFile /u\nRequire valid-user";
    let none = "anonymous = \"none\"";
    let cases = [
        ("SSLVerifyClient require", "", none, "SSLVerifyClient"),
        ("SSLVerifyClient require", LOGIN, none, "SSLVerifyClient"),
        ("", "SSLVerifyClient require", none, "SSLVerifyClient"),
        ("", "SSLRequire %{SSL_CLIENT_S_DN_O} eq \"x\"", none, "SSLRequire"),
        ("SSLVerifyClient require", "SSLVerifyClient none", "anonymous = \"write\"", ""),
        ("SSLVerifyClient optional", "", "anonymous = \"write\"", "SSLVerifyClient"),
        ("SSLCACertificateFile /ca", "", "anonymous = \"write\"", ""),
        ("", "SSLRequireSSL", none, "SSLRequireSSL"),
        ("SSLEngine on", "SSLRequireSSL", "anonymous = \"write\"", "SSLCertificateFile"),
        ("", "SVNMasterURI http://m/s", "master = \"http://m/s\", anonymous = \"write\"", ""),
        ("", "SVNMasterURI file:///s", "anonymous = \"read\"", "SVNMasterURI"),
        ("", "Order deny,allow\nDeny from all", none, ""),
        ("", "Order allow,deny\nAllow from 10.0.0.0/8", none, "not looked at"),
        ("", "Order allow,deny\nAllow from all", "anonymous = \"write\"", ""),
        (
            "",
            "<LimitExcept GET PROPFIND OPTIONS REPORT>\nDeny from all\n</LimitExcept>",
            "anonymous = \"read\"",
            "",
        ),
        (
            "",
            "<LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire all denied\n</LimitExcept>",
            "anonymous = \"read\"",
            "",
        ),
    ];
    for (server, inner, expected, note) in cases {
        let (text, notes) = import(server, inner);
        assert_eq!(text, expected, "{server}; {inner}");
        assert!(notes.contains(note), "{server}; {inner}: {notes}");
        assert!(!note.is_empty() || notes.is_empty(), "{server}; {inner}: {notes}");
    }
    let mirror = format!("{LOGIN}\nSVNMasterURI x\nSVNMasterVersion 1.8.0");
    let login = "users = \"/u\", login = \"required\"";
    assert_eq!(import("", &mirror).0, format!("{login}, authenticated = \"read\""));
    let mirror = "SVNMasterURI https://m/s\nSVNMasterVersion 1.8.0";
    let lines = "master = \"https://m/s\", master-version = \"1.8.0\", anonymous = \"write\"";
    assert_eq!(import("", mirror).0, lines);
    // Only readers must log in: a user who must log in to read must do so to write, too.
    let readers = LOGIN.replace("Require", "<Limit GET PROPFIND REPORT>\nRequire") + "\n</Limit>";
    assert_eq!(import("", &readers).0, login);
}

#[test]
fn certificates_of_clients() {
    let import = |server: &str, inner: &str| {
        let login = if inner.contains("valid-user") { "AuthType Basic\n" } else { "" };
        let (text, notes) = imported(&format!(
            "<VirtualHost *:443>\nSSLCertificateFile /c\nSSLCertificateKeyFile /k\n{server}\n\
             <Location /s>\nDAV svn\nSVNPath /r\n{login}AuthUserFile /u\n{inner}\n</Location>\n\
             </VirtualHost>\n"
        ));
        let (first, place) = text.split_once("\n[[location]]\n").unwrap();
        let first: Vec<&str> = first.lines().filter(|l| l.starts_with("tls-client-")).collect();
        let place: Vec<&str> = place.lines().skip(2).collect();
        (first.join(", "), place.join(", "), notes.join("\n"))
    };
    const CA: &str = "SSLCACertificateFile /ca";
    const NAME: &str = "SSLUserName SSL_CLIENT_S_DN_CN";
    const LISTS: &str = "SSLCARevocationFile /crl\nSSLCARevocationCheck chain";
    let ca = "tls-client-ca = \"/ca\"";
    let needed = "require-certificate = true";
    let open = format!("anonymous = \"write\", {needed}");
    let user = "certificate-user = \"CN\"";
    let login = format!("users = \"/u\", login = \"required\", {needed}");
    for (server, inner, settings, place, note) in [
        (format!("{CA}\nSSLVerifyClient require"), String::new(), ca, &*open, ""),
        (CA.to_owned(), "SSLVerifyClient require".to_owned(), ca, &open, ""),
        (
            CA.to_owned(),
            "SSLVerifyClient optional\nRequire ssl-verify-client".to_owned(),
            ca,
            &open,
            "",
        ),
        (
            CA.to_owned(),
            format!("SSLVerifyClient require\n{NAME}"),
            ca,
            &format!("{open}, {user}"),
            "",
        ),
        (
            format!("{CA}\nSSLVerifyClient optional\n{NAME}"),
            String::new(),
            ca,
            &format!("anonymous = \"write\", {user}"),
            "",
        ),
        (
            format!("{CA}\n{LISTS}\nSSLVerifyClient require"),
            String::new(),
            "tls-client-ca = \"/ca\", tls-client-crl = \"/crl\"",
            &open,
            "",
        ),
        // The password identifies the user.
        (
            format!("{CA}\nSSLVerifyClient require\n{NAME}"),
            "Require valid-user".to_owned(),
            ca,
            &login,
            "",
        ),
        // A setting that cannot be converted leaves the location closed.
        (
            CA.to_owned(),
            "SSLVerifyClient require\nSSLUserName SSL_CLIENT_S_DN".to_owned(),
            "",
            "anonymous = \"none\"",
            "SSLUserName",
        ),
        (
            CA.to_owned(),
            "SSLVerifyClient require\nSSLOptions +FakeBasicAuth".to_owned(),
            "",
            "anonymous = \"none\"",
            "do not stand for passwords",
        ),
        (
            format!("{CA}\nSSLCARevocationCheck chain\nSSLVerifyClient require"),
            String::new(),
            "",
            "anonymous = \"none\"",
            "SSLCARevocationFile only",
        ),
        (
            String::new(),
            "Require ssl-verify-client".to_owned(),
            "",
            "anonymous = \"none\"",
            "not asked for",
        ),
    ] {
        let (found, lines, notes) = import(&server, &inner);
        assert_eq!(found, settings, "{server}; {inner}");
        assert_eq!(lines, place, "{server}; {inner}");
        assert!(notes.contains(note), "{server}; {inner}: {notes}");
        assert!(!note.is_empty() || notes.is_empty(), "{server}; {inner}: {notes}");
    }
}

#[test]
fn nothing_to_import() {
    let error = imported_by("Listen 80\n", Options::default()).unwrap_err();
    assert!(error.message().contains("no <Location>"));
}

/// The configurations that were once opened, each with the access that is written (for all locations), and words of
/// the reports.
#[test]
fn what_httpd_protects_stays_protected() {
    const DAV: &str = "DAV svn\nSVNParentPath /srv\n";
    const LOGIN: &str = "AuthType Basic\nAuthName R\nAuthUserFile /u\nRequire valid-user\n";
    let place = |url: &str, inner: &str| format!("<Location {url}>\n{inner}</Location>\n");
    let open = place("/svn", DAV);
    let closed = place("/svn", &format!("{DAV}{LOGIN}"));
    let user = closed.replace("valid-user", "user alice");
    let group = closed.replace("valid-user", "group staff");
    let pattern = |section: &str| {
        format!(
            "{closed}<{section}>\nRequire user admin\n</{}>\n",
            section.split(' ').next().unwrap()
        )
    };
    let host = |name: &str, inner: &str| {
        format!("<VirtualHost *:80>\nServerName {name}\n{inner}</VirtualHost>\n")
    };
    const REQUIRED: &str = "login = \"required\"";
    const NONE: &str = "anonymous = \"none\"";
    for (text, written, said) in [
        (format!("{open}{}", place("/svn", LOGIN)), REQUIRED, ""),
        (format!("{}{open}", place("/svn", LOGIN)), REQUIRED, ""),
        (
            format!(
                "<IfModule !mod_authz_svn.c>\n{open}</IfModule>\n<IfModule authz_svn_module>\n{closed}</IfModule>\n"
            ),
            REQUIRED,
            "",
        ),
        (
            format!("<IfDefine OPEN>\n{open}</IfDefine>\n<IfDefine !OPEN>\n{closed}</IfDefine>\n"),
            REQUIRED,
            "",
        ),
        (format!("<IfModule own.c>\n{open}</IfModule>\n"), NONE, "--modules"),
        (
            closed.replace("Require", "Satisfy Any\nDeny from all\nAllow from 10\nRequire"),
            REQUIRED,
            "",
        ),
        (
            closed.replace(
                "Require valid-user",
                "<RequireAll>\nRequire valid-user\nRequire not user bob\n</RequireAll>",
            ),
            NONE,
            "Require",
        ),
        (group, NONE, "Require"),
        (format!("{user}{}", place("/svn/", "Require user admin\n")), NONE, "same users"),
        (format!("{user}{}", place("/svn/", "Require valid-user\n")), NONE, "same users"),
        (user, REQUIRED, ""),
        (pattern("LocationMatch \"^/svn/[^/]+/secret\""), NONE, "pattern of addresses"),
        (pattern("Location ~ \"^/svn/[^/]+/secret\""), NONE, "pattern of addresses"),
        (
            pattern("Location /svn/a/secret"),
            "login = \"required\", anonymous = \"none\"",
            "within a repository",
        ),
        (format!("{open}RewriteEngine On\nRewriteRule ^/svn/secret - [F]\n"), NONE, "RewriteRule"),
        (format!("{open}<If \"true\">\nRequire all denied\n</If>\n"), NONE, "<if>"),
        (format!("{open}SecRuleEngine On\n"), NONE, "SecRuleEngine"),
        (
            format!("<Macro M $n>\n{}</Macro>\nUse M svn\n", closed.replace("/svn", "/$n")),
            REQUIRED,
            "",
        ),
        (host("a", &open) + &host("b", &closed), NONE, "--virtual-host"),
        (host("a", &closed) + &host("b", &closed), REQUIRED, ""),
        (format!("{}{}", closed, host("a", "")), REQUIRED, ""),
        (
            format!("{open}Alias /svn/a /tmp\n"),
            "anonymous = \"write\", anonymous = \"none\"",
            "Alias",
        ),
    ] {
        let (text_of_ours, notes) = imported(&text);
        let says = |line: &&str| {
            ["anonymous", "login", "authenticated"].iter().any(|word| line.starts_with(word))
        };
        let lines: Vec<&str> = text_of_ours.lines().filter(says).collect();
        assert_eq!(lines.join(", "), written, "{text}\n{text_of_ours}");
        let notes = notes.join("\n");
        assert!(notes.contains(said) && notes.is_empty() == said.is_empty(), "{text}\n{notes}");
    }
    let one = Options { host: Some("b".to_owned()), ..Options::default() };
    let (text, notes) = imported_by(&(host("a", &open) + &host("b", &closed)), one).unwrap();
    assert!(text.contains(REQUIRED) && notes.is_empty(), "{text} {notes:?}");
}

#[test]
fn secrets_are_not_printed() {
    let (text, notes) = imported(
        "DBDParams \"pass=geheim\"\nSSLPassPhraseDialog exec:geheim\nOwnPassword geheim\n<Location /s>\nDAV svn\n\
         SVNPath /r\nAuthLDAPBindPassword geheim\nAuthDBDUserPWQuery geheim\nOwnSecret geheim\nRequire user geheim\n\
         RequestHeader set X geheim\n</Location>\n",
    );
    let all = text + &notes.join("\n");
    assert!(!all.contains("geheim") && all.contains("OwnPassword"), "{all}");
}

#[test]
fn ports_are_those_of_httpd() {
    const PLACE: &str = "<Location /s>\nDAV svn\nSVNPath /r\n</Location>\n";
    const TLS: &str = "SSLCertificateFile /c\nSSLCertificateKeyFile /k\n";
    let host =
        |address: &str, inner: &str| format!("<VirtualHost {address}>\n{inner}</VirtualHost>\n");
    for (text, ports) in [
        (format!("Listen 80\n{PLACE}"), "0.0.0.0 http-port = 80"),
        (format!("Listen 10.0.0.1:80\n{PLACE}"), "10.0.0.1 http-port = 80"),
        (
            format!("Listen 24080 https\n{}", host("*:24080", &format!("{TLS}{PLACE}"))),
            "0.0.0.0 https-port = 24080",
        ),
        (host("*:443", &format!("SSLEngine on\n{TLS}{PLACE}")), "0.0.0.0 https-port = 443"),
        (
            format!(
                "Listen 80\nListen 443\n{}{}",
                host("*:80", ""),
                host("*:443", &format!("{TLS}{PLACE}"))
            ),
            "0.0.0.0 https-port = 443",
        ),
        (
            format!(
                "Listen 80\nListen 443\n{}{}",
                host("*:80", PLACE),
                host("*:443", &format!("{TLS}{PLACE}"))
            ),
            "0.0.0.0 http-port = 80 https-port = 443",
        ),
        (format!("Listen 80\n{}", host("127.0.0.1:80", PLACE)), "127.0.0.1 http-port = 80"),
        (
            format!(
                "Listen 127.0.0.1:80\nListen 443\n{}{}",
                host("*:80", PLACE),
                host("*:443", &format!("{TLS}{PLACE}"))
            ),
            "0.0.0.0 https-port = 443",
        ),
    ] {
        let (written, _) = imported(&text);
        let line = |begin: &str| written.lines().find(|line| line.starts_with(begin)).unwrap_or("");
        let listen = line("listen = ").trim_start_matches("listen = ").trim_matches('"');
        let all = [listen, line("http-port"), line("https-port")];
        let all: Vec<&str> = all.into_iter().filter(|word| !word.is_empty()).collect();
        assert_eq!(all.join(" "), ports, "{text}\n{written}");
    }
}

#[test]
fn users_of_a_directory() {
    let place = |inner: &str| {
        imported(&format!(
            "<Location /s>\nDAV svn\nSVNPath /r\nAuthType Basic\nAuthName x\nAuthBasicProvider ldap\n\
             {inner}\n</Location>\n"
        ))
    };
    let (text, notes) = place(
        "AuthLDAPURL \"ldaps://dc1 dc2:3269/DC=x,DC=y?sAMAccountName?sub?(objectClass=user)\"\n\
         AuthLDAPBindDN cn=svn,dc=x\nAuthLDAPBindPassword geheim\n\
         Require ldap-group cn=My Devs,dc=x\nRequire ldap-group cn=my devs,dc=y\nRequire ldap-user ada",
    );
    let expected = "members = [\"group:My Devs\", \"group:my devs\", \"ada\"]\nlogin = \"required\"\n\
         directory = \"directory\"\n\n\
         [[directory]]\nname = \"directory\"\nservers = [\"ldaps://dc1\", \"ldaps://dc2:3269\"]\n\
         base = \"DC=x,DC=y\"\nbind-dn = \"cn=svn,dc=x\"\nbind-password-file = \"directory-password\"\n\
         user-filter = \"(&(objectClass=user)(sAMAccountName={user}))\"\nuser-name = \"sAMAccountName\"\n\
         group-filter = \"(|(member={dn})(uniqueMember={dn}))\"\nnested-groups = false\n\
         groups = { \"My Devs\" = \"cn=My Devs,dc=x\", \"my devs\" = \"cn=my devs,dc=y\" }\n";
    assert!(text.ends_with(expected), "{text}");
    assert!(notes.len() == 1 && notes[0].contains("directory-password"), "{notes:?}");
    // What is not found here as httpd finds it lets no user in.
    const URL: &str = "AuthLDAPURL ldaps://dc/o=x\nRequire valid-user\n";
    assert!(place(URL).0.contains("directory = "));
    for closed in [
        "Require valid-user",
        "AuthLDAPURL ldaps://dc/o=x?uid?one\nRequire valid-user",
        &format!("{URL}AuthLDAPInitialBindAsUser on"),
        &format!("{URL}AuthBasicProvider ldap dbd"),
        &format!("{URL}AuthBasicProvider file\nRequire ldap-group cn=x"),
        "AuthLDAPURL ldaps://dc/o=x\nRequire ldap-filter (x=y)",
        "AuthLDAPURL ldaps://dc/o=x\nRequire ldap-attribute x=y",
    ] {
        let (text, _) = place(closed);
        assert!(text.contains("anonymous = \"none\"") && !text.contains("directory ="), "{text}");
    }
}

#[test]
fn users_with_tickets() {
    let place = |inner: &str| {
        imported(&format!(
            "<Location /s>\nDAV svn\nSVNPath /r\nAuthType GSSAPI\nAuthName x\nRequire valid-user\n\
             {inner}\n</Location>\n"
        ))
    };
    let (text, notes) = place("GssapiLocalName On\nGssapiCredStore keytab:/etc/http.keytab");
    assert!(text.contains("login = \"required\"") && text.contains("kerberos = true"), "{text}");
    assert!(notes.len() == 1 && notes[0].contains("KRB5_KTNAME=/etc/http.keytab"), "{notes:?}");
    let (text, notes) = place("GssapiLocalName On\nGssapiBasicAuth On\nGssapiUseSessions On");
    assert!(text.contains("kerberos = true") && notes.len() == 1, "{text} {notes:?}");
    // Other names, or users that are refused by what is not there, let no user in.
    for closed in [
        "",
        "GssapiLocalName Off",
        "GssapiLocalName On\nGssapiRequiredNameAttributes \"x=y\"",
        "GssapiLocalName On\nGssapiSSLonly On",
        "AuthType Kerberos\nKrb5Keytab /k\nKrbMethodNegotiate On",
        "GssapiLocalName On\nAuthType Kerberos",
    ] {
        let (text, notes) = place(closed);
        assert!(text.contains("anonymous = \"none\"") && !text.contains("kerberos"), "{text}");
        assert!(!notes.is_empty(), "{closed}");
    }
}
