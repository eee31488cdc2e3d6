//! Random histories in random shapes: ours loads, packs, dumps and copies what the reference made,
//! and the reference finds it whole and the same.

use sapwood_testkit::repository::create;
use sapwood_testkit::{Packing, Programs, Repository, Rng, Shape};

#[test]
fn random_histories() {
    super::from_seeds("histories", |seed| {
        let mut rng = Rng::new(seed);
        let revisions = 10 + rng.below(30);
        let source = Repository::random(&Shape::new("1.10"), 5000 + seed % 50, revisions);
        let (ours, reference) = (Programs::ours(), Programs::reference());
        let shape = super::shape(&mut rng);
        let what = format!("SAPWOOD_SEED={seed} {} as {}", source.name(), shape.name());
        let stream = source.parent().join("dump");
        let sound = reference.run("svnadmin", ["dump", "-q", &source.arg()]).expect_success(&what);
        std::fs::write(&stream, &sound.stdout).unwrap();
        let path = source.parent().join("made");
        create(&shape, &path);
        let at = path.display().to_string();
        let run = |programs: &Programs, program: &str, args: &[&str]| {
            programs.run(program, args).expect_success(&format!("{what}: {program} {args:?}"))
        };
        run(&ours, "svnadmin", &["load", "-q", "-F", stream.to_str().unwrap(), &at]);
        if shape.packing != Packing::None {
            run(&ours, "svnadmin", &["pack", "-q", &at]);
        }
        run(&reference, "svnadmin", &["verify", "-q", &at]);
        run(&ours, "svnadmin", &["verify", "-q", &at]);
        let copy = source.parent().join("copy").display().to_string();
        run(&ours, "svnadmin", &["hotcopy", &at, &copy]);
        let plain = |programs: &Programs, path: &str| {
            run(programs, "svnadmin", &["dump", "-q", path]).without_lines("UUID: ").stdout
        };
        // Old formats keep fewer checksums than the stream has: the reference's own is the measure.
        let theirs = source.parent().join("theirs");
        create(&shape, &theirs);
        let theirs = theirs.display().to_string();
        run(&reference, "svnadmin", &["load", "-q", "-F", stream.to_str().unwrap(), &theirs]);
        let wanted = plain(&reference, &theirs);
        for (programs, path) in
            [(&ours, &theirs), (&ours, &at), (&reference, &at), (&ours, &copy), (&reference, &copy)]
        {
            let found = plain(programs, path);
            assert!(found == wanted, "{what}: {path} is another history to {}", programs.label);
        }
    });
}
