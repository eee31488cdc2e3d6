//! One repository: its format, its files of configuration, what is left of old commits, packing and space.

use std::path::Path;
use std::time::Duration;

use sapwood_core::SvnResult;
use sapwood_core::config::Config;
use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_core::exact::Exact as _;
use sapwood_core::props::names as prop_names;
use sapwood_fs::Filesystem;
use sapwood_repos::{Repository, Rules};
use sapwood_server::common::config::AccessConfig;
use sapwood_server::common::lookup;
use sapwood_server::{ServerState, Settings};

use super::finding::Findings;
use super::{hooks, machine, rights, shown};
use crate::report;

/// A transaction that is older than this is of no use any more: two days.
const OLD: Duration = Duration::from_secs(2 * 24 * 3600);
/// How far a date of a revision may lie ahead, in microseconds.
const AHEAD: i64 = 300 * MICROS_PER_SEC;
/// So many complete shards that are not packed are worth a word.
const SHARDS: u64 = 4;

/// Looks at a repository.
pub(super) fn look(path: &Path) -> Findings {
    let mut findings = Findings::default();
    match crate::repo::open(&path.to_string_lossy(), &crate::command::Options::default()) {
        Ok(repository) => {
            let result = filesystem(path, &repository, &mut findings);
            note(result, &mut findings, || {
                format!("look for damage: svnadmin verify {}", shown(path))
            });
            let result = access(&repository, &mut findings);
            note(result, &mut findings, || "mend the file that is named".to_owned());
            rules(&repository, &mut findings);
        }
        Err(error) => {
            findings.problem(
                format!("it cannot be opened: {}", report::one_line(&error)),
                open_advice(path),
            );
        }
    }
    rights::look(path, &mut findings);
    hooks::look(&path.join("hooks"), &mut findings);
    machine::space(path, &mut findings);
    findings
}

fn open_advice(path: &Path) -> String {
    format!("check its rights (ls -l {0}) and its 'format' files", shown(path))
}

fn note(result: SvnResult<()>, findings: &mut Findings, todo: impl FnOnce() -> String) {
    if let Err(error) = result {
        findings.problem(report::one_line(&error), todo());
    }
}

/// Format, revisions, what is left of old commits, packing.
fn filesystem(path: &Path, repository: &Repository, findings: &mut Findings) -> SvnResult<()> {
    let fs = repository.fs();
    let format = fs.format();
    let youngest = fs.youngest()?;
    let name = fs.engine().name().to_ascii_uppercase();
    findings.good(format!("{name} format {}, {youngest} revisions", format.number));
    if fs.engine().has_layouts() && !format.logical_addressing {
        let todo = format!("sapwood convert {0} NEW, or svnadmin upgrade {0}", shown(path));
        findings.warning("it has an old format, which is slower and larger than today's", todo);
    }
    date(fs, findings)?;
    if let Some(size) = format.shard_size.filter(|size| *size > 0) {
        let complete = youngest.next().0 / size;
        let open = complete.minus(fs.min_unpacked_rev()?.0 / size);
        if open >= SHARDS {
            let what = format!("{open} folders of {size} revisions could be packed");
            findings.warning(what, format!("svnadmin pack {}", shown(path)));
        }
    }
    old_commits(path, fs, findings)
}

/// The date of the youngest revision: one that lies ahead says that a clock was wrong.
fn date(fs: &Filesystem, findings: &mut Findings) -> SvnResult<()> {
    let props = fs.revprops(fs.youngest()?)?;
    let date = props.get(prop_names::DATE).and_then(|date| Timestamp::parse(date).ok());
    let Some(date) = date else { return Ok(()) };
    if date.0.checked_sub(Timestamp::now().0).is_some_and(|ahead| ahead > AHEAD) {
        let what = format!("its youngest revision has a date that has not come yet: {date}");
        findings.warning(what, "check the clock of this machine (timedatectl)");
    }
    Ok(())
}

/// Transactions and files that nothing needs any more.
fn old_commits(path: &Path, fs: &Filesystem, findings: &mut Findings) -> SvnResult<()> {
    let mut old = Vec::new();
    for name in &*fs.transactions()? {
        let folder = fs.path().join("transactions").join(format!("{name}.txn"));
        let Ok(changed) = std::fs::metadata(&folder).and_then(|meta| meta.modified()) else {
            continue;
        };
        if changed.elapsed().is_ok_and(|age| age > OLD) {
            old.push(name.clone());
        }
    }
    if !old.is_empty() {
        let what =
            format!("{} commits that were never finished are older than two days", old.len());
        let todo = format!("svnadmin rmtxns {} {}", shown(path), old.join(" "));
        findings.warning(what, todo);
    }
    let left = fs.leftovers()?;
    if let Some(first) = left.first() {
        let what = format!(
            "{} files were left by processes that were killed, or belong to commits under way ({})",
            left.len(),
            first.path
        );
        findings.warning(what, format!("svnadmin lstxns {} says what removes them", shown(path)));
    }
    Ok(())
}

/// `svnserve.conf` and what it names.
fn access(repository: &Repository, findings: &mut Findings) -> SvnResult<()> {
    let conf = repository.conf_dir();
    let file = conf.join("svnserve.conf");
    if !file.is_file() {
        return Ok(());
    }
    let shared = ServerState::new(Settings::new("/".into()), None);
    let config = shared.files.server(&file, true)?;
    let access = AccessConfig::from_config(&config, &conf, false)?;
    if let Some(passwords) = &access.password_db {
        match shared.files.passwords(passwords)? {
            Some(_) => {}
            None => findings.problem(
                format!(
                    "the password file {} may not be read: no user can log in",
                    shown(passwords)
                ),
                format!("ls -l {}", shown(passwords)),
            ),
        }
    }
    let mut warnings = Vec::new();
    let named = lookup::rules(&shared, repository.path(), &access, &mut |w| warnings.push(w))?;
    for warning in warnings {
        findings.warning(report::one_line(&warning), "svnauthz validate says the same");
    }
    if let Some(groups) = config_without_effect(&config, named.is_some()) {
        findings.warning(groups, format!("name it in {}", shown(&file)));
    }
    findings.good("conf/svnserve.conf and what it names are understood");
    Ok(())
}

/// A setting of `svnserve.conf` that has no effect.
fn config_without_effect(config: &Config, has_authz: bool) -> Option<&'static str> {
    let has = |name: &str| config.get("general", name).is_some();
    (has("groups-db") && !has_authz).then_some("'groups-db' has no effect without 'authz-db'")
}

/// `conf/rules.toml`.
fn rules(repository: &Repository, findings: &mut Findings) {
    let path = repository.conf_dir().join("rules.toml");
    let bytes = match crate::input::contents_if_there(&path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return,
        Err(error) => {
            let what = format!("no commit is possible: {}", report::one_line(&error));
            return findings.problem(what, format!("ls -l {}", shown(&path)));
        }
    };
    match Rules::parse(&path.to_string_lossy(), &String::from_utf8_lossy(&bytes)) {
        Ok(_) => findings.good("conf/rules.toml is understood"),
        Err(error) => findings.problem(
            format!("no commit is possible: {error}"),
            "docs/formats/rules.md has what can be said there",
        ),
    }
}
