//! What a running server tells monitoring programs: `/metrics`, `/healthz`, `/readyz`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::Programs;
use sapwood_testkit::server::free_port;

use crate::common::places::{LOGIN_PLACE, Served, svn_as_ada};

/// The reply to a request at the address for monitoring.
pub(crate) fn ask(port: u16, path: &str, headers: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: m\r\nConnection: close\r\n{headers}\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Waits for an event that another process makes.
pub(crate) fn until(what: &str, is_there: impl FnMut() -> bool) {
    assert!(sapwood_testkit::patience::wait(60, is_there), "still waiting for {what}");
}

/// The value of a series, which is written as in the text.
fn value(text: &str, series: &str) -> Option<f64> {
    let found = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.map(|number| number.parse().unwrap())
}

/// Whether Debian's `promtool` finds nothing wrong.
fn promtool(args: &[&str], input: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool
        .spawn()
        .expect("promtool of Debian's package prometheus: run `cargo xtask packages` as root");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    let text = [said.stdout, said.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(said.status.success() && !text.contains("metrics should"), "{args:?}: {text}");
}

#[test]
fn what_happens_is_counted() {
    let port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = 0\nlog-file = 'log'\n{LOGIN_PLACE}"
    ));
    let base = served.repo.parent();
    // A repository whose name would end a label, if it were written as it is.
    let odd = base.join("odd\"} 1\nx{y=\"");
    Programs::reference()
        .run("svnadmin", ["create", odd.to_str().unwrap()])
        .expect_success("create");
    let metrics = || {
        let (status, text) = ask(port, "/metrics", "");
        assert_eq!(status, 200, "{text}");
        text
    };
    let before = metrics();
    assert_eq!(served.statuses("/svn/repo/"), [401, 200, 200, 401]);
    assert_eq!(served.ada("MADE-UP", "/svn/repo/", "", ""), 405);
    assert_eq!(served.ada("GET", "/svn/repo/nothere", "", ""), 404);
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    svn_as_ada(&["mkdir", "-m", "one", &format!("{url}/one")]).expect_success("mkdir");
    // A request is counted after its reply has gone out.
    let merged = "sapwood_requests_total{protocol=\"http\",kind=\"MERGE\",result=\"success\"}";
    until("the last request", || value(&metrics(), merged) == Some(1.0));
    let after = metrics();
    let (old, new) = (|name: &str| value(&before, name), |name: &str| value(&after, name));
    for (series, more) in [
        ("sapwood_commits_total", 1.0),
        ("sapwood_failed_logins_total", 1.0),
        ("sapwood_repository_youngest_revision{repository=\"repo\"}", 1.0),
    ] {
        let [old, new] = [old(series), new(series)].map(|found| found.expect(series));
        assert_eq!(new - old, more, "{series}");
    }
    let of = |kind: &str, result: &str| {
        new(&format!(
            "sapwood_requests_total{{protocol=\"http\",kind=\"{kind}\",result=\"{result}\"}}"
        ))
    };
    assert_eq!(of("GET", "success"), Some(2.0));
    assert_eq!(of("GET", "unauthenticated"), Some(2.0));
    assert_eq!(of("GET", "client_error"), Some(1.0));
    assert_eq!(of("other", "client_error"), Some(1.0));
    assert_eq!(of("MERGE", "success"), Some(1.0));
    assert!(new("sapwood_connections{protocol=\"http\"}").is_some());
    assert!(new("process_resident_memory_bytes").unwrap() > 1e6);
    assert!(new("sapwood_cache_capacity_bytes").unwrap() > 1e6);
    assert_eq!(new("sapwood_queue_running{queue=\"read\"}"), Some(0.0));
    for text in ["MADE-UP", "nothere", "\"ada\"", "127.0.0.1"] {
        assert!(!after.contains(text), "{text} is in a label: {after}");
    }
    assert!(after.contains("odd\\\"} 1\\nx{y=\\\"\""), "{after}");
    promtool(&["check", "metrics"], &after);
    let (_, open) = ask(port, "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE sapwood_commits counter\n"));
}

#[test]
fn what_stores_are_asked_for_is_counted() {
    let port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = 0\n{LOGIN_PLACE}"
    ));
    let asked = |kind: &str| {
        let series = format!("sapwood_store_requests_total{{store=\"file\",kind=\"{kind}\"}}");
        value(&ask(port, "/metrics", "").1, &series)
    };
    assert_eq!(asked("claim"), None);
    let base = served.repo.parent();
    let address = format!("file://{}", base.join("objects").display());
    let stored = base.join("stored");
    Programs::ours()
        .run("sapwood", ["store", "create", &address, stored.to_str().unwrap()])
        .expect_success("store create");
    let url = format!("http://127.0.0.1:{}/svn/stored", served.port);
    let mut before = 0.0;
    // Before its first commit a server tries the store.
    for name in ["one", "two", "three"] {
        svn_as_ada(&["mkdir", "-m", name, &format!("{url}/{name}")]).expect_success("mkdir");
        let claims = asked("claim").unwrap();
        assert!(name == "one" || claims - before == 1.0, "{before}, {claims}");
        before = claims;
    }
    assert!(asked("read").unwrap() >= 3.0);
    let text = ask(port, "/metrics", "").1;
    for name in ["failures_total", "claims_taken_total"] {
        let series = format!("sapwood_store_{name}{{store=\"file\"}}");
        assert!(value(&text, &series).is_some(), "{text}");
    }
    // Nothing of a folder is kept, so the cache was not opened.
    assert_eq!(value(&text, "sapwood_store_block_misses_total"), None, "{text}");
    let written = "sapwood_store_transferred_bytes_total{store=\"file\",direction=\"written\"}";
    assert!(value(&text, written).unwrap() > 100.0);
    promtool(&["check", "metrics"], &text);
}

/// A client asks what the youngest revision is, and the server its store: once. What it names afterwards is known.
#[test]
fn an_update_with_nothing_new_asks_a_store_once() {
    let port = free_port();
    let svn_port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = {svn_port}\n{LOGIN_PLACE}"
    ));
    let base = served.repo.parent();
    let address = format!("file://{}", base.join("objects").display());
    let stored = base.join("stored");
    Programs::ours()
        .run("sapwood", ["store", "create", &address, stored.to_str().unwrap()])
        .expect_success("store create");
    let conf = "[general]\nanon-access = read\n";
    fs::write(stored.join("conf/svnserve.conf"), conf).unwrap();
    let asked = || {
        let series = "sapwood_store_requests_total{store=\"file\",kind=\"read\"}";
        value(&ask(port, "/metrics", "").1, series).unwrap()
    };
    let http = format!("http://127.0.0.1:{}/svn/stored", served.port);
    svn_as_ada(&["mkdir", "-m", "one", &format!("{http}/one")]).expect_success("mkdir");
    for (name, url) in [("http", http), ("svn", format!("svn://127.0.0.1:{svn_port}/stored"))] {
        let wc = base.join(name);
        svn_as_ada(&["checkout", "-q", &url, wc.to_str().unwrap()]).expect_success("checkout");
        // Who looks at the counters asks for the youngest revision, too.
        let (first, second) = (asked(), asked());
        svn_as_ada(&["update", "-q", wc.to_str().unwrap()]).expect_success("update");
        assert_eq!(asked() - second, second - first + 1.0, "{name}");
    }
}

#[test]
fn alive_and_ready() {
    let port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\n[[location]]\nurl = '/a'\nfolder = 'more'\nanonymous = 'read'\n"
    ));
    let more = served.repo.parent().join("more");
    assert_eq!(ask(port, "/healthz", ""), (200, "alive\n".to_owned()));
    let (status, why) = ask(port, "/readyz", "");
    assert_eq!(status, 503);
    assert!(why.starts_with("/a: Can't open directory '"), "{why}");
    fs::create_dir(&more).unwrap();
    assert_eq!(ask(port, "/readyz", ""), (200, "ready\n".to_owned()));
    assert_eq!(ask(port, "/nothing", "").0, 404);
    // Two at a time wait for each other, and both are answered.
    let both = [(); 4].map(|()| std::thread::spawn(move || ask(port, "/readyz", "").0));
    assert_eq!(both.map(|one| one.join().unwrap()), [200; 4]);
    // Nothing of it is at the address of the repositories.
    for path in ["/metrics", "/healthz", "/readyz", "/status"] {
        assert_eq!(served.get(path, "").get(9..12), Some("404"), "{path}");
    }
}

#[test]
fn alarms_and_the_dashboard_know_what_there_is() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let alarms = packaging.join("prometheus/alarms.yml");
    promtool(&["check", "rules", alarms.to_str().unwrap()], "");
    let port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = 0\nbackups = '.'\n\
         queue-folder = 'queue'\n{LOGIN_PLACE}\
         [[webhook]]\nname = 'ci'\nurl = 'http://127.0.0.1:1/'\ninternal = true\n"
    ));
    served.get("/svn/repo/", "");
    // A request is counted when its reply has gone out: its client may have it a moment earlier.
    let mut text = String::new();
    sapwood_testkit::patience::wait(20, || {
        text = ask(port, "/metrics", "").1;
        text.contains("\nsapwood_requests_total{")
    });
    let dashboard = fs::read_to_string(packaging.join("grafana/sapwood.json")).unwrap();
    let mut names = 0;
    for file in [fs::read_to_string(&alarms).unwrap(), dashboard] {
        let words = file.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for name in words.filter(|w| w.starts_with("sapwood_") || w.starts_with("process_")) {
            // Only with a certificate; `acme` looks for them.
            if ["sapwood_certificate_expiry_timestamp_seconds", "sapwood_acme_failing_names"]
                .contains(&name)
            {
                continue;
            }
            assert!(text.contains(&format!("\n{name}")), "{name} is not measured: {text}");
            names += 1;
        }
    }
    assert!(names > 20, "{names}");
}

/// A replica that stays behind its source is an alarm; one that follows after some minutes is none.
#[test]
fn a_replica_that_stays_behind_is_an_alarm() {
    let alarms =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus/alarms.yml");
    let folder = tempfile::tempdir().unwrap();
    let series = |instance: &str, values: &str| {
        format!(
            "      - series: 'sapwood_repository_youngest_revision{{repository=\"game\",instance=\"{instance}\"}}'\n\
             \x20       values: '{values}'\n"
        )
    };
    let test = format!(
        "rule_files: ['{}']\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n{}{}{}\
         \x20   promql_expr_test:\n\
         \x20     - expr: 'ALERTS{{alertname=\"SapwoodReplicaBehind\",alertstate=\"firing\"}}'\n\
         \x20       eval_time: 30m\n\
         \x20       exp_samples:\n\
         \x20         - labels: 'ALERTS{{alertname=\"SapwoodReplicaBehind\",alertstate=\"firing\",\
         instance=\"stuck\",repository=\"game\",severity=\"warning\"}}'\n\
         \x20           value: 1\n",
        alarms.display(),
        series("first", "7+0x10 9+0x30"),
        series("follows", "7+0x14 9+0x30"),
        series("stuck", "7+0x41"),
    );
    let file = folder.path().join("test.yml");
    fs::write(&file, test).unwrap();
    promtool(&["test", "rules", file.to_str().unwrap()], "");
}

/// `sapwood status` finds the address in the configuration.
#[test]
fn status_at_the_prompt() {
    let port = free_port();
    let mut served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = 0\n{LOGIN_PLACE}password-delay = 0\n"
    ));
    served.statuses("/svn/repo/");
    let config = served.repo.parent().join("sapwood.toml").display().to_string();
    let youngest = served.youngest();
    let status = |args: &[&str]| Programs::ours().run("sapwood", [&["status"], args].concat());
    let text = status(&["--config", &config]).expect_success("status").stdout_text();
    for line in [
        concat!("Version                 ", env!("CARGO_PKG_VERSION"), "\n"),
        "Failed logins           1 in the last hour, 1 in all\n",
        "Limits met              none\n",
        "Certificate ends        none\n",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    let row = format!("repo        {youngest:>9}  ");
    assert!(text.lines().any(|line| line.starts_with(&row)), "{row} is missing in {text}");
    let counted = "sapwood_request_duration_seconds_count{protocol=\"http\",kind=\"GET\"}";
    until("the requests", || value(&ask(port, "/metrics", "").1, counted) == Some(4.0));
    let json =
        status(&["--address", &format!("127.0.0.1:{port}"), "--json"]).expect_success("json");
    let json: serde_json::Value = serde_json::from_str(&json.stdout_text()).unwrap();
    assert_eq!((&json["requests"]["http"], &json["is_ending"]), (&4.into(), &false.into()));
    served.end();
    let said = status(&["--config", &config]);
    assert_eq!(said.code, 1);
    assert!(
        said.stderr_text().contains("No server answers at 127.0.0.1:"),
        "{}",
        said.stderr_text()
    );
}

/// The page for people is where monitoring programs are answered, and nowhere else.
#[test]
fn a_browser_sees_how_the_server_is() {
    let port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = 0\nbackups = 'backups'\n{LOGIN_PLACE}"
    ));
    assert_eq!(served.statuses("/svn/repo/"), [401, 200, 200, 401]);
    let (status, page) = ask(port, "/", "Accept: text/html\r\n");
    assert_eq!(status, 200, "{page}");
    let youngest = format!(">r{}<", served.youngest());
    for part in
        ["<title>Status", &youngest, "Verified backup", "none", "Wrong passwords in the last hour"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let style = page.split("href=\"/-/style/").nth(1).unwrap().split('"').next().unwrap();
    let (status, sheet) = ask(port, &format!("/-/style/{style}"), "");
    assert!(status == 200 && sheet.contains("color-scheme"), "{sheet}");
    assert_eq!(ask(port, "/-/style/x.css", "").0, 404);
    assert_eq!(ask(port, "/", ""), (200, "/metrics\n/healthz\n/readyz\n/status\n".to_owned()));
    let elsewhere = served.get("/", "Accept: text/html\r\n");
    assert!(!elsewhere.contains("Verified backup"), "{elsewhere}");
}
