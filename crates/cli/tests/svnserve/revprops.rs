//! Changes of revision properties over the wire, plain and atomic: the same replies from both
//! servers, and the same properties afterwards.

use std::os::unix::fs::PermissionsExt as _;

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::Packing;
use sapwood_testkit::{Programs, Repository, Shape};

use crate::wire::{GREETING, talk};

fn writable(shape: &Shape) -> Repository {
    let repository = Repository::scripted(shape);
    let path = repository.path();
    std::fs::write(path.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    repository
}

fn hook(repository: &Repository, name: &str, text: &str) {
    let path = repository.path().join("hooks").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn plain_and_atomic() {
    let requests: String = [
        // revision, name, value, ( don't care, old value )
        "( change-rev-prop2 ( 3 3:new ( 1:a ) ( false ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:b ) ( false ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:b ) ( false 1:x ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:b ) ( false 1:a ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:c ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( ) ( false 1:b ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( ) ( false 1:c ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( ) ( false ) ) ) ",
        "( change-rev-prop2 ( 3 4:none ( ) ( false 1:a ) ) ) ",
        "( change-rev-prop2 ( 3 4:none ( ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 7:svn:log ( 3:a\r\n ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 8:svn:date ( 1:x ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 6:svn:wc ( 1:x ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 8:svn:wc:a ( 1:x ) ( true ) ) ) ",
        "( change-rev-prop2 ( 999 3:new ( 1:a ) ( false ) ) ) ",
        "( change-rev-prop ( 4 7:svn:log 3:one ) ) ",
        "( change-rev-prop ( 4 10:svn:author ) ) ",
        "( change-rev-prop ( 999 3:new 1:a ) ) ",
        "( change-rev-prop ( 5 7:refused 1:a ) ) ",
        "( change-rev-prop2 ( 5 7:refused ( 1:a ) ( false 1:b ) ) ) ",
        "( change-rev-prop ( 5 4:late 1:a ) ) ",
        "( rev-prop ( 5 4:late ) ) ( rev-prop ( 3 3:new ) ) ( rev-prop ( 4 7:svn:log ) ) ",
    ]
    .concat();
    for shape in [Shape::new("1.4"), Shape::new("1.10").shard(7).pack(Packing::All)] {
        for hooks in [false, true] {
            let sides = [Programs::reference(), Programs::ours()].map(|programs| {
                let repository = writable(&shape);
                if hooks {
                    hook(
                        &repository,
                        "pre-revprop-change",
                        "[ $4 != refused ] || { echo no >&2; exit 4; }",
                    );
                    hook(
                        &repository,
                        "post-revprop-change",
                        "[ $4 != late ] || { echo late >&2; exit 5; }",
                    );
                }
                let replies =
                    talk(&programs, &repository, &[], format!("{GREETING}{requests}").as_bytes());
                let path = repository.arg();
                let props = Programs::reference().run("svnadmin", ["dump-revprops", "-q", &path]);
                (String::from_utf8_lossy(&replies).replace(" ) ) (", " ) )\n("), props)
            });
            let [reference, ours] = &sides;
            let replies = sapwood_testkit::compare::first_difference(
                reference.0.as_bytes(),
                ours.0.as_bytes(),
            );
            assert_eq!(replies, None, "{} hooks {hooks}", shape.name());
            assert_same(&shape.name(), &reference.1, &ours.1);
            assert_eq!(ours.0.contains("160049"), hooks);
        }
    } // These end the connection, and what was answered before is not sent any more.
    for bad in [
        "( change-rev-prop2 ( 3 3:new ( 1:a ) ( true 1:b ) ) ) ( get-latest-rev ( ) ) ",
        "( change-rev-prop ( 4 7:svn:log ( 3:one ) ) ) ( get-latest-rev ( ) ) ",
        "( change-rev-prop2 ( 3 3:new 1:a ( true ) ) ) ( get-latest-rev ( ) ) ",
    ] {
        let repository = writable(&Shape::new("1.10"));
        let requests = format!("{GREETING}{bad}");
        let [reference, ours] = [Programs::reference(), Programs::ours()]
            .map(|programs| talk(&programs, &repository, &[], requests.as_bytes()));
        assert_eq!(String::from_utf8_lossy(&reference), String::from_utf8_lossy(&ours), "{bad}");
    }
}
