//! The same requests to both servers, and their replies compared byte by byte.
//!
//! Requests go in at once through `svnserve -i`, so what follows an error is compared too. Where
//! the reference sends the contents of a hash table, the order is no contract: replies are then
//! compared with their items sorted.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use sapwood_testkit::{Output, Programs, Repository, Shape};

pub(crate) const GREETING: &str = "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo \
                        log-revprops ) 21:svn://localhost/repo/ 10:SVN/1.14.2 ( ) ) \
                        ( ANONYMOUS ( 0: ) ) ";

/// What a server replies to all of `requests`.
pub(crate) fn talk(
    programs: &Programs,
    repo: &Repository,
    options: &[&str],
    requests: &[u8],
) -> Vec<u8> {
    let mut child = programs
        .command("svnserve")
        .args(["--inetd", "--root"])
        .arg(repo.parent())
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let requests = requests.to_vec();
    // A server that gives up early closes the pipe: that is no failure of this side.
    let writer = std::thread::spawn(move || drop(input.write_all(&requests)));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    out.stdout
}

/// What a server replies to `report`, which asks for an edit, and then to `rest`. The client's answer to an edit that
/// comes before the edit has ended is an error, when the server sees it in time.
fn talk_after_edit(programs: &Programs, repo: &Repository, report: &str, rest: &str) -> Vec<u8> {
    let mut child = programs
        .command("svnserve")
        .args(["--inetd", "--root"])
        .arg(repo.parent())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    input.write_all(report.as_bytes()).unwrap();
    let (mut reply, mut piece) = (Vec::new(), [0; 4096]);
    let ends = ["( close-edit ", "( abort-edit ", "( finish-replay ", "( failure "];
    while !ends.iter().any(|end| String::from_utf8_lossy(&reply).contains(end)) {
        let count = out.read(&mut piece).unwrap();
        assert_ne!(count, 0, "no end of an edit: {}", String::from_utf8_lossy(&reply));
        reply.extend_from_slice(&piece[..count]);
    }
    // A server that gives up closes the pipe: that is no failure of this side.
    let _ = input.write_all(rest.as_bytes());
    drop(input);
    out.read_to_end(&mut reply).unwrap();
    child.wait().unwrap();
    reply
}

/// Items that stand beside each other, sorted within their list: for replies from hash tables.
fn sorted(reply: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = reply.split(|b| b" ()".contains(b)).map(<[u8]>::to_vec).collect();
    parts.sort();
    parts
}

fn compare(repo: &Repository, options: &[&str], requests: &str, in_order: bool) {
    let all = format!("{GREETING}{requests}");
    let reference = talk(&Programs::reference(), repo, options, all.as_bytes());
    let ours = talk(&Programs::ours(), repo, options, all.as_bytes());
    if reference == ours || (!in_order && sorted(&reference) == sorted(&ours)) {
        return;
    }
    let (reference, ours) = (lines(&reference), lines(&ours));
    let difference = sapwood_testkit::compare::first_difference(&reference, &ours);
    panic!("{requests}\n{}", difference.unwrap_or_default());
}

/// A reply with a line for each list of its outer level, for people.
fn lines(reply: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(reply).replace(" ( ( ", "\n( ( ").into_bytes()
}

fn repo() -> Repository {
    Repository::scripted(&Shape::few()[0])
}

#[test]
fn plain_requests() {
    let repo = repo();
    for (in_order, requests) in [
        (true, "( get-latest-rev ( ) ) ( get-dated-rev ( 27:2004-02-28T00:00:00.000000Z ) ) "),
        (
            true,
            "( get-dated-rev ( 5:never ) ) ( get-dated-rev ( 27:1970-01-02T00:00:00.000000Z ) ) ",
        ),
        (false, "( rev-proplist ( 1 ) ) ( rev-proplist ( 0 ) ) ( rev-proplist ( 999 ) ) "),
        (true, "( rev-prop ( 1 7:svn:log ) ) ( rev-prop ( 1 4:none ) ) ( rev-prop ( 999 1:x ) ) "),
        (
            true,
            "( check-path ( 5:trunk ( ) ) ) ( check-path ( 4:nope ( ) ) ) ( check-path ( 0: ( 99999 ) ) ) ",
        ),
        (true, "( check-path ( 16:trunk/README/sub ( ) ) ) ( check-path ( 8://trunk/ ( ) ) ) "),
        (
            true,
            "( stat ( 0: ( ) ) ) ( stat ( 5:trunk ( 1 ) ) ) ( stat ( 12:trunk/README ( ) ) ) ( stat ( 1:x ( ) ) ) ",
        ),
        (
            false,
            "( get-file ( 12:trunk/README ( ) true true ) ) ( get-file ( 5:trunk ( ) true true ) ) ",
        ),
        (
            false,
            "( get-file ( 1:x ( ) true true ) ) ( get-file ( 12:trunk/README ( 99999 ) true true ) ) ",
        ),
        (false, "( get-file ( 12:trunk/README ( ) false false true ) ) "),
        (
            false,
            "( get-dir ( 5:trunk ( ) true true ) ) ( get-dir ( 5:trunk ( ) false true ( kind size ) ) ) ",
        ),
        (
            false,
            "( get-dir ( 5:trunk ( ) false true ( time ) ) ) ( get-dir ( 5:trunk ( ) false true ( ) false ) ) ",
        ),
        (
            true,
            "( get-dir ( 12:trunk/README ( ) false true ) ) ( get-dir ( 1:x ( ) false true ) ) ",
        ),
        (
            false,
            "( list ( 0: ( ) infinity ( kind size has-props created-rev time last-author ) ) ) ",
        ),
        (
            false,
            "( list ( 5:trunk ( ) files ( kind ) ( 2:*c 1:R* ) ) ) ( list ( 5:trunk ( ) immediates ( ) ) ) ",
        ),
        (true, "( list ( 1:x ( ) infinity ( kind ) ) ) ( list ( 0: ( ) empty ( 1:x ) ) ) "),
        (false, "( get-iprops ( 9:trunk/src ( 20 ) ) ) ( get-iprops ( 1:x ( 20 ) ) ) "),
        (
            true,
            "( get-lock ( 5:trunk ) ) ( get-locks ( 0: ) ) ( get-locks ( 0: ( exclude ) ) ) ( get-locks ( 0: ( files ) ) ) ",
        ),
        (
            true,
            "( get-locations ( 12:trunk/README 20 ( 20 ) ) ) ( get-locations ( 1:x 20 ( 1 ) ) ) ",
        ),
        (
            true,
            "( get-location-segments ( 5:trunk ( ) ( ) ( ) ) ) ( get-location-segments ( 5:trunk ( 3 ) ( 5 ) ( ) ) ) ",
        ),
        (true, "( get-location-segments ( 5:trunk ( 5 ) ( 3 ) ( 4 ) ) ) "),
        (
            true,
            "( get-deleted-rev ( 5:trunk 1 20 ) ) ( get-deleted-rev ( 4:nope 1 20 ) ) ( get-deleted-rev ( 5:trunk 1 999 ) ) ",
        ),
        (
            true,
            "( get-mergeinfo ( ( 5:trunk ) ( ) inherited false ) ) ( get-mergeinfo ( ( 1:x ) ( ) explicit false ) ) ",
        ),
        (
            false,
            "( get-mergeinfo ( ( 0: ) ( ) explicit true ) ) ( get-mergeinfo ( ( ) ( ) explicit true ) ) ",
        ),
        (
            true,
            "( reparent ( 26:svn://localhost/repo/trunk ) ) ( stat ( 0: ( ) ) ) ( reparent ( 15:svn://other/repo ) ) ",
        ),
        (true, "( bogus ( ) ) ( get-latest-rev ( ) ) ( log ( ( ) ( 99999 ) ( 1 ) true false ) ) "),
    ] {
        compare(&repo, &[], requests, in_order);
    }
}

#[test]
fn logs_are_the_same_bytes() {
    let repo = repo();
    for requests in [
        "( log ( ( 0: ) ( ) ( 0 ) false false 0 false revprops ( 10:svn:author 8:svn:date 7:svn:log ) ) ) ",
        "( log ( ( 0: ) ( 0 ) ( ) false true 3 false revprops ( ) ) ) ",
        "( log ( ( 5:trunk ) ( ) ( 0 ) false false 0 true revprops ( 7:svn:log ) ) ) ",
        "( log ( ( 0: ) ( 2 ) ( 9 ) false false ) ) ",
        "( log ( ( 1:x ) ( ) ( 0 ) false false ) ) ",
        "( log ( ( 5:trunk 8:branches ) ( ) ( 0 ) false false 5 false revprops ( 7:svn:log ) ) ) ",
    ] {
        compare(&repo, &[], requests, true);
    }
    compare(&repo, &[], "( log ( ( 0: ) ( ) ( 0 ) true false 0 true all-revprops ( ) ) ) ", false);
    // One changed path a revision leaves no choice of order.
    compare(
        &repo,
        &[],
        "( log ( ( 0: ) ( 1 ) ( 1 ) true false 0 false all-revprops ( ) ) ) ",
        false,
    );
}

#[test]
fn writing_is_refused_as_by_a_read_only_server() {
    let repo = repo();
    for request in [
        "( commit ( 3:log ( ) false ( ) ) ) ",
        "( change-rev-prop ( 1 7:svn:log 1:x ) ) ",
        "( change-rev-prop2 ( 1 7:svn:log ( 1:x ) ( true ) ) ) ",
        "( lock ( 12:trunk/README ( ) false ( ) ) ) ",
        "( lock-many ( ( ) false ( ( 1:a ( ) ) ) ) ) ",
        "( unlock ( 12:trunk/README ( ) true ) ) ",
        "( unlock-many ( false ( ( 1:a ( ) ) ) ) ) ",
    ] {
        compare(&repo, &["--read-only"], &format!("{request}( get-latest-rev ( ) ) "), true);
    }
}

#[test]
fn greetings_good_and_bad() {
    let repo = repo();
    for (options, hello) in [
        (&["-c", "0"][..], "( 2 ( edit-pipeline ) 20:svn://localhost/repo ) "),
        (&[], "( 2 ( edit-pipeline ) 20:svn://localhost/nope ) "),
        (&[], "( 2 ( edit-pipeline ) 21:http://localhost/repo ) "),
        (&[], "( 2 ( edit-pipeline ) 23:svn://localhost/../repo ) "),
        (&["--virtual-host"], "( 2 ( edit-pipeline ) 10:svn://repo ( ) ) ( ANONYMOUS ( ) ) "),
        (&[], "( 2 ( edit-pipeline ) 21:svn://localhost/repo2 ) "),
        (&[], "( 1 ( edit-pipeline ) 20:svn://localhost/repo ) "),
        (&[], "( 2 ( ) 20:svn://localhost/repo ) "),
        (
            &[],
            "( 2 ( edit-pipeline ) 20:svn://localhost/repo ) ( CRAM-MD5 ( ) ) ( DANCE ( ) ) ( ANONYMOUS ( ) ) ",
        ),
        (&[], "( 2 "),
        (&[], ""),
        (&[], "hello"),
    ] {
        let reference = talk(&Programs::reference(), &repo, options, hello.as_bytes());
        let ours = talk(&Programs::ours(), &repo, options, hello.as_bytes());
        assert_eq!(
            String::from_utf8_lossy(&reference),
            String::from_utf8_lossy(&ours),
            "{options:?} {hello}"
        );
    }
}

#[test]
fn edits_are_the_same_commands() {
    let repo = repo();
    // The replies that the client owes: one for each edit.
    let done = "( success ( ) ) ";
    for (in_order, report) in [
        (
            // What was changed in one folder comes in the order of a hash table.
            false,
            "( update ( ( 3 ) 0: true infinity false false ) ) ( set-path ( 0: 2 false ( ) infinity ) ) \
             ( finish-report ( ) ) ",
        ),
        (
            false,
            "( status ( 0: true ( 9 ) infinity ) ) ( set-path ( 0: 1 false ( ) infinity ) ) ( finish-report ( ) ) ",
        ),
        (
            false,
            "( diff ( ( 9 ) 0: true false 20:svn://localhost/repo false infinity ) ) \
             ( set-path ( 0: 3 false ( ) infinity ) ) ( finish-report ( ) ) ",
        ),
        (
            true,
            "( update ( ( 999999 ) 0: true ) ) ( set-path ( 0: 1 false ) ) ( finish-report ( ) ) ",
        ),
        (
            true,
            "( update ( ( 3 ) 0: true ) ) ( set-path ( 0: 1 false ) ) ( dance ( ) ) ( abort-report ( ) ) ",
        ),
    ] {
        compare_words(&repo, report, &format!("{done}( get-latest-rev ( ) ) "), in_order);
    }
    for rev in 1..12 {
        compare_words(
            &repo,
            &format!("( replay ( {rev} 0 false ) ) "),
            "( get-latest-rev ( ) ) ",
            false,
        );
    }
}

/// Compares all but the chunks of texts: these may be cut and compressed otherwise.
fn compare_words(repo: &Repository, requests: &str, rest: &str, in_order: bool) {
    let all = format!("{GREETING}{requests}");
    let [reference, ours] = [Programs::reference(), Programs::ours()].map(|programs| {
        let reply = talk_after_edit(&programs, repo, &all, rest);
        let text = String::from_utf8_lossy(&reply).into_owned();
        let mut commands: Vec<String> = text
            .split("( textdelta-chunk")
            .enumerate()
            .map(|(at, part)| {
                let rest = if at == 0 {
                    Some(part)
                } else {
                    part.find("( textdelta-").map(|p| &part[p..])
                };
                rest.unwrap_or_default().to_owned()
            })
            .collect();
        commands.retain(|c| !c.is_empty());
        let all = commands.concat();
        let mut commands: Vec<String> = all.split(" ) ) (").map(str::to_owned).collect();
        if !in_order {
            // Siblings come in another order, and with it their tokens' numbers.
            commands = commands.iter().map(|c| without_tokens(c)).collect();
            commands.sort();
        }
        commands
    });
    assert_eq!(reference, ours, "{requests}");
}

fn without_tokens(command: &str) -> String {
    let is_token = |word: &str| {
        let name = word.split_once(':').map_or("", |(_, name)| name);
        name.starts_with(['c', 'd'])
            && name.len() > 1
            && name[1..].bytes().all(|b| b.is_ascii_digit())
    };
    command.split(' ').filter(|word| !is_token(word)).collect::<Vec<_>>().join(" ")
}

/// A clock that was set back and forth between commits: the dates of revisions are in no order.
#[test]
fn dates_in_no_order() {
    let repo = repo();
    let date = |day: usize| format!("2004-03-{:02}T12:00:00.000000Z", day % 28 + 1);
    let mut stream = "SVN-fs-dump-format-version: 2\n\n".to_owned();
    for number in 0..=43 {
        // Mostly forwards, with jumps over up to twelve days in both directions.
        let date = date((number / 2 + [0, 9, 0, 0, 12, 3][number % 6]) * 27 / 28);
        let props = format!("K 8\nsvn:date\nV 27\n{date}\nPROPS-END\n");
        let len = props.len();
        stream.push_str(&format!(
            "Revision-number: {number}\nProp-content-length: {len}\nContent-length: {len}\n\n{props}\n"
        ));
    }
    let mut load = Programs::reference().command("svnadmin");
    load.args(["load-revprops", "-q"]).arg(repo.path());
    let file = repo.parent().join("dates");
    std::fs::write(&file, stream).unwrap();
    load.stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
    Output::of(&mut load).expect_success("load-revprops");
    let mut requests = String::new();
    for day in 0..28 {
        requests.push_str(&format!("( get-dated-rev ( 27:{} ) ) ", date(day)));
        let between = date(day).replace("T12", "T18");
        requests.push_str(&format!("( get-dated-rev ( 27:{between} ) ) "));
    }
    compare(&repo, &[], &requests, true);
}
