//! Blame out of what is kept: as if nothing were, for each reader; and what it costs.

use sapwood_core::FileRev;
use sapwood_core::rng::Rng;
use sapwood_diff::{Options, compare};

use super::*;
use crate::blame::{Origin, TEXTS, Walk, walk};
use crate::view::FoundNode;

const FILE: &str = "/trunk/code.c";

fn blamed(place: &Place, access: &dyn PathAuthorizer, at: &str, budget: &Budget) -> Walk {
    let walked = place.with(access, &format!("/blame{at}"), |request| {
        let found = request.view.at(request.address)?;
        let text = crate::file::text_of(&found.node)?.unwrap();
        walk::walk(request.view, &found, text, budget)
    });
    walked.unwrap()
}

fn origins(place: &Place, access: &dyn PathAuthorizer, at: &str) -> Vec<Option<Origin>> {
    blamed(place, access, at, &Budget::new()).origins
}

/// The texts that were read since the last call.
fn texts() -> usize {
    TEXTS.take()
}

/// The same without anything kept, by the history that the reader may see.
fn by_hand(view: &View<'_>, found: &FoundNode) -> Result<Vec<Option<Origin>>, Fault> {
    let mut places: Vec<(Origin, bool)> = Vec::new();
    let mut receive = |rev: &FileRev<'_>, is_other: bool| -> SvnResult<bool> {
        places.push(((rev.revision, rev.path.to_owned()), is_other));
        Ok(true)
    };
    view.file_revisions(&found.path, found.revision, false, &mut receive)?;
    let text = |(revision, path): &Origin| -> Result<Vec<u8>, Fault> {
        crate::file::text_of(&view.find(path, Some(*revision), None)?.node).map(Option::unwrap)
    };
    let (mut last, mut lines): (Vec<u8>, Vec<Origin>) = (Vec::new(), Vec::new());
    // From the oldest on: a revision that is no other text than the younger one's before it has its lines from where they were.
    for (at, (place, _)) in places.iter().enumerate().rev() {
        let is_other = places.get(at + 1).is_none_or(|_| places[at + 1].1);
        if !is_other {
            continue;
        }
        let new = text(place)?;
        let mut all = Vec::new();
        for range in &compare(&Options::default(), &last, &new).ranges {
            match range.common {
                true => all.extend(lines.iter().skip(range.old_start).take(range.old_len).cloned()),
                false => all.extend(std::iter::repeat_n(place.clone(), range.new_len)),
            }
        }
        (last, lines) = (new, all);
    }
    Ok(lines.into_iter().map(Some).collect())
}

/// A file that is changed line by line, and moved between folders.
fn history(place: &Place, rng: &mut Rng, most: u64) -> Vec<(u64, String)> {
    let (mut path, mut lines) = ("/open/f".to_owned(), vec!["first\n".to_owned()]);
    place.commit("begin", |txn| {
        for folder in ["/open", "/hidden", "/other"] {
            txn.make_dir(FsPath::trusted(folder)).unwrap();
        }
        file(txn, &path, "first\n");
    });
    let mut places = vec![(4, path.clone())];
    for n in 0..most {
        let youngest = place.repository.fs().youngest().unwrap();
        match rng.below(8) {
            0 => {
                let to = ["/open/f", "/hidden/f", "/other/f"][rng.below(3)];
                if to == path {
                    continue;
                }
                let root = place.repository.fs().revision_root(youngest).unwrap();
                place.commit("moved", |txn| {
                    txn.copy(&root, FsPath::trusted(&path), FsPath::trusted(to), true).unwrap();
                    txn.delete(FsPath::trusted(&path)).unwrap();
                });
                to.clone_into(&mut path);
            }
            1 => place.commit("a property", |txn| {
                let value = n.to_string();
                txn.change_prop(FsPath::trusted(&path), "p", Some(value.as_bytes())).unwrap();
            }),
            _ => {
                let at = rng.below(lines.len());
                match rng.below(3) {
                    0 if lines.len() > 3 => drop(lines.remove(at)),
                    1 => lines[at] = format!("line of {n}\n"),
                    _ => lines.insert(at, format!("more of {n}\n")),
                }
                let contents = lines.concat();
                place.commit("changed", |txn| text(txn, &path, &contents));
            }
        }
        places.push((place.repository.fs().youngest().unwrap().0, path.clone()));
    }
    places
}

/// Whatever is kept by whose request, and wherever that ended, each reader gets what the history says that the reader may see.
#[test]
fn what_is_kept_answers_as_the_history() {
    let (nothing, other) = (Hides("/hidden"), Hides("/other"));
    let readers: [&dyn PathAuthorizer; 3] = [&Everything, &nothing, &other];
    let mut hidden = 0;
    for seed in 0..6 {
        let (place, mut rng) = (Place::new(), Rng::new(seed));
        let places = history(&place, &mut rng, 40);
        for _ in 0..60 {
            let (revision, path) = &places[rng.below(places.len())];
            let reader = readers[rng.below(3)];
            if !reader.readable(FsPath::trusted(path)).unwrap() {
                continue;
            }
            let at = format!("{path}?p={revision}");
            if rng.below(2) == 0 {
                blamed(&place, reader, &at, &Budget::of_asks(rng.below(9)));
            }
            let expected = place
                .with(reader, &format!("/blame{at}"), |request| {
                    by_hand(request.view, &request.view.at(request.address)?)
                })
                .unwrap();
            let walked = blamed(&place, reader, &at, &Budget::new());
            assert_eq!(walked.origins, expected, "seed {seed}, {at}");
            assert!(walked.is_whole && !walked.goes_on);
            let seen = walked.before.values().chain(walked.origins.iter().flatten());
            for (_, path) in seen {
                assert!(reader.readable(path).unwrap(), "{path}");
            }
            hidden += usize::from(expected != origins(&place, &Everything, &at));
        }
    }
    assert!(hidden > 20, "{hidden} answers with something hidden");
}

/// A page that is asked for again reads no older text, one of a newer revision the text before it, whatever the history's length.
#[test]
fn each_text_is_read_once() {
    for most in [10, 40] {
        let place = Place::new();
        let change = |n: usize| {
            let contents: String = (0..60).map(|at| format!("{at} {}\n", at.max(n) - at)).collect();
            place.commit("changed", |txn| text(txn, FILE, &contents));
        };
        (0..most).for_each(change);
        texts();
        let all = origins(&place, &Everything, FILE);
        let first = texts();
        assert!(first > most / 2 && first <= most + 2, "{first} of {most}");
        assert_eq!(origins(&place, &Everything, FILE), all);
        assert_eq!(origins(&place, &Hides("/secret"), FILE), all);
        assert_eq!(texts(), 0);
        change(most);
        origins(&place, &Hides("/secret"), FILE);
        assert_eq!(texts(), 1);
        place.commit("a property", |txn| {
            txn.change_prop(FsPath::trusted(FILE), "p", Some(b"v")).unwrap();
        });
        origins(&place, &Everything, FILE);
        assert_eq!(texts(), 0);
    }
}

/// A page whose time is over goes on where it ended, and is kept by no browser before it is whole.
#[test]
fn what_took_too_long_goes_on() {
    let place = Place::new();
    for n in 0..20 {
        let contents: String = (0..n).map(|at| format!("{at}\n")).collect();
        place.commit("one more", |txn| text(txn, FILE, &contents));
    }
    let expected = place
        .with(&Everything, &format!("/blame{FILE}"), |request| {
            by_hand(request.view, &request.view.at(request.address)?)
        })
        .unwrap();
    texts();
    let mut asked = 0;
    let walked = loop {
        let walked = blamed(&place, &Everything, FILE, &Budget::of_asks(4));
        assert!(texts() <= 5);
        asked += 1;
        if walked.is_whole {
            break walked;
        }
        assert!(walked.goes_on && walked.origins.iter().any(Option::is_none));
        let newest = walked.origins.iter().zip(&expected).filter(|(origin, _)| origin.is_some());
        newest.for_each(|(origin, expected)| assert_eq!(origin, expected));
    };
    assert_eq!((walked.origins, asked), (expected, 5));
    let lines = |goes_on| {
        let mut walk = blamed(&place, &Everything, FILE, &Budget::new());
        walk.goes_on = goes_on;
        let reply = crate::blame::Lines::Of(walk).kept_by_browsers(Reply::unchanged());
        reply.headers.into_iter().find(|(name, _)| *name == "cache-control").unwrap().1
    };
    assert_eq!((&*lines(true), &*lines(false)), ("private, no-store", "private, no-cache"));
}

/// Merges are kept for the readers of the same rules only.
#[test]
fn merges_are_kept_by_rules() {
    let place = Place::new();
    let query = format!("/api/v1/blame{FILE}?g=1");
    let first = place.body(&Everything, &query);
    texts();
    assert_eq!(place.body(&Everything, &query), first);
    assert_eq!(texts(), 0);
    assert_eq!(place.body(&Hides("/secret"), &query), first);
    assert!(texts() > 0, "nothing is kept of rules without a number");
}
