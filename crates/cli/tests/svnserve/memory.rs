//! Large files through the server, in both directions, in bounded memory: what it takes does not
//! grow with the file. (4.6 GiB in one file were tried by hand: see docs/STATUS.md.)

use sapwood_testkit::{Output, Programs, Repository, Server, Shape};

/// What a server may take at most beyond its cache and what it took for a small request, which is mostly
/// the program itself, in MiB. Measured: 9 to 10 beyond the cache, on a busy machine too, with files of 48
/// and of 512 MiB. The file is larger.
const LIMIT: u64 = 14;
/// The cache, in MiB.
const CACHE: u64 = 4;

#[test]
fn large_files_in_bounded_memory() {
    let size = if sapwood_testkit::long() { 512 } else { 48 };
    let repo = Repository::scripted(&Shape::new("1.10"));
    std::fs::write(repo.path().join("conf/svnserve.conf"), "[general]\nanon-access = write\n")
        .unwrap();
    let server = Server::start(&Programs::ours(), repo.parent(), &["-M", &CACHE.to_string()]);
    let file = repo.parent().join("large");
    // Bytes that are no text and cannot be compressed to nothing.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut block = Vec::new();
    while block.len() < 1 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block.extend_from_slice(&state.to_le_bytes());
    }
    let mut text = Vec::new();
    for number in 0..size {
        block[0] = u8::try_from(number % 251).unwrap();
        block.rotate_left(7);
        text.extend_from_slice(&block);
    }
    std::fs::write(&file, &text).unwrap();
    let url = server.url("repo");
    let reference = Programs::reference();
    reference.run("svn", ["info", &url]).expect_success("info");
    let small = server.memory().1 >> 20;
    let put = ["-m", "large", "-U", &url, "put", file.to_str().unwrap(), "large"];
    reference.run("svnmucc", put).expect_success("put");
    let bounded = |what: &str| {
        let peak = server.memory().1 >> 20;
        assert!(peak < small + LIMIT + CACHE, "{what} took {peak} MiB, info {small}");
    };
    bounded("a commit");
    let whole = reference.run("svn", ["cat", &format!("{url}/large")]).expect_success("cat");
    assert!(whole.stdout == text);
    bounded("cat");
    let copy = repo.parent().join("copy");
    let export = ["export", "-q", &format!("{url}/large"), copy.to_str().unwrap()];
    Output::of(reference.command("svn").args(export)).expect_success("export");
    assert!(std::fs::read(&copy).unwrap() == text);
    bounded("export");
}
