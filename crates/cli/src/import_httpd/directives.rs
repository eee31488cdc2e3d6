//! Each directive of mod_dav_svn, mod_authz_svn and mod_dontdothat, as the table of docs/serve.md has it:
//! converted, reported as not convertible, or ignored.

use super::Options;
use super::tests::imported_by;

const PAGE: &str = include_str!("../../../../docs/serve.md");

/// The outcome for a directive.
#[derive(Debug, PartialEq)]
enum Fate {
    /// A line of the location.
    Place(&'static str),
    /// A line of the whole server.
    Server(&'static str),
    /// It is named among what could not be taken over.
    Said,
    Nothing,
}

use Fate::{Nothing, Place, Said, Server};

/// Where a directive may stand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    InPlaces,
    OutsidePlaces,
    Both,
}

use Where::{Both, InPlaces, OutsidePlaces};

const REQUIRED: &str = "SVNPath /r\nAuthType Basic\nAuthUserFile /u\nAuthzSVNAccessFile /a\nRequire valid-user\nSatisfy Any";

const RULES: &str = "SVNPath /r\nAuthzSVNAccessFile /a";

/// The directives with the reports about them, where they may stand, and what becomes of them. The second text is what
/// stands beside it in the place.
const ALL: [(&str, &str, Where, Fate); 44] = [
    ("SVNPath /r", "SVNParentPath /x", InPlaces, Place("repository = \"/r\"")),
    ("SVNParentPath /srv", "SVNParentPath /x", InPlaces, Place("folder = \"/srv\"")),
    ("SVNListParentPath On", "SVNParentPath /srv", Both, Place("list = true")),
    ("SVNListParentPath Off", "SVNParentPath /srv", Both, Nothing),
    ("SVNReposName Best", "SVNPath /r", InPlaces, Place("name = \"Best\"")),
    ("SVNIndexXSLT /x.xsl", "SVNPath /r", InPlaces, Said),
    ("SVNSpecialURI $svn", "SVNPath /r", OutsidePlaces, Said),
    ("SVNSpecialURI !svn", "SVNPath /r", OutsidePlaces, Nothing),
    ("SVNAutoversioning On", "SVNPath /r", Both, Place("autoversioning = true")),
    ("SVNAutoversioning Off", "SVNPath /r", Both, Nothing),
    ("SVNPathAuthz Off", RULES, Both, Place("path-authz = \"off\"")),
    ("SVNPathAuthz On", RULES, Both, Place("path-authz = \"on\"")),
    ("SVNPathAuthz short_circuit", RULES, Both, Place("path-authz = \"short-circuit\"")),
    ("SVNMasterURI http://m/s", "SVNPath /r", InPlaces, Place("master = \"http://m/s\"")),
    ("SVNMasterURI m", "SVNPath /r", InPlaces, Said),
    (
        "SVNMasterVersion 1.8.0",
        "SVNPath /r\nSVNMasterURI http://m/s",
        InPlaces,
        Place("master-version = \"1.8.0\""),
    ),
    ("SVNActivitiesDB /a", "SVNPath /r", InPlaces, Nothing),
    ("SVNAllowBulkUpdates Prefer", "SVNPath /r", Both, Server("bulk-updates = \"prefer\"")),
    ("SVNAllowBulkUpdates On", "SVNPath /r", Both, Server("bulk-updates = \"on\"")),
    ("SVNAllowBulkUpdates off", "SVNPath /r", Both, Server("bulk-updates = \"off\"")),
    ("SVNAdvertiseV2Protocol Off", "SVNPath /r", Both, Server("http-v2 = false")),
    ("SVNAdvertiseV2Protocol On", "SVNPath /r", Both, Nothing),
    ("SVNCacheTextDeltas Off", "SVNPath /r", Both, Nothing),
    ("SVNCacheFullTexts On", "SVNPath /r", Both, Nothing),
    ("SVNCacheRevProps On", "SVNPath /r", Both, Nothing),
    ("SVNCacheNodeProps Off", "SVNPath /r", Both, Nothing),
    ("SVNBlockRead On", "SVNPath /r", Both, Nothing),
    ("SVNInMemoryCacheSize 524288", "SVNPath /r", OutsidePlaces, Server("cache-megabytes = 512")),
    ("SVNInMemoryCacheSize 16384", "SVNPath /r", OutsidePlaces, Nothing),
    ("SVNCompressionLevel 3", "SVNPath /r", OutsidePlaces, Server("compression = 3")),
    ("SVNUseUTF8 On", "SVNPath /r", OutsidePlaces, Nothing),
    ("SVNHooksEnv env", "SVNPath /r", Both, Place("hooks-env = \"env\"")),
    ("AuthzSVNAccessFile /a", "SVNPath /r", InPlaces, Place("authz = \"/a\"")),
    ("AuthzSVNReposRelativeAccessFile a", "SVNPath /r", InPlaces, Place("authz-in-conf = \"a\"")),
    ("AuthzSVNReposRelativeAccessFile ^/a", "SVNPath /r", InPlaces, Place("authz = \"^/a\"")),
    (
        "AuthzSVNGroupsFile /g",
        "SVNPath /r\nAuthzSVNAccessFile /a",
        InPlaces,
        Place("groups = \"/g\""),
    ),
    ("AuthzSVNAuthoritative Off", "SVNPath /r", InPlaces, Said),
    ("AuthzSVNAuthoritative On", "SVNPath /r", InPlaces, Nothing),
    ("AuthzSVNAnonymous Off", REQUIRED, InPlaces, Place("login = \"required\"")),
    ("AuthzSVNNoAuthWhenAnonymousAllowed On", REQUIRED, InPlaces, Place("login = \"lenient\"")),
    (
        "AuthzForceUsernameCase Upper",
        "SVNPath /r\nAuthzSVNAccessFile /a",
        InPlaces,
        Place("username-case = \"upper\""),
    ),
    (
        "AuthzForceUsernameCase Lower",
        "SVNPath /r\nAuthzSVNAccessFile /a",
        InPlaces,
        Place("username-case = \"lower\""),
    ),
    ("DontDoThatConfigFile /d", "SVNPath /r", Both, Said),
    ("DontDoThatDisallowReplay On", "SVNPath /r", Both, Said),
];

/// The rows of the table about these modules: directive, and whether it is imported.
fn rows() -> Vec<(&'static str, &'static str)> {
    let (_, table) = PAGE.split_once("| directive | here | imported |\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim);
    let row = |line| Some((cells(line).next()?, cells(line).next_back()?));
    table.lines().skip(1).filter_map(row).collect()
}

/// The lines about the server, those about the location, and the reports, of a configuration.
fn imported(server: &str, place: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let conf = format!("{server}\n<Location /s>\nDAV svn\n{place}\n</Location>\n");
    let (text, notes) = imported_by(&conf, Options::default()).unwrap();
    let (server, place) = text.split_once("[[location]]\n").unwrap();
    let is_setting = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let lines = |text: &str| text.lines().filter(is_setting).map(str::to_owned).collect();
    (lines(server), lines(place), notes)
}

#[test]
fn each_does_what_the_table_says() {
    for (directive, beside, may_stand, fate) in &ALL {
        let (bare_server, bare_place, bare_notes) = imported("", beside);
        assert!(bare_notes.is_empty(), "{directive}: {bare_notes:?}");
        let name = directive.split(' ').next().unwrap();
        let mut ways = Vec::new();
        if *may_stand != OutsidePlaces {
            ways.push(imported("", &format!("{beside}\n{directive}")));
        }
        if *may_stand != InPlaces {
            ways.push(imported(directive, beside));
        }
        for (server, place, notes) in ways {
            let new = |lines: &[String], bare: &[String]| -> Vec<String> {
                lines.iter().filter(|line| !bare.contains(line)).cloned().collect()
            };
            let (server, place) = (new(&server, &bare_server), new(&place, &bare_place));
            match fate {
                Place(line) => {
                    assert_eq!((server, place), (vec![], vec![(*line).to_owned()]), "{directive}")
                }
                Server(line) => {
                    assert_eq!((server, place), (vec![(*line).to_owned()], vec![]), "{directive}")
                }
                Said => assert!(
                    notes.len() == 1 && notes[0].contains(directive.split(' ').next().unwrap()),
                    "{directive}: {notes:?}"
                ),
                Nothing => assert!(
                    server.is_empty() && place.is_empty(),
                    "{directive}: {server:?} {place:?}"
                ),
            }
            assert!(*fate == Said || notes.is_empty(), "{directive}: {notes:?}");
        }
        let (_, imported) = rows().into_iter().find(|(row, _)| *row == name).unwrap();
        let fits = match fate {
            Place(_) | Server(_) => imported.starts_with("yes") || imported.starts_with("above"),
            Said => imported.contains("said"),
            Nothing => true,
        };
        assert!(fits, "{directive}: the table says '{imported}'");
    }
}

#[test]
fn the_table_names_all_of_them() {
    let rows = rows();
    let tested = |name: &str| ALL.iter().any(|(d, ..)| d.split(' ').next() == Some(name));
    let missing: Vec<_> = rows.iter().filter(|(name, _)| !tested(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(rows.len(), 31);
    for (name, imported) in rows {
        let mut fates = ALL.iter().filter(|(d, ..)| d.split(' ').next() == Some(name));
        let wanted = match imported {
            "passed over" => fates.all(|(.., fate)| *fate == Nothing),
            _ => fates.any(|(.., fate)| *fate != Nothing),
        };
        assert!(wanted, "{name}: the table says '{imported}'");
    }
}

#[test]
fn a_place_takes_back_what_the_server_says() {
    let outside = "SVNListParentPath On\nSVNAutoversioning On\nSVNAdvertiseV2Protocol Off\n\
                   SVNAllowBulkUpdates Prefer";
    let inside = "SVNParentPath /r\nSVNListParentPath Off\nSVNAutoversioning Off\n\
                  SVNAdvertiseV2Protocol On\nSVNAllowBulkUpdates Off";
    let (server, place, notes) = imported(outside, inside);
    assert_eq!(server, ["bulk-updates = \"off\""]);
    assert_eq!(place, imported("", "SVNParentPath /r").1);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn what_stands_outside_is_said_once() {
    let place = |url: &str| format!("<Location {url}>\nDAV svn\nSVNPath /r\n</Location>\n");
    let conf = format!("DontDoThatConfigFile /d\n{}{}", place("/a"), place("/b"));
    let (_, notes) = imported_by(&conf, Options::default()).unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
}
