//! Users of accounts and of a directory over svn://, as 1.14's client and ours log in by SASL; the same users over http.

use std::fs;
use std::path::Path;

use sapwood_testkit::server::free_port;
use sapwood_testkit::slapd::{READER, SUFFIX, Slapd};
use sapwood_testkit::{Output, Programs};

use crate::common::{ldap, places};
use places::Served;

/// The rules say what the groups of accounts (`qa`) and of the directory (`devs`) may do.
const RULES: &str =
    "[groups]\ndevs = group:devs, group:qa\n[/]\n* = r\n@devs = rw\n[/trunk]\n* =\n@devs = rw\n";

/// A server and its port for svn://.
struct Both {
    served: Served,
    svn: u16,
}

fn user(folder: &Path, args: &[&str], line: &str) -> String {
    let input = folder.join("input");
    fs::write(&input, format!("{line}\n")).unwrap();
    let mut command = Programs::ours().command("sapwood");
    command.args(["user", "--accounts"]).arg(folder.join("accounts.toml")).args(args);
    let output = Output::of(command.stdin(fs::File::open(&input).unwrap()));
    output.expect_success(&format!("{args:?}")).stdout_text().trim_end().to_owned()
}

/// Bob of the directory is in `devs`; Ada of the accounts in `qa`, Carol in none; Dan is in the repository's `password-db`.
fn company(folder: &Path) -> Slapd {
    user(folder, &["add", "ada", "--group", "qa", "--password-from-stdin"], "secret of ada");
    user(folder, &["add", "carol", "--password-from-stdin"], "secret of carol");
    ldap::company(&["bob"], &[("devs", &["bob"])])
}

fn serve(folder: &Path, company: &Slapd, users: &str) -> Both {
    fs::write(folder.join("secret"), READER.1).unwrap();
    fs::write(folder.join("rules"), RULES).unwrap();
    fs::write(folder.join("passwords"), "[users]\ndan = secret of dan\n").unwrap();
    let at = folder.display();
    fs::write(
        folder.join("svnserve.conf"),
        format!(
            "[general]\nanon-access = none\nauthz-db = {at}/rules\npassword-db = {at}/passwords\n\
             password-delay = 0\n"
        ),
    )
    .unwrap();
    let (svn, url) = (free_port(), company.url());
    let served = Served::start(&format!(
        "path = '.'\nsvn-port = {svn}\nsvnserve-conf = '{at}/svnserve.conf'\nlog-file = '{at}/log'\n\
         [users]\naccounts = '{at}/accounts.toml'\ndirectory = 'company'\n{users}\n\
         [[directory]]\nname = 'company'\nservers = ['{url}']\nbase = '{SUFFIX}'\nbind-dn = '{}'\n\
         bind-password-file = '{at}/secret'\ntimeout = 2\ncache = 0\nkeep = 0\n",
        READER.0
    ));
    Both { served, svn }
}

impl Both {
    fn base(&self, is_svn: bool) -> String {
        let (scheme, port) = if is_svn { ("svn", self.svn) } else { ("http", self.served.port) };
        format!("{scheme}://127.0.0.1:{port}/repo")
    }

    fn run(
        &self,
        client: &Programs,
        is_svn: bool,
        (name, secret): (&str, &str),
        args: &[&str],
    ) -> Output {
        let login =
            ["--no-auth-cache", "--non-interactive", "--username", name, "--password", secret];
        let args = args.iter().map(|arg| arg.replace("URL", &self.base(is_svn)));
        client.run("svn", args.chain(login.map(str::to_owned)).collect::<Vec<_>>())
    }

    /// What a user may do: nothing, read, read `trunk`, commit. Both clients and both protocols say the same.
    fn may(&self, who: (&str, &str)) -> &'static str {
        let what = |client: &Programs, is_svn| {
            let can = |args: &[&str]| self.run(client, is_svn, who, args).code == 0;
            let made = can(&["mkdir", "-m", "new", "URL/new"]);
            if made {
                assert!(can(&["rm", "-m", "gone", "URL/new"]) && can(&["ls", "URL/trunk"]));
                return "commit";
            }
            match (can(&["ls", "URL"]), can(&["ls", "URL/trunk"])) {
                (_, true) => "read trunk",
                (true, false) => "read",
                (false, false) => "nothing",
            }
        };
        let [theirs, ours] = [Programs::reference(), Programs::ours()]
            .map(|client| [what(&client, true), what(&client, false)]);
        assert!(theirs[0] == theirs[1] && theirs == ours, "{who:?}: {theirs:?} {ours:?}");
        ours[0]
    }
}

const ADA: (&str, &str) = ("ada", "secret of ada");
const BOB: (&str, &str) = ("bob", "secret of bob");
const CAROL: (&str, &str) = ("carol", "secret of carol");
const DAN: (&str, &str) = ("dan", "secret of dan");

#[test]
fn users_of_accounts_and_directories_log_in_over_svn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let company = company(folder);
    let reader = user(folder, &["add-token", "ada", "reader", "--read-only"], "");
    let both = serve(folder, &company, "plain-over-svn = true");
    assert_eq!(both.may(ADA), "commit");
    assert_eq!(both.may(BOB), "commit");
    assert_eq!(both.may(CAROL), "read");
    assert_eq!(both.may(DAN), "read");
    assert_eq!(both.may(("ada", &reader)), "read trunk");
    for wrong in [("ada", BOB.1), ("bob", ADA.1), ("eve", "x"), ("group:qa", "x"), ("bob", "")] {
        assert_eq!(both.may(wrong), "nothing", "{wrong:?}");
    }
    let log = fs::read_to_string(folder.join("log")).unwrap();
    assert!(log.contains("Authentication Failed PLAIN user=bob"), "{log}");
    // While no server of the directory answers, others are served, and the reason is said.
    company.hang(true);
    let said = both.run(&Programs::ours(), true, BOB, &["ls", "URL"]).stderr_text();
    assert!(said.contains("does not answer"), "{said}");
    let ada = both.run(&Programs::reference(), true, ADA, &["ls", "URL/trunk"]);
    ada.expect_success("a user of the accounts");
    company.hang(false);
}

#[test]
fn only_members_and_only_where_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let company = company(folder);
    let both = serve(folder, &company, "plain-over-svn = true\nmembers = ['group:devs', 'carol']");
    assert_eq!(both.may(ADA), "nothing");
    assert_eq!(both.may(DAN), "nothing");
    assert_eq!(both.may(BOB), "commit");
    assert_eq!(both.may(CAROL), "read");
    drop(both);
    let both = serve(folder, &company, "");
    for client in [Programs::reference(), Programs::ours()] {
        let may = |is_svn, who| both.run(&client, is_svn, who, &["ls", "URL"]).code == 0;
        assert!(may(false, ADA) && may(false, BOB) && may(false, DAN));
        assert!(!may(true, ADA) && !may(true, BOB), "passwords are not encrypted");
        assert!(may(true, DAN), "CRAM-MD5");
    }
}
