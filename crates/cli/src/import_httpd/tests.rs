//! Whole configurations, and what becomes of who may come in.

use super::*;

/// Imports a text; httpd has these modules and definitions.
pub(super) fn imported_by(text: &str, options: Options) -> SvnResult<(String, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    std::fs::write(&path, text).unwrap();
    let list = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let given = Given {
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
         # FOLDER/c:23: Require: httpd lets some users in by what is not looked at here (names, addresses, \
         expressions)\n# Nobody is let in here until this is solved otherwise.\n\
         [[location]]\nurl = \"/svn/secret\"\nrepository = \"/srv/s v/secret\"\nanonymous = \"none\"\n\n\
         [[redirect]]\nfrom = \"/old\"\nto = \"/svn\"\npermanent = true\n\n\
         [[redirect]]\nfrom = \"/x-*\"\nto = \"/svn/\"\npermanent = false\n";
    assert_eq!(text, expected);
    let told = notes.join("\n");
    for word in ["SVNIndexXSLT", "AuthLDAPURL", "/svn/secret", "RedirectMatch"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert_eq!(notes.len(), 4, "{told}");
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
    for (server, inner, expected, told) in cases {
        let (text, notes) = import(server, inner);
        assert_eq!(text, expected, "{server}; {inner}");
        assert!(notes.contains(told), "{server}; {inner}: {notes}");
        assert!(!told.is_empty() || notes.is_empty(), "{server}; {inner}: {notes}");
    }
    let mirror = format!("{LOGIN}\nSVNMasterURI x\nSVNMasterVersion 1.8.0");
    let login = "users = \"/u\", login = \"required\"";
    assert_eq!(import("", &mirror).0, format!("{login}, authenticated = \"read\""));
    let mirror = "SVNMasterURI https://m/s\nSVNMasterVersion 1.8.0";
    let lines = "master = \"https://m/s\", master-version = \"1.8.0\", anonymous = \"write\"";
    assert_eq!(import("", mirror).0, lines);
    // Only readers are asked: a user who is asked to read is asked to write, too.
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
    for (server, inner, settings, place, told) in [
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
        // The password says who it is.
        (
            format!("{CA}\nSSLVerifyClient require\n{NAME}"),
            "Require valid-user".to_owned(),
            ca,
            &login,
            "",
        ),
        // What cannot be taken over leaves the place closed.
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
        assert!(notes.contains(told), "{server}; {inner}: {notes}");
        assert!(!told.is_empty() || notes.is_empty(), "{server}; {inner}: {notes}");
    }
}

#[test]
fn nothing_to_import() {
    let error = imported_by("Listen 80\n", Options::default()).unwrap_err();
    assert!(error.message().contains("no <Location>"));
}
