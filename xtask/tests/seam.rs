//! Counts what `fs` asks of an engine, and what it exports, and holds the figures of ARCHITECTURE.md to them: who widens the
//! seam sees it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is a failed test")]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The functions of the traits of a file: those that an engine must give, and those with a body.
fn functions(text: &str) -> (usize, usize) {
    let traits = text.split("\npub(crate) trait ").skip(1);
    let bodies = traits.map(|rest| rest.split("\n}").next().unwrap());
    let mut found = (0, 0);
    for function in bodies.flat_map(|body| body.split("\n    fn ").skip(1)) {
        // A signature has no `;` or `{` of its own.
        match function.find([';', '{']).map(|at| function.as_bytes().get(at)) {
            Some(Some(b';')) => found.0 += 1,
            Some(Some(b'{')) => found.1 += 1,
            _ => panic!("no function: {function}"),
        }
    }
    found
}

/// The names of `pub use` and `pub mod` of a crate's root.
fn exports(text: &str) -> usize {
    let names = |list: &str| list.split(',').filter(|name| !name.trim().is_empty()).count();
    let uses = text.split("\npub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let used = uses.map(|path| path.split_once('{').map_or(1, |(_, list)| names(list)));
    used.sum::<usize>() + text.matches("\npub mod ").count()
}

#[test]
fn the_figures_of_the_seam_are_true() {
    let files = ["admin", "filesystem", "tree", "write"];
    let texts = files.map(|name| read(&format!("crates/fs/src/backend/{name}.rs")));
    let (mut required, mut with_body) = (0, 0);
    for (must, may) in texts.iter().map(|text| functions(text)) {
        (required, with_body) = (required + must, with_body + may);
    }
    let names = exports(&read("crates/fs/src/lib.rs"));
    let architecture = read("ARCHITECTURE.md");
    for sentence in [
        format!("An engine gives {required} functions; {with_body} more have a body there"),
        format!("`fs` exports {names} names"),
    ] {
        assert!(architecture.contains(&sentence), "ARCHITECTURE.md should say: {sentence}");
    }
}

#[test]
fn functions_and_names_are_counted() {
    let text = "\npub(crate) trait A: B {\n    type C;\n    fn d(&self);\n    fn e(\n        &self,\n    ) -> X;\n\n    fn f() {\n        fn g() {}\n    }\n}\nfn h() {}\n";
    assert_eq!(functions(text), (2, 1));
    assert_eq!(exports("\nmod a;\npub mod b;\npub use c::D;\npub use e::{F, G,\n    H};\n"), 5);
}

#[test]
fn the_engine_in_memory_is_in_no_product() {
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = folder.unwrap().path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let product = text.split("[dev-dependencies]").next().unwrap();
        let asks = product.lines().any(|line| line.contains("\"memory\""));
        assert!(!asks, "{}: only tests have the engine in memory", manifest.display());
    }
}
