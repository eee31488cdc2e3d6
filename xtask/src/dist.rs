//! `cargo xtask dist`: a Debian package of the release build and a container file, in `target/dist`.
//!
//! The package lies beside Subversion's own: the program is `/usr/bin/sapwood`, the links by the names
//! of Subversion's programs are in `/usr/lib/sapwood/bin`, and their manual pages where `man` looks
//! for programs of that folder. A user who puts it first in `PATH` has changed over, and back again.
//!
//! `dpkg-deb` makes the archive: it is on every machine that installs such packages, and knows its
//! own format. Invariant: nothing is written outside the target folder, and the same build gives the same file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::licences;
use crate::man_page::{self, About};
use crate::steps::{cargo, cargo_for, target};

/// The configuration of `sapwood.service`.
const CONFIGURATION: &str = "etc/sapwood/sapwood.toml";
/// How its logs are rotated.
const LOG_ROTATION: &str = "etc/logrotate.d/sapwood";

/// Where the links of the package are.
const LINKS: &str = "usr/lib/sapwood/bin";

/// Builds, and packs.
pub(crate) fn dist(args: &[String]) -> Result<(), String> {
    let usage = "usage: cargo xtask dist [--profile PROFILE] [--target TRIPLE]";
    let (mut profile, mut machine) = ("release", None);
    let mut left = args;
    while let [flag, value, rest @ ..] = left {
        match &**flag {
            "--profile" => profile = value,
            "--target" => machine = Some(Machine::named(value)?),
            _ => return Err(usage.to_owned()),
        }
        left = rest;
    }
    if !left.is_empty() {
        return Err(usage.to_owned());
    }
    let made = build(profile, machine)?;
    eprintln!("xtask: {}\nxtask: {}", made.package.display(), made.container.display());
    Ok(())
}

/// What was made.
pub(crate) struct Made {
    /// The files of the package.
    pub(crate) tree: PathBuf,
    /// The package.
    pub(crate) package: PathBuf,
    /// The container file.
    pub(crate) container: PathBuf,
    /// Debian's name of the processor.
    pub(crate) architecture: String,
}

/// Another kind of machine than this one, for which Debian has a cross compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Rust's name of it.
    triple: &'static str,
    /// Debian's name of its processor.
    architecture: &'static str,
    /// What the names of its tools begin with.
    tools: &'static str,
    /// The package with its compiler.
    package: &'static str,
    /// The binary logarithm of the largest page of memory that its kernels may have.
    page: &'static str,
}

const MACHINES: [Machine; 1] = [Machine {
    triple: "aarch64-unknown-linux-gnu",
    architecture: "arm64",
    tools: "aarch64-linux-gnu",
    package: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    page: "16",
}];

impl Machine {
    /// The one that Rust calls so.
    pub(crate) fn named(triple: &str) -> Result<Self, String> {
        let known = MACHINES.map(|machine| machine.triple).join(", ");
        let found = MACHINES.into_iter().find(|machine| machine.triple == triple);
        found.ok_or_else(|| {
            format!("'{triple}' is none of the machines that are built for: {known}")
        })
    }

    fn tool(self, name: &str) -> String {
        format!("{}-{name}", self.tools)
    }

    /// Builds the program for it, by Debian's cross compiler.
    fn build(self, profile: &str) -> Result<(), String> {
        let compiler = self.tool("gcc");
        if run(Command::new(&compiler).arg("--version")).is_err() {
            return Err(format!("there is no {compiler}: apt-get install {}", self.package));
        }
        let (small, large) = (self.triple.replace('-', "_"), self.triple.to_uppercase());
        let linker = format!("CARGO_TARGET_{}_LINKER", large.replace('-', "_"));
        let environment = [
            (linker, compiler.clone()),
            (format!("CC_{small}"), compiler),
            (format!("AR_{small}"), self.tool("ar")),
            ("JEMALLOC_SYS_WITH_LG_PAGE".to_owned(), self.page.to_owned()),
        ]
        .map(|(name, value)| (name, OsString::from(value)));
        let built = cargo_for(
            &[&["build", "--target", self.triple], &options(profile)[..]].concat(),
            &environment,
        );
        let hint = format!("is the target there? rustup target add {}", self.triple);
        built.map_err(|error| format!("{error} ({hint})"))
    }
}

/// The profile of a build, and what only packages have: object stores of the protocol of S3, which take a minute to build.
fn options(profile: &str) -> Vec<&str> {
    let features: &[&str] =
        if profile == "dev" { &[] } else { &["--features", "sapwood-cli/s3,sapwood-cli/postgres"] };
    [&["--profile", profile], features].concat()
}

/// Builds the program in a profile, for this machine or another one, and packs it.
pub(crate) fn build(profile: &str, machine: Option<Machine>) -> Result<Made, String> {
    // As `cargo build --release` builds, without a package named: other features would be chosen for
    // its dependencies, and a third of them built again. What runs here makes the links and pages, also of a
    // program for another machine.
    cargo(&[&["build"], &options(profile)[..]].concat())?;
    let target = target()?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let runs = target.join(folder).join("sapwood");
    let mut built = runs.clone();
    if let Some(machine) = machine {
        machine.build(profile)?;
        built = target.join(machine.triple).join(folder).join("sapwood");
    }
    let out = target.join("dist");
    let tree = out.join("tree");
    let _ = fs::remove_dir_all(&tree);
    let architecture = match machine {
        Some(machine) => machine.architecture.to_owned(),
        None => architecture()?,
    };
    let strip = machine.map_or("strip".to_owned(), |machine| machine.tool("strip"));
    assemble(&Parts { built, runs, strip, architecture: architecture.clone() }, &tree)?;
    let package = out.join(format!("sapwood_{}_{architecture}.deb", version()));
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(&tree).arg(&package);
    // Time stamps are those of the last commit.
    pack.env("SOURCE_DATE_EPOCH", last_commit());
    run(&mut pack)?;
    let container = out.join("Containerfile");
    fs::copy(root().join("packaging/Containerfile"), &container).map_err(|e| at(&container, &e))?;
    Ok(Made { tree, package, container, architecture })
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

pub(crate) fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

pub(crate) fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn architecture() -> Result<String, String> {
    let text = run(Command::new("dpkg").arg("--print-architecture"))?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

pub(crate) fn last_commit() -> String {
    let log = run(Command::new("git").current_dir(root()).args(["log", "-1", "--format=%ct"]));
    log.map_or_else(|_| "0".to_owned(), |t| String::from_utf8_lossy(&t).trim().to_owned())
}

/// The version of the C library that the program is linked with: it runs with newer ones.
fn c_library() -> Result<String, String> {
    let text = run(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    text.strip_prefix("glibc ").map(str::to_owned).ok_or(format!("no version of glibc: {text}"))
}

/// What a package is made of besides the files of this folder.
struct Parts {
    /// The program.
    built: PathBuf,
    /// The same for this machine.
    runs: PathBuf,
    /// What takes symbols out of the program.
    strip: String,
    /// Debian's name of the processor.
    architecture: String,
}

/// The tree of the package.
fn assemble(parts: &Parts, tree: &Path) -> Result<(), String> {
    let program = tree.join("usr/bin/sapwood");
    copy(&parts.built, &program, 0o755)?;
    run(Command::new(&parts.strip).arg("--strip-unneeded").arg(&program))?;
    let mut install = Command::new(&parts.runs);
    install.arg("install-links").arg(tree.join(LINKS)).args(["--target", "/usr/bin/sapwood"]);
    // `man` finds the pages of a program in .../bin below .../man.
    install.arg("--man").arg(tree.join("usr/lib/sapwood/man"));
    install.arg("--completions").arg(tree.join("usr/share/sapwood/completions"));
    install.arg("--zsh").arg(tree.join("usr/share/sapwood/zsh"));
    install.arg("--fish").arg(tree.join("usr/share/sapwood/fish"));
    run(&mut install)?;
    let pages = tree.join("usr/lib/sapwood/man");
    for section in ["man1", "man5", "man8"] {
        let folder = pages.join(section);
        for entry in fs::read_dir(&folder).map_err(|e| at(&folder, &e))? {
            let page = entry.map_err(|e| at(&folder, &e))?.path();
            run(Command::new("gzip").arg("-9n").arg(&page))?;
        }
    }
    let sapwoods = tree.join("usr/share/man/man1");
    fs::create_dir_all(&sapwoods).map_err(|e| at(&sapwoods, &e))?;
    for entry in fs::read_dir(pages.join("man1")).map_err(|e| at(&pages, &e))? {
        let page = entry.map_err(|e| at(&pages, &e))?.path();
        let name = page.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("sapwood") {
            let to = sapwoods.join(&name);
            fs::rename(&page, &to).map_err(|e| at(&to, &e))?;
        }
    }
    for (from, to) in [
        ("packaging/sapwood-svnserve.service", "usr/lib/systemd/system/sapwood-svnserve.service"),
        ("packaging/sapwood-svnserve.socket", "usr/lib/systemd/system/sapwood-svnserve.socket"),
        ("packaging/sapwood.service", "usr/lib/systemd/system/sapwood.service"),
        ("packaging/sapwood@.service", "usr/lib/systemd/system/sapwood@.service"),
        ("packaging/sapwood-backup.service", "usr/lib/systemd/system/sapwood-backup.service"),
        ("packaging/sapwood-backup.timer", "usr/lib/systemd/system/sapwood-backup.timer"),
        ("packaging/sapwood-http.socket", "usr/lib/systemd/system/sapwood-http.socket"),
        ("packaging/sapwood-https.socket", "usr/lib/systemd/system/sapwood-https.socket"),
        ("packaging/sapwood-svn.socket", "usr/lib/systemd/system/sapwood-svn.socket"),
        ("packaging/sapwood.toml", CONFIGURATION),
        ("packaging/sapwood.logrotate", LOG_ROTATION),
        ("docs/serve.md", "usr/share/doc/sapwood/serve.md"),
        ("docs/formats/rules.md", "usr/share/doc/sapwood/formats/rules.md"),
        ("packaging/prometheus/alarms.yml", "usr/share/doc/sapwood/prometheus/alarms.yml"),
        ("packaging/grafana/sapwood.json", "usr/share/doc/sapwood/grafana/sapwood.json"),
        ("packaging/sapwood.sysusers", "usr/lib/sysusers.d/sapwood.conf"),
        ("packaging/sapwood.tmpfiles", "usr/lib/tmpfiles.d/sapwood.conf"),
        ("README.md", "usr/share/doc/sapwood/README.md"),
        ("CHANGELOG.md", "usr/share/doc/sapwood/CHANGELOG.md"),
        ("packaging/copyright", "usr/share/doc/sapwood/copyright"),
    ] {
        copy(&root().join(from), &tree.join(to), 0o644)?;
    }
    documents(tree)?;
    changelog(tree)?;
    write(&tree.join("usr/share/doc/sapwood/licences"), &licences::page()?, 0o644)?;
    write(&tree.join("DEBIAN/control"), &control(&parts.architecture, &c_library()?), 0o644)?;
    // An upgrade leaves what an administrator has changed in these.
    let conffiles = format!("/{CONFIGURATION}\n/{LOG_ROTATION}\n");
    write(&tree.join("DEBIAN/conffiles"), &conffiles, 0o644)?;
    write(&tree.join("DEBIAN/postinst"), POSTINST, 0o755)
}

/// Who is named as the maintainer of packages. The host is one that there never is (RFC 2606).
const MAINTAINER: &str = "The Sapwood developers <sapwood@sapwood.example>";

/// The changelog in Debian's form, which leads to the one for people.
fn changelog(tree: &Path) -> Result<(), String> {
    let log = ["log", "-1", "--format=%cD"];
    let date = run(Command::new("git").current_dir(root()).args(log))?;
    let text = format!(
        "sapwood ({}) unstable; urgency=medium\n\n  * See /usr/share/doc/sapwood/CHANGELOG.md.\n\n -- {MAINTAINER}  {}\n",
        version(),
        String::from_utf8_lossy(&date).trim()
    );
    let to = tree.join("usr/share/doc/sapwood/changelog");
    write(&to, &text, 0o644)?;
    run(Command::new("gzip").arg("-9n").arg(&to)).map(drop)
}

/// The guide, and the pages for `man` that are made of it and of `serve.md`.
fn documents(tree: &Path) -> Result<(), String> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| at(path, &e));
    let man = |about: About<'_>, document: &str| {
        let file = format!("usr/share/man/man{0}/{1}.{0}", about.section, about.name);
        let to = tree.join(file);
        write(&to, &man_page::page(about, document), 0o644)?;
        run(Command::new("gzip").arg("-9n").arg(&to)).map(drop)
    };
    let line = "configuration of 'sapwood serve'";
    let settings = read(&root().join("docs/serve.md"))?;
    man(About { name: "sapwood.toml", section: 5, line }, &settings)?;
    let guide = root().join("docs/guide");
    for entry in fs::read_dir(&guide).map_err(|e| at(&guide, &e))? {
        let page = entry.map_err(|e| at(&guide, &e))?.path();
        let name = page.file_stem().map(|name| name.to_string_lossy().into_owned());
        let name = name.filter(|name| name != "README").map_or(String::new(), |n| format!("-{n}"));
        let text = read(&page)?;
        let line = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or("guide");
        let name = format!("sapwood-guide{name}");
        man(About { name: &name, section: 7, line }, &text)?;
        let to =
            tree.join("usr/share/doc/sapwood/guide").join(page.file_name().unwrap_or_default());
        copy(&page, &to, 0o644)?;
    }
    Ok(())
}

/// Makes the user and the folder, where systemd is there to do it. No server is started unasked; one that runs is
/// started anew with the new program, after the replies that are being sent.
const POSTINST: &str = "#!/bin/sh\nset -e\nif [ \"$1\" = configure ] && [ -d /run/systemd/system ]; then\n    \
    systemd-sysusers sapwood.conf\n    systemd-tmpfiles --create sapwood.conf\n    \
    systemctl daemon-reload\n    \
    systemctl try-restart sapwood.service sapwood-svnserve.service 'sapwood@*.service'\nfi\n";

fn control(architecture: &str, glibc: &str) -> String {
    format!(
        "Package: sapwood\nVersion: {}\nArchitecture: {architecture}\nSection: vcs\nPriority: optional\n\
         Maintainer: {MAINTAINER}\nDepends: libc6 (>= {glibc}), libgcc-s1\n\
         Description: Subversion, built anew in Rust\n \
         All programs of Subversion in one. Opens and serves the repositories that\n \
         Subversion 1.1 to 1.14 made, as they are. Lies beside the subversion package:\n \
         put /{LINKS} first in PATH to use its programs.\n",
        version()
    )
}

fn parents(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|e| at(parent, &e))
}

fn mode(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|e| at(path, &e))
}

pub(crate) fn copy(from: &Path, to: &Path, permissions: u32) -> Result<(), String> {
    parents(to)?;
    fs::copy(from, to).map_err(|e| at(from, &e))?;
    mode(to, permissions)
}

pub(crate) fn write(to: &Path, text: &str, permissions: u32) -> Result<(), String> {
    parents(to)?;
    fs::write(to, text).map_err(|e| at(to, &e))?;
    mode(to, permissions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_files_have_what_dpkg_asks_for() {
        let text = control("amd64", "2.36");
        for field in
            ["Package: ", "Version: ", "Architecture: amd64\n", "Maintainer: ", "Description: "]
        {
            assert!(text.lines().any(|l| format!("{l}\n").starts_with(field)), "{field}");
        }
        assert!(text.ends_with('\n') && !text.contains("\n\n"));
    }

    #[test]
    fn machines_are_named_as_rust_names_them() {
        let arm = Machine::named("aarch64-unknown-linux-gnu").unwrap();
        assert_eq!((arm.architecture, &*arm.tool("strip")), ("arm64", "aarch64-linux-gnu-strip"));
        assert!(Machine::named("arm64").unwrap_err().contains("aarch64-unknown-linux-gnu"));
        let wrong = dist(&["--target".to_owned(), "x".to_owned()]).unwrap_err();
        assert!(wrong.starts_with("'x' is none"), "{wrong}");
        assert!(dist(&["--target".to_owned()]).unwrap_err().starts_with("usage"));
    }

    #[test]
    fn the_unit_starts_what_is_there() {
        let bind = "CapabilityBoundingSet=CAP_NET_BIND_SERVICE";
        for (name, begins, capabilities) in [
            ("sapwood-svnserve", "svnserve -d --foreground ", "CapabilityBoundingSet="),
            ("sapwood", "serve --config /etc/sapwood/sapwood.toml", bind),
            (
                "sapwood-backup",
                "backup --quiet /srv/svn /var/backups/sapwood",
                "CapabilityBoundingSet=",
            ),
            ("sapwood@", "serve --config /etc/sapwood/%i.toml", bind),
        ] {
            let unit = root().join(format!("packaging/{name}.service"));
            let unit = fs::read_to_string(unit).unwrap();
            let kind = if name == "sapwood-backup" { "oneshot" } else { "notify" };
            assert!(unit.contains(&format!("\nType={kind}\n")), "{name}");
            let start = unit.lines().find_map(|l| l.strip_prefix("ExecStart=")).unwrap();
            assert!(start.starts_with(&format!("/usr/bin/sapwood {begins}")), "{start}");
            let walls = ["ProtectSystem=strict", "NoNewPrivileges=true", capabilities];
            assert!(walls.iter().all(|wall| unit.lines().any(|l| l == *wall)), "{name}");
        }
        assert!(format!("/{CONFIGURATION}") == "/etc/sapwood/sapwood.toml");
    }
}
