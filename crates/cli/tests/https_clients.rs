//! Certificates of clients: our `svn` and the reference's against our server, and against httpd with
//! mod_ssl; files, passphrases, questions, what is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use sapwood_testkit::server::free_port;
use sapwood_testkit::terminal::converse;
use sapwood_testkit::{Output, Programs, Repository, Shape};

use crate::common::certificates;
use crate::common::httpd;
use crate::common::places;
use certificates::{Authority, Client, authority, revoked};
use httpd::Httpd;

/// All users may read the root, and ada alone anything else.
const RULES: &str = "[/]\n* = r\nada = rw\n[/trunk]\n* =\nada = rw\n";

/// Authorities, certificates and a repository that servers need.
struct Ground {
    repo: Repository,
    clients: Authority,
}

impl Ground {
    fn new() -> Self {
        let repo = Repository::scripted(&Shape::few()[0]);
        let ground = Self { repo, clients: authority("Clients") };
        let servers = authority("Servers");
        fs::write(ground.file("servers"), servers.pem()).unwrap();
        fs::write(ground.file("clients"), ground.clients.pem()).unwrap();
        fs::write(ground.file("rules"), RULES).unwrap();
        fs::write(ground.file("users"), places::USERS).unwrap();
        certificates::server(&servers, ground.repo.parent());
        ground
    }

    fn file(&self, name: &str) -> PathBuf {
        self.repo.parent().join(name)
    }

    fn client(&self, file: &str, client: &Client<'_>) -> PathBuf {
        client.write(&self.clients, self.file(file))
    }

    /// The options of a client that knows the server and shows `file`, if it shows one.
    fn options(&self, file: Option<&Path>, passphrase: &str) -> Vec<String> {
        let mut options = vec!["--non-interactive".to_owned(), "--no-auth-cache".to_owned()];
        let mut set = |name: &str, value: &str| {
            options
                .extend(["--config-option".to_owned(), format!("servers:global:{name}={value}")]);
        };
        set("ssl-authority-files", self.file("servers").to_str().unwrap());
        if let Some(file) = file {
            set("ssl-client-cert-file", file.to_str().unwrap());
            set("ssl-client-cert-password", passphrase);
        }
        options
    }
}

/// `sapwood serve`, and where.
struct Served {
    child: Child,
    https: u16,
    http: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(ground: &Ground, conf: &str) -> Self {
        let (https, http) = (free_port(), free_port());
        let file = ground.file(&format!("serve-{https}.toml"));
        let ours = format!(
            "https-port = {https}\nhttp-port = {http}\ntls-certificate = 'certificate'\ntls-key = 'key'\n\
             {conf}"
        );
        fs::write(&file, ours).unwrap();
        Self { child: places::serve(&file), https, http }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.https)
    }
}

fn svn(programs: &Programs, args: &[&str], options: &[String]) -> Output {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    programs.run("svn", [args, &options].concat())
}

const PLACES: &str = "
[[location]]
url = '/needed'
folder = '.'
require-certificate = true
certificate-user = 'CN'
authz = 'rules'
[[location]]
url = '/wanted'
folder = '.'
certificate-user = 'CN'
authz = 'rules'
[[location]]
url = '/both'
folder = '.'
require-certificate = true
users = 'users'
password-delay = 0
authz = 'rules'
";

#[test]
fn certificates_say_who_it_is() {
    let ground = Ground::new();
    let served = Served::start(&ground, &format!("tls-client-ca = 'clients'\n{PLACES}"));
    let ada = ground.client("ada", &Client::default());
    let bob = ground.client("bob", &Client { name: "bob", serial: 2, ..Client::default() });
    let old = ground.client("old", &Client { old: true, ..Client::default() });
    let nobody = ground.client("nobody", &Client { name: "", ..Client::default() });
    let missing = ground.file("missing");
    for (programs, who) in [(Programs::ours(), "ours"), (Programs::reference(), "theirs")] {
        let ls = |place: &str, file: Option<&Path>, passphrase: &str, more: &[&str]| {
            let url = served.url(place);
            let done =
                svn(&programs, &[&["ls", &url], more].concat(), &ground.options(file, passphrase));
            match done.code {
                0 => String::new(),
                _ => done.stderr_text(),
            }
        };
        let refused = |told: String| assert!(told.contains("E175013"), "{who}: {told}");
        let open = |told: String| assert_eq!(told, "", "{who}");
        refused(ls("/needed/repo", None, "", &[]));
        refused(ls("/needed/repo", Some(&missing), "", &[]));
        let told = ls("/wanted/repo", Some(&ada), "wrong", &[]);
        assert!(told.contains("E120171"), "{who}: {told}");
        refused(ls("/needed/repo", Some(&nobody), "geheim", &[]));
        open(ls("/needed/repo/trunk", Some(&ada), "geheim", &[]));
        open(ls("/needed/repo/trunk", Some(&old), "geheim", &[]));
        open(ls("/needed/repo", Some(&bob), "geheim", &[]));
        refused(ls("/needed/repo/trunk", Some(&bob), "geheim", &[]));
        open(ls("/wanted/repo", None, "", &[]));
        refused(ls("/wanted/repo/trunk", None, "", &[]));
        open(ls("/wanted/repo/trunk", Some(&ada), "geheim", &[]));
        // Where there are passwords, they say who it is.
        let password = |name| ["--username", name, "--password", &name[..1]];
        refused(ls("/both/repo", None, "", &password("ada")));
        open(ls("/both/repo/trunk", Some(&bob), "geheim", &password("ada")));
        refused(ls("/both/repo/trunk", Some(&ada), "geheim", &password("bob")));
        let new = served.url(&format!("/needed/repo/trunk/{who}"));
        let options = ground.options(Some(&ada), "geheim");
        svn(&programs, &["mkdir", "-m", "", &new], &options).expect_success("mkdir");
        let author = svn(&programs, &["info", "--show-item=last-changed-author", &new], &options);
        assert_eq!(author.expect_success("info").stdout_text().trim(), "ada");
    }
    // Over http no client can show one.
    let plain = format!("http://localhost:{}/needed/repo", served.http);
    let told = svn(&Programs::ours(), &["ls", &plain], &ground.options(None, "")).stderr_text();
    assert!(told.contains("E175013"), "{told}");
}

#[test]
fn certificates_that_do_not_count() {
    let ground = Ground::new();
    let foreign = Client::default().write(&authority("Clients"), ground.file("foreign"));
    let ended = Client { years: (2010, 2011), ..Client::default() };
    let ended = ground.client("ended", &ended);
    let later = Client { years: (2099, 2100), ..Client::default() };
    let later = ground.client("later", &later);
    let revoked_one = ground.client("revoked", &Client { serial: 7, ..Client::default() });
    let good = ground.client("good", &Client::default());
    fs::write(ground.file("list"), revoked(&ground.clients, &[7])).unwrap();
    let conf = "tls-client-ca = 'clients'\ntls-client-crl = 'list'\n";
    let served = Served::start(&ground, &format!("{conf}{PLACES}"));
    let strict = Served::start(&ground, &format!("require-certificate = true\n{conf}{PLACES}"));
    for programs in [Programs::ours(), Programs::reference()] {
        let ls = |served: &Served, file: Option<&Path>, passphrase: &str| {
            let url = served.url("/wanted/repo");
            svn(&programs, &["ls", &url], &ground.options(file, passphrase))
        };
        for file in [&foreign, &ended, &later, &revoked_one] {
            for served in [&served, &strict] {
                let told = ls(served, Some(file), "geheim").stderr_text();
                assert!(told.contains("E120171"), "{}: {told}", file.display());
            }
        }
        ls(&served, None, "").expect_success("nothing shown");
        ls(&served, Some(&good), "geheim").expect_success("a good one");
        ls(&strict, Some(&good), "geheim").expect_success("a good one");
        for (file, passphrase) in [(None, ""), (Some(&*good), "wrong")] {
            let told = ls(&strict, file, passphrase).stderr_text();
            assert!(told.contains("E120171"), "{told}");
        }
    }
    // Ours says what was wrong here.
    let told = |file: &Path, passphrase: &str| {
        let url = strict.url("/wanted/repo");
        let options = ground.options(Some(file), passphrase);
        svn(&Programs::ours(), &["ls", &url], &options).stderr_text()
    };
    assert!(told(&good, "wrong").contains("the passphrase is wrong"));
    assert!(told(&ground.file("users"), "").contains("no PKCS#12 file"));
    assert!(told(&ground.file("missing"), "").contains("No such file"));
    // Whose certificates count is read again.
    let other = authority("Clients");
    let new = Client::default().write(&other, ground.file("new"));
    fs::write(ground.file("clients"), other.pem()).unwrap();
    fs::write(ground.file("list"), revoked(&other, &[9])).unwrap();
    let url = served.url("/needed/repo");
    let shown =
        |file: &Path| svn(&Programs::ours(), &["ls", &url], &ground.options(Some(file), "geheim"));
    shown(&new).expect_success("of the new authority");
    assert!(shown(&good).stderr_text().contains("E120171"));
}

/// The file, its passphrase, and whether that is kept, asked for at a terminal.
#[test]
fn questions() {
    let ground = Ground::new();
    let served = Served::start(&ground, &format!("tls-client-ca = 'clients'\n{PLACES}"));
    let ada = ground.client("ada", &Client::default());
    let ada = ada.to_str().unwrap();
    let url = served.url("/needed/repo");
    let known = format!("servers:global:ssl-authority-files={}", ground.file("servers").display());
    let named = format!("servers:global:ssl-client-cert-file={ada}");
    let mut kept = Vec::new();
    for (programs, who) in [(Programs::ours(), "ours"), (Programs::reference(), "theirs")] {
        let config = ground.file(who);
        let config = config.to_str().unwrap();
        let talk = |more: &[&str], answers: &[(&str, &str)]| {
            let mut command = programs.command("svn");
            command.args(["ls", &url, "--config-dir", config, "--config-option", &known]);
            // A keyring of this machine's desktop would be asked first.
            command.args(["--config-option", "config:auth:password-stores="]);
            converse(command.args(more), answers)
        };
        let file = ("Client certificate filename: ", ada);
        let question = format!("Passphrase for '{ada}': ");
        let passphrase = (question.as_str(), "geheim");
        let asks = ["--config-option", "config:auth:ssl-client-cert-file-prompt=yes"];
        let names = ["--config-option", &*named];
        // Nothing is asked unless that is wanted.
        assert_eq!(talk(&[], &[]).code, 1, "{who}");
        let told = talk(&[&asks[..], &["--no-auth-cache"]].concat(), &[file, passphrase]);
        assert_eq!(told.code, 0, "{who}: {}", told.screen);
        let realm = format!("Authentication realm: {}\n", served.url(""));
        assert!(told.screen.contains(&realm), "{who}: {}", told.screen);
        assert!(!told.screen.contains("geheim") && !told.screen.contains("yes/no"));
        let again = "Please type 'yes' or 'no': ";
        let no = [passphrase, ("(yes/no)? ", "perhaps"), (again, "no")];
        assert_eq!(talk(&names, &no).code, 0, "{who}");
        let store = Path::new(config).join("auth/svn.ssl.client-passphrase");
        assert_eq!(fs::read_dir(&store).unwrap().count(), 0, "{who}: nothing is kept");
        let never = "servers:global:store-ssl-client-cert-pp=no";
        let never = talk(&[&names[..], &["--config-option", never]].concat(), &[passphrase]);
        assert_eq!(never.code, 0, "{who}: {}", never.screen);
        let yes = [file, passphrase, ("(yes/no)? ", "yes")];
        assert_eq!(talk(&asks, &yes).code, 0, "{who}");
        let name = sapwood_core::Md5::of(ada.as_bytes()).to_hex();
        kept.push(fs::read_to_string(store.join(name)).unwrap());
        // Now it is known.
        let quiet = talk(&[&names[..], &["--non-interactive"]].concat(), &[]);
        assert_eq!(quiet.code, 0, "{who}: {}", quiet.screen);
    }
    assert_eq!(kept[0], kept[1]);
    let shown = |programs: &Programs, more: &[&str]| {
        let config = ground.file("theirs");
        let args = ["auth", "--config-dir", config.to_str().unwrap()];
        programs.run("svn", [&args[..], more].concat()).stdout_text()
    };
    for more in [&[][..], &["--show-passwords"], &["passphrase"], &["geheim"]] {
        let [wanted, found] =
            [Programs::reference(), Programs::ours()].map(|programs| shown(&programs, more));
        assert_eq!(found, wanted, "{more:?}");
    }
    // A wrong one is asked for again, twice.
    let question = format!("Passphrase for '{ada}': ");
    let wrong = [question.as_str(), question.as_str(), question.as_str()];
    let mut command = Programs::ours().command("svn");
    command.args(["ls", &url, "--no-auth-cache", "--config-option", &known]);
    command.args(["--config-option", &named]);
    let answers = |last| [(wrong[0], "x"), (wrong[1], "y"), (wrong[2], last)];
    assert_eq!(converse(&command, &answers("geheim")).code, 0);
    assert_eq!(converse(&command, &answers("z")).code, 1);
}

/// httpd with mod_ssl, and ours with what its configuration becomes.
#[test]
fn as_mod_ssl_asks() {
    let ground = Ground::new();
    let ada = ground.client("ada", &Client::default());
    let bob = ground.client("bob", &Client { name: "bob", serial: 2, ..Client::default() });
    let foreign = Client::default().write(&authority("Clients"), ground.file("foreign"));
    let folder = ground.repo.parent();
    let port = free_port();
    let at = folder.display();
    let conf = httpd::configuration(folder, port, &["socache_shmcb", "ssl"])
        + &format!(
            "<VirtualHost *:{port}>\nSSLEngine on\nSSLCertificateFile {at}/certificate\n\
             SSLCertificateKeyFile {at}/key\nSSLCACertificateFile {at}/clients\n\
             SSLVerifyClient require\n<Location /svn>\nDAV svn\nSVNParentPath {at}\n\
             SSLUserName SSL_CLIENT_S_DN_CN\nAuthzSVNAccessFile {at}/rules\n\
             Require all granted\n</Location>\n</VirtualHost>\n"
        );
    httpd::hand_over(folder);
    let _httpd = Httpd::start(folder, port, &conf);
    let done = Programs::ours()
        .run("sapwood", ["import-httpd-conf", folder.join("httpd.conf").to_str().unwrap()]);
    let text = done.expect_success("import").stdout_text();
    let served = {
        let (https, http) = (free_port(), free_port());
        let file = ground.file("imported.toml");
        // What was encrypted is so here, too, and nothing else is spoken.
        assert!(
            text.contains(&format!("https-port = {port}\n")) && !text.contains("\nhttp-port"),
            "{text}"
        );
        let ports = format!("http-port = {http}\nhttps-port = {https}\n");
        let text = text.replace(&format!("https-port = {port}\n"), &ports);
        fs::write(&file, text).unwrap();
        Served { child: places::serve(&file), https, http }
    };
    let mut made = 0;
    for base in [format!("https://localhost:{port}/svn/repo"), served.url("/svn/repo")] {
        for programs in [Programs::ours(), Programs::reference()] {
            let ls = |file: Option<&Path>, path: &str| {
                let url = format!("{base}{path}");
                svn(&programs, &["ls", &url], &ground.options(file, "geheim"))
            };
            ls(Some(&ada), "/trunk").expect_success("ada");
            ls(Some(&bob), "").expect_success("bob");
            let told = ls(Some(&bob), "/trunk").stderr_text();
            assert!(told.contains("E175013"), "{base}: {told}");
            let told = ls(Some(&foreign), "").stderr_text();
            assert!(told.contains("E120171"), "{base}: {told}");
            assert_ne!(ls(None, "").code, 0, "{base}");
            made += 1;
            let new = format!("{base}/trunk/{made}");
            let options = ground.options(Some(&ada), "geheim");
            svn(&programs, &["mkdir", "-m", "", &new], &options).expect_success("mkdir");
            let item = "--show-item=last-changed-author";
            let author = svn(&programs, &["info", item, &new], &options);
            assert_eq!(author.expect_success("info").stdout_text().trim(), "ada", "{base}");
        }
    }
    let _ = Command::new("chown").args(["-R", "root"]).arg(folder).status();
}
