//! `sapwood search` at the prompt.

use sapwood_testkit::{Output, Programs, Repository, Shape};

#[test]
fn a_search_at_the_prompt() {
    let repository = Repository::scripted(&Shape::few()[0]);
    let folder = tempfile::tempdir().unwrap();
    let search = |args: &[&str]| -> Output {
        let mut command = Programs::ours().command("sapwood");
        command.arg("search").arg("--index").arg(folder.path()).arg(repository.path()).args(args);
        Output::of(&mut command)
    };
    let url = format!("file://{}", repository.path().display());
    let text = folder.path().join("text");
    std::fs::write(&text, "first\na striped animal\n").unwrap();
    let put = ["put", text.to_str().unwrap(), "zebra.txt", "-m", "Stripes for all", "-u", "ada"];
    Programs::reference().run("svnmucc", [&put[..], &["-U", &url]].concat()).expect_success("put");
    let found = |args: &[&str]| search(args).expect_success("search").stdout_text();
    assert_eq!(found(&["zebra"]), "/zebra.txt\n");
    let youngest = repository.history.youngest() + 1;
    let added = format!("r{youngest} /zebra.txt +a striped animal\n");
    let both = format!("/zebra.txt:2: a striped animal\n{added}");
    assert_eq!(found(&["striped animal"]), both);
    assert_eq!(found(&["--in", "changes", "striped animal"]), added);
    let line = found(&["STRIPES", "author:ada"]);
    assert!(line.contains(" | ada | ") && line.ends_with(" | Stripes for all\n"), "{line}");
    // What was committed since is found too.
    std::fs::write(&text, "a plain animal\n").unwrap();
    Programs::reference().run("svnmucc", [&put[..], &["-U", &url]].concat()).expect_success("put");
    assert_eq!(found(&["--in", "texts", "plain animal"]), "/zebra.txt:1: a plain animal\n");
    let none = search(&["--in", "texts", "striped animal"]);
    assert_eq!((none.code, none.stdout_text().as_str()), (1, ""));
    let gone = format!("r{} /zebra.txt -a striped animal\n", youngest + 1);
    assert_eq!(found(&["striped animal"]), format!("{gone}{added}"));
    let wrong = search(&["rev:x"]);
    assert!(wrong.code == 1 && wrong.stderr_text().contains("E205000"), "{}", wrong.stderr_text());
    assert!(search(&["--in", "nothing", "x"]).stderr_text().contains("no such kind"));
}
