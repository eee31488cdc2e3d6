//! The fixtures are what they say: the reference finds in each repository the trees of the model.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use sapwood_testkit::{Output, Programs, Repository, Shape, Trees, repository};

/// The model's tree of a revision against the reference's export of it.
fn check(repo: &Repository, revision: usize) {
    let scratch = tempfile::tempdir().unwrap();
    let target = scratch.path().join("x");
    let reference = Programs::reference();
    let mut export = reference.command("svn");
    export.args(["export", "-q", "--ignore-keywords", "--ignore-externals", "--native-eol", "LF"]);
    export.args(["-r", &revision.to_string()]).arg(repo.url()).arg(&target);
    Output::of(&mut export).expect_success("svn export");
    let trees = Trees::read(&target);
    let found: Vec<&str> = trees.iter().map(|(path, _)| path).collect();
    let model = &repo.history.revision(revision).root;
    let mut wanted: Vec<String> = model.walk().into_iter().map(|(p, _)| p).collect();
    wanted.retain(|p| !p.is_empty());
    wanted.sort();
    assert_eq!(found, wanted, "{} r{revision}", repo.name());
    for (path, is) in trees.iter() {
        let node = model.get(path).unwrap();
        let translated = node.props.contains_key("svn:eol-style")
            || node.props.contains_key("svn:special")
            || node.props.contains_key("svn:keywords");
        if let (Some(text), false) = (node.text(), translated) {
            let md5 = sapwood_core::Md5::of(text).to_hex();
            assert!(is.contains(&md5), "{} r{revision} {path}: {is}", repo.name());
        }
    }
}

#[test]
fn the_scripted_history_in_a_few_shapes() {
    for shape in Shape::few() {
        let repo = Repository::scripted(&shape);
        let youngest = repo.history.youngest();
        let out = Programs::reference().run("svnadmin", ["verify", "-q", &repo.arg()]);
        out.expect_success(&repo.name());
        for revision in [1, 2, youngest / 2, youngest] {
            check(&repo, revision);
        }
    }
}

#[test]
fn random_histories() {
    for seed in 1..4 {
        let repo = Repository::random(&Shape::new("1.10").shard(7), seed, 60);
        for revision in (1..=repo.history.youngest()).step_by(13) {
            check(&repo, revision);
        }
    }
}

#[test]
fn shapes_are_on_disk_what_they_say() {
    let scratch = tempfile::tempdir().unwrap();
    for shape in Shape::all() {
        let path = scratch.path().join(shape.name());
        repository::create(&shape, &path);
        Programs::reference()
            .run("svnadmin", ["verify", "-q", path.to_str().unwrap()])
            .expect_success(&shape.name());
        let format = std::fs::read_to_string(path.join("db/format")).unwrap();
        let wanted = match shape.version {
            "1.1" => "1\n",
            "1.4" => "2\n",
            "1.5" => "3\n",
            "1.6" => "4\n",
            "1.8" => "6\n",
            "1.9" => "7\n",
            _ => "8\n",
        };
        assert!(format.starts_with(wanted), "{}: {format}", shape.name());
        if let repository::Layout::Sharded(size) = shape.layout {
            assert!(format.contains(&format!("layout sharded {size}\n")), "{}", shape.name());
        }
        assert!(path.join("db/revs/0").exists());
    }
}
