//! Problems of one location: what it serves, who may do what, and how users log in.

use sapwood_server::common::config::CertificateName;
use sapwood_server::dav::Master;

use super::super::config::{File, LocationConfig, LoginWord, MOST_DELAY, version};
use super::super::lines::Problem;
use super::Problems;

/// The problems of one location. Their settings are named without it.
pub(super) fn of_place(place: &LocationConfig, file: &File, found: &mut Problems) {
    if place.folder.is_some() == place.repository.is_some() {
        let setting = if place.folder.is_some() { "repository" } else { "url" };
        found.push(Problem::error(setting, "either 'folder' or 'repository' is needed"));
    }
    if place.repository.is_some() && place.list.is_some() {
        found.push(Problem::warning("list", "'list' is for a folder of repositories"));
    }
    if place.repository.is_some() && place.flat {
        found.push(Problem::warning("flat", "'flat' is for a folder of repositories"));
    }
    of_rules(place, found);
    of_master(place, found);
    of_login(place, file, found);
    if place.password_delay.is_some_and(|seconds| seconds > MOST_DELAY) {
        let why = format!("'password-delay' is at most {MOST_DELAY} seconds");
        found.push(Problem::error("password-delay", why));
    }
    if place
        .realm
        .as_deref()
        .is_some_and(|realm| realm.contains(|c: char| c.is_control() || "\"\\".contains(c)))
    {
        found
            .push(Problem::error("realm", "'realm' has quotes, backslashes or control characters"));
    }
}

fn of_rules(place: &LocationConfig, found: &mut Problems) {
    if place.authz.is_some() && place.authz_in_conf.is_some() {
        found.push(Problem::error("authz-in-conf", "either 'authz' or 'authz-in-conf', not both"));
    }
    if !place.has_access() {
        let alone = [
            ("realm", place.realm.is_some()),
            ("groups", place.groups.is_some()),
            ("username-case", place.username_case.is_some()),
            ("path-authz", place.path_authz.is_some()),
            ("hooks-env", place.hooks_env.is_some()),
            ("password-delay", place.password_delay.is_some()),
        ];
        for (name, _) in alone.into_iter().filter(|(_, is_set)| *is_set) {
            found.push(Problem::error(
                name,
                format!(
                    "'{name}' without 'login', 'users', 'anonymous' or 'authz': the repositories' own \
                     files say who may do what here"
                ),
            ));
        }
        return;
    }
    let of_rules = [
        ("groups", place.groups.is_some()),
        ("username-case", place.username_case.is_some()),
        ("path-authz", place.path_authz.is_some()),
    ];
    for (name, _) in of_rules.into_iter().filter(|(_, is_set)| *is_set && !place.has_authz()) {
        let why = format!("'{name}' has no effect without 'authz' or 'authz-in-conf'");
        found.push(Problem::error(name, why));
    }
}

fn of_master(place: &LocationConfig, found: &mut Problems) {
    let of_master = [
        ("master-version", place.master_version.is_some()),
        ("master-ca", place.master_ca.is_some()),
    ];
    if let Some((name, _)) = of_master.iter().find(|(_, is_set)| *is_set && place.master.is_none())
    {
        let why = "'master-version' and 'master-ca' need 'master'";
        found.push(Problem::error(*name, why));
    }
    if let Some(text) = place.master_version.as_deref().filter(|text| version(text).is_none()) {
        let why = format!("'master-version': '{text}' is no release, as 1.14 is");
        found.push(Problem::error("master-version", why));
    }
    if let Some(Err(error)) = place.master.as_ref().map(|url| Master::new(url, None, None)) {
        found.push(Problem::error("master", format!("'master': {}", error.message())));
    }
}

fn of_login(place: &LocationConfig, file: &File, found: &mut Problems) {
    let words = CertificateName::WORDS.map(|(word, _)| word);
    if let Some(word) = place.certificate_user.as_deref().filter(|word| !words.contains(word)) {
        let why = format!("'certificate-user' is one of {}, not '{word}'", words.join(", "));
        found.push(Problem::error("certificate-user", why));
    }
    let wants = [
        ("require-certificate", place.require_certificate),
        ("certificate-user", place.certificate_user.is_some()),
    ];
    for (name, _) in wants.into_iter().filter(|(_, is_set)| *is_set && file.tls_client_ca.is_none())
    {
        found.push(Problem::error(name, format!("'{name}' needs 'tls-client-ca'")));
    }
    if place.kerberos && !sapwood_kerberos::IS_BUILT_IN {
        let why = "'kerberos': this program was built without the feature 'kerberos'";
        found.push(Problem::error("kerberos", why));
    }
    if place.digest_users.is_some() && place.realm.is_none() {
        let why = "'digest-users' needs 'realm': the file says whose users they are";
        found.push(Problem::error("digest-users", why));
    }
    if let Some(header) = &place.user_header {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if header.is_empty() || !header.chars().all(is_name) {
            let why = format!("'user-header': '{header}' is no name of a header");
            found.push(Problem::error("user-header", why));
        }
        if file.trusted_proxies.is_empty() {
            let why = "'user-header' needs 'trusted-proxies': no other peer is believed";
            found.push(Problem::warning("user-header", why));
        }
    }
    let can_login = place.can_login();
    match place.login {
        Some(LoginWord::Never) if can_login => {
            found.push(Problem::error("login", "users are named, but 'login' is 'never'"));
        }
        Some(LoginWord::Never) | None => {}
        Some(_) if can_login => {}
        Some(_) => {
            let why = "'login' needs 'users', 'digest-users', 'svnserve-users', 'accounts', \
                       'directory', 'kerberos', 'oidc', 'user-header' or 'certificate-user'";
            found.push(Problem::error("login", why));
        }
    }
    if !place.members.is_empty() && !can_login {
        let why = "'members' has no effect: there is no way to log in";
        found.push(Problem::error("members", why));
    }
    if place.authenticated.is_some() && !can_login {
        let why = "'authenticated' has no effect: there is no way to log in";
        found.push(Problem::warning("authenticated", why));
    }
    if place.anonymous.is_some() && place.is_login_required() {
        let why = "'anonymous' has no effect: all users have to log in ('login' may say otherwise)";
        found.push(Problem::warning("anonymous", why));
    }
}
