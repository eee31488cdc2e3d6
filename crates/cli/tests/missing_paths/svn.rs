//! The commands of svn:// that name a path.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use sapwood_testkit::Programs;
use sapwood_testkit::server::Server;

use super::{PATHS, REVISIONS, Twins};

/// Commands, with `P` for the path as a string, `R` for the revision and `U` for the session's URL.
const COMMANDS: &[&str] = &[
    "( check-path ( P ( R ) ) )",
    "( stat ( P ( R ) ) )",
    "( get-file ( P ( R ) true true false ) )",
    "( get-file ( P ( R ) true false true ) )",
    "( get-dir ( P ( R ) true true ( kind size has-props created-rev ) false ) )",
    "( get-dir ( P ( R ) true false ( ) true ) )",
    "( list ( P ( R ) infinity ( kind ) ) )",
    "( list ( P ( R ) empty ( kind ) ) )",
    "( get-iprops ( P ( R ) ) )",
    "( get-mergeinfo ( ( P ) ( R ) inherited false ) )",
    "( get-mergeinfo ( ( P ) ( R ) explicit true ) )",
    "( log ( ( P ) ( R ) ( 0 ) true false 0 false revprops ( ) ) )",
    "( log ( ( P ) ( R ) ( R ) true true 0 false revprops ( ) ) )",
    "( get-locations ( P R ( 1 2 3 4 ) ) )",
    "( get-location-segments ( P ( R ) ( R ) ( 0 ) ) )",
    "( get-location-segments ( P ( ) ( ) ( ) ) )",
    "( get-file-revs ( P ( 0 ) ( R ) false ) )",
    "( get-file-revs ( P ( R ) ( R ) true ) )",
    "( get-deleted-rev ( P 1 R ) )",
    "( get-deleted-rev ( P R 4 ) )",
    "( get-lock ( P ) )",
    "( get-locks ( P ( infinity ) ) )",
    "( lock ( P ( 1:c ) false ( R ) ) )",
    "( lock ( P ( 1:c ) true ( ) ) )",
    "( unlock ( P ( 4:none ) false ) )",
    "( unlock ( P ( ) true ) )",
    "( reparent ( U/P ) ) ( check-path ( 0: ( R ) ) ) ( get-dir ( 0: ( R ) true true ( kind ) false ) )",
    "( reparent ( U/P ) ) ( replay ( R 0 true ) )",
    "( update ( ( R ) P true infinity false false ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) )",
    "( update ( ( R ) P true infinity false false ) ) ( set-path ( 0: 4 true ( ) infinity ) ) ( finish-report ( ) )",
    "( switch ( ( R ) 1:b true U/P infinity false true ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) )",
    "( switch ( ( R ) 0: true U/P infinity false true ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) )",
    "( status ( P true ( R ) infinity ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) )",
    "( diff ( ( R ) P true true U/P true infinity ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) )",
    "( diff ( ( R ) 1:b true true U/P true infinity ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) )",
    "( update ( ( R ) 0: true infinity false false ) ) ( set-path ( 0: 4 false ( ) infinity ) ) \
     ( link-path ( 1:b U/P R false ( ) infinity ) ) ( finish-report ( ) )",
    "( commit ( 1:m ( ) false ( ) ) ) ( open-root ( ( 4 ) 1:r ) ) ( delete-entry ( P R 1:r ) ) ( close-edit ( ) )",
    "( commit ( 1:m ( ) false ( ) ) ) ( open-root ( ( 4 ) 1:r ) ) ( open-dir ( P 1:r 1:d ( R ) ) ) \
     ( change-dir-prop ( 1:d 1:p ( 1:v ) ) ) ( close-dir ( 1:d ) ) ( abort-edit ( ) )",
    "( commit ( 1:m ( ) false ( ) ) ) ( open-root ( ( 4 ) 1:r ) ) ( open-file ( P 1:r 1:d ( R ) ) ) \
     ( close-file ( 1:d ( ) ) ) ( abort-edit ( ) )",
    "( commit ( 1:m ( ) false ( ) ) ) ( open-root ( ( 4 ) 1:r ) ) ( add-dir ( 3:new 1:r 1:d ( U/P R ) ) ) ( abort-edit ( ) )",
    "( commit ( 1:m ( ) false ( ) ) ) ( open-root ( ( 4 ) 1:r ) ) ( add-file ( P 1:r 1:d ( ) ) ) ( abort-edit ( ) )",
];

fn string(text: &str) -> String {
    format!("{}:{text}", text.len())
}

/// How an edit ends.
const ENDS: [&str; 3] = ["( close-edit ( ) )", "( finish-replay ( ) )", "( abort-edit ( ) )"];

/// Whether an answer is complete.
fn is_whole(answer: &[u8], is_edit: bool) -> bool {
    let text = String::from_utf8_lossy(answer);
    let failed = is_edit && text.contains("( failure ") && text.ends_with(") ) ) ");
    failed
        || match is_edit {
            true => ENDS.iter().any(|end| text.contains(end)),
            false => text.trim_end().ends_with("( success ( 0 ) )"),
        }
}

/// What a server says to a command, in a session of its own at `at` below the repository.
fn asked(server: &Server, at: &str, command: &str) -> String {
    let url = server.url(&format!("repo{at}"));
    let agent = string("test");
    let capabilities = "edit-pipeline svndiff1 absent-entries depth mergeinfo log-revprops";
    // Its answer comes last, and no other looks like it. Edits end by themselves.
    let last = format!("( get-dated-rev ( {} ) ) ", string("2000-01-01T00:00:00.000000Z"));
    let is_edit = command.contains("finish-report") || command.contains("( replay ");
    let last = if is_edit { "" } else { &last };
    let sent = format!(
        "( 2 ( {capabilities} ) {} {agent} ( ) ) ( ANONYMOUS ( 0: ) ) {command} {last}",
        string(&url)
    );
    let mut socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(sent.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&answer, is_edit) {
        match socket.read(&mut piece) {
            Ok(0) => break,
            Err(error) => {
                panic!("{error} after {:?} to {sent}", String::from_utf8_lossy(&answer))
            }
            Ok(length) => answer.extend_from_slice(&piece[..length]),
        }
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    let port = server.port().to_string();
    let text = text.replace(&port, "PORT");
    // After the greeting, the choice of a mechanism and the repository's own words.
    text.split_once("file-revs-reverse list ) ) )")
        .map_or(text.clone(), |(_, rest)| rest.to_owned())
}

/// The codes of the errors in an answer, and how it went otherwise: what clients act on. Places in the
/// reference's source, the order of properties, times and tokens are no part of it.
fn outcome(answer: &str) -> String {
    let mut found = String::new();
    let mut words = answer.split(' ').peekable();
    while let Some(word) = words.next() {
        if word == "failure" {
            let rest: Vec<&str> = words.clone().take(4).collect();
            let code = rest.iter().find(|word| word.len() == 6 && word.parse::<u32>().is_ok());
            let message = answer.split_once("failure").map_or("", |(_, rest)| rest);
            let message = message.splitn(4, ' ').nth(3).unwrap_or("");
            let words: String =
                message.chars().take_while(|c| !"(/".contains(*c) || *c == '/').collect();
            write!(found, "failure {code:?} {words}").unwrap();
            return found;
        }
    }
    // What follows the end of an edit is the client's turn.
    let ends = ENDS.iter().filter_map(|end| Some(answer.find(end)? + end.len()));
    let answer = &answer[..ends.min().unwrap_or(answer.len())];
    // Of an answer that is none of these, the words and the paths: pieces of texts differ.
    let is_word = |word: &&str| {
        let is_piece = *word == "textdelta-chunk";
        !word.is_empty() && !is_piece && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            || word.split_once(':').is_some_and(|(_, text)| text.starts_with('/'))
    };
    let mut kept: Vec<&str> = answer.split(' ').filter(is_word).collect();
    kept.sort_unstable();
    format!("success {}", kept.join(" "))
}

#[test]
fn every_command_as_svnserve() {
    let twins = Twins::new();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let (theirs, our) = (twins.svnserve(&reference), twins.svnserve(&ours));
    let mut told = String::new();
    for command in COMMANDS {
        for path in PATHS {
            for revision in REVISIONS {
                let ask = |server: &Server| {
                    let url = server.url("repo");
                    let line = command
                        .replace("U/P", &string(&format!("{url}/{path}")))
                        .replace('P', &string(path))
                        .replace('R', &revision.to_string())
                        .replace(&string(path).replace('R', &revision.to_string()), &string(path));
                    outcome(&asked(server, "", &line))
                };
                let (wanted, found) = (ask(&theirs), ask(&our));
                // Below a file the reference says now that nothing is there, now that no directory is.
                let both = |code: &str| code.contains("160013") || code.contains("160016");
                let alike = path == "f/nope" && both(&wanted) && both(&found);
                if wanted != found && !alike {
                    writeln!(told, "{command} {path} r{revision}\n 1.14: {wanted}\n ours: {found}")
                        .unwrap();
                }
                if !command.contains("( R )") && !command.contains(" R ") {
                    break;
                }
            }
        }
    }
    for at in ["/nope", "/f/nope", "/gone"] {
        for command in
            ["( get-latest-rev ( ) )", "( check-path ( 0: ( ) ) )", "( get-iprops ( 0: ( 4 ) ) )"]
        {
            let (wanted, found) =
                (outcome(&asked(&theirs, at, command)), outcome(&asked(&our, at, command)));
            if wanted != found {
                writeln!(told, "at {at}: {command}\n 1.14: {wanted}\n ours: {found}").unwrap();
            }
        }
    }
    assert!(told.is_empty(), "{told}");
}
