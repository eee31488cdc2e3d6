//! Random rules about groups: where the directory says who is in a group, each request has the reply that it has where
//! the rules file itself says so. (`SAPWOOD_LONG=1` for 3,000 requests.)

use std::fs;

use sapwood_core::rng::Rng;
use sapwood_testkit::slapd::{READER, SUFFIX, Slapd};

use crate::common::ldap;
use crate::common::places::Served;
use crate::common::probes::{self, Probe};

/// The same passwords as in the directory: `secret of NAME`.
const USERS: &str = "ada:{SHA}O3SKqHMCfR/aK2yVAjm6A7PODFo=\nbob:{SHA}dav9w3vfRt0uEkPauYFSic3zLxY=\n\
     eve:{SHA}xkAW0DT+/NEmPjZHIJwM16XWYoU=\n";

/// The repository twice, at paths of the same length: `/afar` has its groups from the directory, `/near` from the rules file.
fn served(company: &Slapd) -> Served {
    let location = |url: &str, login: &str| {
        format!(
            "[[location]]\nurl = '/{url}'\nfolder = '.'\nauthz = '{url}.authz'\npassword-delay = 0\n\
             realm = 'R'\n{login}\n"
        )
    };
    let config = format!(
        "{}{}[[directory]]\nname = 'company'\nservers = ['{}']\nbase = '{SUFFIX}'\nbind-dn = '{}'\n\
         bind-password-file = 'secret'\n",
        location("afar", "directory = 'company'"),
        location("near", "users = 'near.users'"),
        company.url(),
        READER.0,
    );
    // The files are there before the server is.
    Served::start_in(&config, |base| {
        fs::write(base.join("near.users"), USERS).unwrap();
        fs::write(base.join("secret"), READER.1).unwrap();
        for name in ["afar.authz", "near.authz"] {
            fs::write(base.join(name), "[/]\n* =\n").unwrap();
        }
    })
}

fn ask(rng: &mut Rng, paths: &[String]) -> Probe {
    let path = if rng.below(8) == 0 { "" } else { rng.choose(paths).unwrap() };
    let at = |middle: &str| format!("/LOCATION/repo{middle}{path}");
    let log = format!(
        "<S:log-report xmlns:S=\"svn:\"><S:start-revision>3</S:start-revision><S:end-revision>0</S:end-revision>\
         <S:discover-changed-paths/><S:path>{}</S:path></S:log-report>",
        path.trim_start_matches('/')
    );
    let (method, path, headers, body) = match rng.below(8) {
        0 | 1 => ("GET", at(""), "", String::new()),
        2 => ("PROPFIND", at(""), "Depth: 1\r\n", String::new()),
        3 => ("PROPFIND", at("/!svn/rvr/2"), "Depth: 0\r\n", String::new()),
        4 => ("REPORT", "/LOCATION/repo/!svn/rvr/3".into(), "Content-Type: text/xml\r\n", log),
        5 => ("GET", at("/-/tree"), "", String::new()),
        6 => ("GET", at("/-/api/v1/log"), "", String::new()),
        _ => ("MKCOL", at("/!svn/txr/none"), "", String::new()),
    };
    Probe { method, path, headers, body }
}

#[test]
fn groups_of_the_directory_count_as_those_of_the_rules_file() {
    let company = ldap::company(&probes::NAMES, &probes::MEMBERS);
    let served = served(&company);
    probes::compare(&served, "", ask, |probe, who, _| {
        let login = sapwood_core::base64::encode(format!("{who}:secret of {who}").as_bytes());
        let headers = format!("Authorization: Basic {login}\r\n{}", probe.headers);
        served.request(probe.method, &probe.path, &headers, &probe.body)
    });
}
