//! The matrix: every request, by every way, to every repository, with every set-up of caches, in
//! every state of warmth, to every system's programs.
//!
//! Invariant: the runs that are compared lie side by side in time. The repetitions are outside, the
//! repositories and systems inside, and the order of systems changes from run to run; so a machine that
//! becomes slower while it measures makes all of them slower.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use sapwood_core::exact::Exact;
use sapwood_core::{CancelToken, SvnError, SvnResult};

use crate::axes::{
    Access, Axis as _, Caches, Format, Packing, Request, Rules, Selection, State, System,
};
use crate::http;
use crate::machine;
use crate::programs::{self, Programs, Usage};
use crate::repositories::{Repositories, Say, Source};
use crate::results::{Cell, Results, Sample};
use crate::rules;
use crate::server::{Server, server_options};
use crate::svn_ways::{self, SaslLogin};

/// The measurements to make.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The part of the matrix that is wanted.
    pub selection: Selection,
    /// The history.
    pub source: Source,
    /// The directory to export and to list, as an fspath.
    pub tree: String,
    /// The file to blame, as an fspath.
    pub file: String,
    /// Where the repositories are kept, and everything else.
    pub folder: PathBuf,
    /// Our programs.
    pub sapwood: Programs,
    /// Those to compare with.
    pub reference: Option<Programs>,
    /// The system whose clients are used with all servers: only the servers differ then.
    pub client: System,
    /// How often each run is made.
    pub repeat: u32,
}

/// The limit of log requests, as in `win_repo_bench.py`.
const LOG_LIMIT: &str = "50000";

/// The most cells without runs that a note names.
const MOST_NAMED: usize = 12;

/// Measures.
///
/// # Errors
/// When the repositories cannot be made. A request that fails is left out, and a note says so;
/// when cancelled, what was measured is returned.
pub fn run(plan: &Plan, say: &mut Say<'_>, cancel: &CancelToken) -> SvnResult<Results> {
    let mut run =
        MatrixRun { plan, selection: plan.selection.clone(), results: Results::default() };
    run.about();
    run.narrow();
    let repositories = repositories(plan, cancel)?;
    let mut sizes = Vec::new();
    for format in run.selection.formats.clone() {
        for packing in run.selection.packings.clone() {
            let size = repositories.provide(format, packing, say)?;
            let mib = size.checked_div(1 << 20).unwrap_or(0);
            sizes.push(format!("{} {mib} MiB", Repositories::name(format, packing)));
        }
    }
    run.results.about.push(("sizes".to_owned(), sizes.join(", ")));
    repositories.wait_until_idle();
    run.everything(&repositories, say, cancel);
    Ok(run.results)
}

pub(crate) fn repositories<'a>(
    plan: &'a Plan,
    cancel: &'a CancelToken,
) -> SvnResult<Repositories<'a>> {
    let folder = std::path::absolute(plan.folder.join("repositories"))
        .and_then(|folder| std::fs::create_dir_all(&folder).map(|()| folder))
        .map_err(|e| SvnError::io(&e, format_args!("Can't create '{}'", plan.folder.display())))?;
    Ok(Repositories { folder, source: &plan.source, sapwood: &plan.sapwood, cancel })
}

impl Plan {
    /// The programs of a system, if there are any.
    pub(crate) fn programs(&self, system: System) -> Option<&Programs> {
        match system {
            System::Sapwood => Some(&self.sapwood),
            System::Reference => self.reference.as_ref(),
        }
    }

    /// The systems there are.
    pub(crate) fn systems(&self) -> Vec<System> {
        let wanted = self.selection.systems.iter().copied();
        wanted.filter(|system| self.programs(*system).is_some()).collect()
    }

    /// A client's command for a request, without where the repository is.
    fn client(
        &self,
        programs: &Programs,
        request: Request,
        repositories: &Repositories<'_>,
    ) -> Command {
        let (program, first): (_, &[&str]) = match request {
            Request::Log => ("svn", &["log", "-v", "--limit", LOG_LIMIT]),
            Request::NullLog => ("svnbench", &["null-log", "-v", "-q", "--limit", LOG_LIMIT]),
            Request::Export => ("svn", &["export", "-q", "--force"]),
            Request::NullExport => ("svnbench", &["null-export", "-q"]),
            Request::NullBlame => ("svnbench", &["null-blame"]),
            Request::NullList => ("svnbench", &["null-list", "-q", "-R"]),
            Request::Dump => return programs.command("svnadmin"),
        };
        let mut command = programs.command(program);
        command.args(first).arg("--non-interactive").arg("--config-dir");
        command.arg(repositories.folder.join("no-configuration"));
        command
    }

    /// The whole command for a request to the repository at `url`.
    pub(crate) fn command(
        &self,
        programs: &Programs,
        request: Request,
        url: &str,
        repositories: &Repositories<'_>,
    ) -> Command {
        let mut command = self.client(programs, request, repositories);
        match request {
            Request::Log | Request::NullLog => command.arg(url),
            Request::NullExport | Request::NullList => command.arg(format!("{url}{}", self.tree)),
            Request::NullBlame => command.arg(format!("{url}{}", self.file)),
            Request::Export => {
                let target = repositories.folder.join("export");
                let _ = std::fs::remove_dir_all(&target);
                command.arg(format!("{url}{}", self.tree)).arg(target)
            }
            Request::Dump => command.args(["dump", "-q"]).arg(url),
        };
        command
    }
}

/// The program that a request needs.
pub(crate) const fn program_of(request: Request) -> &'static str {
    match request {
        Request::Log | Request::Export => "svn",
        Request::Dump => "svnadmin",
        _ => "svnbench",
    }
}

/// The cache of a client or of `svnadmin`, in MB: what `-M` is for servers.
const fn own_cache(caches: Caches) -> Option<&'static str> {
    match caches {
        Caches::Slow => None,
        Caches::Medium => Some("256"),
        Caches::Fast => Some("1024"),
    }
}

struct MatrixRun<'a> {
    plan: &'a Plan,
    selection: Selection,
    results: Results,
}

/// One sequence of states, all of the same request to the same repository.
#[derive(Clone, Copy)]
struct MatrixCell {
    request: Request,
    access: Access,
    rules: Rules,
    caches: Caches,
    format: Format,
    packing: Packing,
    system: System,
    run: u32,
}

impl MatrixCell {
    const fn cell(self, state: State) -> Cell {
        let Self { request, access, rules, caches, format, packing, system, .. } = self;
        Cell { request, access, rules, caches, format, packing, state, system }
    }
}

impl MatrixRun<'_> {
    /// The description of a repository.
    fn about(&mut self) {
        let plan = self.plan;
        let about = &mut self.results.about;
        about.push(("history".to_owned(), plan.source.about()));
        about.push((
            "requests".to_owned(),
            format!("export, list {}; blame {}", plan.tree, plan.file),
        ));
        about.extend(machine::about());
        for system in plan.systems() {
            if let Some(programs) = plan.programs(system) {
                about.push((system.title().to_owned(), programs.version()));
            }
        }
        about.push(("clients of servers".to_owned(), plan.client.title().to_owned()));
        for caches in &plan.selection.caches {
            about.push((caches.title().to_owned(), server_options(*caches).join(" ")));
            if plan.selection.accesses.contains(&Access::Http) {
                let (httpd, ours) = (http::directives(*caches), http::settings(*caches));
                let both = format!("{}; Sapwood: {}", httpd.join(", "), ours.join(", "));
                about.push((format!("{} of http:", caches.title()), both));
            }
        }
        about.push(("runs of each".to_owned(), plan.repeat.to_string()));
    }

    fn note(&mut self, note: String) {
        if !self.results.notes.contains(&note) {
            self.results.notes.push(note);
        }
    }

    /// Leaves out what cannot be measured, and says so.
    fn narrow(&mut self) {
        let states = &mut self.selection.states;
        if states.contains(&State::Cold)
            && let Err(error) = machine::drop_caches()
        {
            states.retain(|state| *state != State::Cold);
            self.note(format!(
                "The system's caches cannot be dropped here ({error}): nothing cold was measured."
            ));
        }
        self.selection.systems = self.plan.systems();
        let hottest = self.selection.states.contains(&State::HotServer);
        for access in self.selection.accesses.clone().into_iter().filter(|own| !own.has_server()) {
            if hottest {
                self.note(format!("There is no server to be hot over {}.", access.title()));
            }
        }
        if self.selection.requests.contains(&Request::Dump) {
            self.note("svnadmin dump opens the repository itself: look below file:.".to_owned());
        }
        if self.plan.repeat < 3 {
            self.note("Fewer than three runs: there is no telling what varies.".to_owned());
        }
    }

    /// All sequences, in the order of the invariant.
    fn everything(
        &mut self,
        repositories: &Repositories<'_>,
        say: &mut Say<'_>,
        cancel: &CancelToken,
    ) {
        let places = self.places();
        self.measure(&places, repositories, say, cancel);
        self.completeness(&places);
    }

    /// Says which cells have fewer runs than they should have, or that there are none.
    fn completeness(&mut self, places: &[MatrixCell]) {
        let mut runs: BTreeMap<Cell, u32> = BTreeMap::new();
        for place in places {
            for state in self.selection.states.iter().copied() {
                if place.access.has_server() || state != State::HotServer {
                    runs.entry(place.cell(state)).or_default();
                }
            }
        }
        for sample in &self.results.samples {
            if let Some(count) = runs.get_mut(&sample.cell) {
                count.tally(1);
            }
        }
        let mut short: Vec<String> = runs
            .iter()
            .filter(|(_, count)| **count < self.plan.repeat)
            .map(|(cell, count)| format!("{} ({count} of {})", cell.words(), self.plan.repeat))
            .collect();
        let figures = self.results.samples.len();
        self.results.about.push((
            "complete".to_owned(),
            format!("{} of {} cells, {figures} runs", runs.len().minus(short.len()), runs.len()),
        ));
        if !short.is_empty() {
            let more = short.len().saturating_sub(MOST_NAMED);
            short.truncate(MOST_NAMED);
            if more > 0 {
                short.push(format!("and {more} more"));
            }
            self.note(format!("Not all runs were made of: {}.", short.join("; ")));
        }
    }

    /// Measures all sequences.
    fn measure(
        &mut self,
        places: &[MatrixCell],
        repositories: &Repositories<'_>,
        say: &mut Say<'_>,
        cancel: &CancelToken,
    ) {
        let begun = Instant::now();
        for (at, place) in places.iter().enumerate() {
            if cancel.is_cancelled() {
                self.note("It was interrupted: not all of it was measured.".to_owned());
                return;
            }
            if place.run == 1 || at == 0 {
                let share = crate::float(places.len().minus(at)) / crate::float(at.max(1));
                let left = begun.elapsed().as_secs_f64() * share / 60.0;
                let left =
                    if at == 0 { String::new() } else { format!(", {left:.0} minutes to go") };
                say(&format!(
                    "{}/{} {}, {}, {}, {}, {} {} ({}){left}",
                    at.plus(1),
                    places.len(),
                    place.request.title(),
                    place.access.title(),
                    place.rules.title(),
                    place.caches.title(),
                    place.format.title(),
                    place.packing.title(),
                    place.system.title(),
                ));
            }
            if let Err(error) = self.sequence(repositories, *place)
                && !error.is_cancelled()
            {
                self.note(format!(
                    "{}, {}, {} {}, {}: {}",
                    place.request.title(),
                    place.access.title(),
                    place.format.title(),
                    place.packing.title(),
                    place.system.title(),
                    error.message()
                ));
            }
        }
    }

    fn places(&mut self) -> Vec<MatrixCell> {
        let chosen = self.selection.clone();
        let mut out = Vec::new();
        for request in chosen.requests.iter().copied() {
            for caches in chosen.caches.iter().copied() {
                for (access, rules) in ways(&chosen) {
                    for run in 1..=self.plan.repeat {
                        for format in chosen.formats.iter().copied() {
                            for packing in chosen.packings.iter().copied() {
                                let mut systems = chosen.systems.clone();
                                if run % 2 == 0 {
                                    systems.reverse();
                                }
                                out.extend(systems.into_iter().map(|system| MatrixCell {
                                    request,
                                    access,
                                    rules,
                                    caches,
                                    format,
                                    packing,
                                    system,
                                    run,
                                }));
                            }
                        }
                    }
                }
            }
        }
        out.retain(|place| self.possible(place));
        out
    }

    /// Whether there is such a cell; a note says what is missing.
    fn possible(&mut self, place: &MatrixCell) -> bool {
        let served = place.access != Access::File;
        if served && place.request == Request::Dump {
            return false;
        }
        if place.access == Access::Http && place.system == System::Reference && !http::has_httpd() {
            self.note("There is no httpd with mod_dav_svn: http: is Sapwood's only.".to_owned());
            return false;
        }
        let whose = if served { self.plan.client } else { place.system };
        let missing = match self.plan.programs(whose) {
            Some(programs) => programs::missing(programs, program_of(place.request)),
            None => Some(format!("there are no programs of {}", whose.title())),
        };
        match missing {
            None => true,
            Some(what) => {
                let (request, access) = (place.request.title(), place.access.title());
                self.note(format!("{request} over {access} is left out: {what}."));
                false
            }
        }
    }

    /// Measures one request in all states that are wanted.
    fn sequence(&mut self, repositories: &Repositories<'_>, place: MatrixCell) -> SvnResult<()> {
        let Some(programs) = self.plan.programs(place.system) else { return Ok(()) };
        let wants = |state| self.selection.states.contains(&state);
        let (cold, hot, hottest) =
            (wants(State::Cold), wants(State::HotOs), wants(State::HotServer));
        if !place.access.has_server() {
            if cold {
                drop_caches()?;
                let usage = self.alone(repositories, place, programs)?;
                self.keep(place, State::Cold, usage, None);
            } else if hot && place.run == 1 {
                self.alone(repositories, place, programs)?;
            }
            if hot {
                let usage = self.alone(repositories, place, programs)?;
                self.keep(place, State::HotOs, usage, None);
            }
            return Ok(());
        }
        let Some(client) = self.plan.programs(self.plan.client) else { return Ok(()) };
        let Plan { tree, file, .. } = self.plan;
        let path = repositories.path(place.format, place.packing);
        let rules = rules::files(place.rules, &path, tree, file)?;
        let mut options = server_options(place.caches);
        if let Some(rules) = &rules {
            options.extend(["--config-file".to_owned(), rules.config.display().to_string()]);
        }
        let authz = rules.as_ref().map(|rules| rules.authz.as_path());
        let folder = &repositories.folder;
        let login = match place.access {
            Access::SvnSasl => Some(SaslLogin::prepare(folder)?),
            _ => None,
        };
        let start = || match (place.access, &login) {
            (Access::Http, _) => Server::start_http(programs, folder, (place.caches, authz)),
            (_, Some(login)) => Server::start_sasl(programs, folder, &options, login),
            (_, None) => Server::start(programs, folder, &options),
        };
        if cold {
            let server = start()?;
            drop_caches()?;
            self.served(repositories, place, client, &server, Some(State::Cold))?;
        } else if place.run == 1 {
            self.served(repositories, place, client, &start()?, None)?;
        }
        if hot || hottest {
            let server = start()?;
            self.served(repositories, place, client, &server, hot.then_some(State::HotOs))?;
            if hottest {
                self.served(repositories, place, client, &server, None)?;
                self.served(repositories, place, client, &server, Some(State::HotServer))?;
            }
        }
        Ok(())
    }

    /// A request where no server goes on after it: in the client's own process, or through a tunnel.
    fn alone(
        &self,
        repositories: &Repositories<'_>,
        place: MatrixCell,
        programs: &Programs,
    ) -> SvnResult<Usage> {
        let client = match place.access {
            Access::SvnSsh => self.plan.programs(self.plan.client),
            _ => return self.local(repositories, place, programs),
        };
        let (folder, options) = (&repositories.folder, server_options(place.caches));
        let name = Repositories::name(place.format, place.packing);
        let (url, client) = (format!("svn+ssh://bench/{name}"), client.unwrap_or(programs));
        let mut command = self.plan.command(client, place.request, &url, repositories);
        command.env("SVN_SSH", svn_ways::tunnel(programs, folder, &options)?);
        programs::measure(&mut command, &folder.join("complaints"))
    }

    /// A request in the client's own process.
    fn local(
        &self,
        repositories: &Repositories<'_>,
        place: MatrixCell,
        programs: &Programs,
    ) -> SvnResult<Usage> {
        let path = repositories.path(place.format, place.packing);
        let url = match place.request {
            Request::Dump => path.display().to_string(),
            _ => format!("file://{}", sapwood_core::uri::encode(&path.to_string_lossy())),
        };
        let mut command = self.plan.command(programs, place.request, &url, repositories);
        match (own_cache(place.caches), place.request) {
            (None, _) => {}
            (Some(size), Request::Dump) => drop(command.args(["-M", size])),
            (Some(size), _) => {
                let option = format!("config:miscellany:memory-cache-size={size}");
                command.args(["--config-option", &option]);
            }
        }
        programs::measure(&mut command, &repositories.folder.join("complaints"))
    }

    /// A request to a server; with no state it only warms.
    fn served(
        &mut self,
        repositories: &Repositories<'_>,
        place: MatrixCell,
        client: &Programs,
        server: &Server,
        state: Option<State>,
    ) -> SvnResult<()> {
        let url = server.url(&Repositories::name(place.format, place.packing));
        let mut command = self.plan.command(client, place.request, &url, repositories);
        if place.access == Access::SvnSasl {
            SaslLogin::log_in(&mut command);
        }
        let (cpu, reads) = (server.counters.cpu(), server.counters.reads());
        let usage = programs::measure(&mut command, &repositories.folder.join("complaints"))?;
        let used = ServerUsage {
            cpu: server.counters.cpu().zip(cpu).map(|(after, before)| after - before),
            reads: server.counters.reads().zip(reads).map(|(a, b)| a.saturating_sub(b)),
            peak_mib: server.counters.peak_mib(),
        };
        let clock = ("processor time".to_owned(), server.counters.clock().about().to_owned());
        if !self.results.about.contains(&clock) {
            self.results.about.push(clock);
        }
        if let Some(state) = state {
            self.keep(place, state, usage, Some(used));
        }
        Ok(())
    }

    fn keep(&mut self, place: MatrixCell, state: State, usage: Usage, server: Option<ServerUsage>) {
        self.results.samples.push(Sample {
            cell: place.cell(state),
            run: place.run,
            wall: usage.wall,
            client_cpu: usage.cpu,
            server_cpu: server.and_then(|s| s.cpu),
            server_reads: server.and_then(|s| s.reads),
            peak_mib: server.map_or(Some(usage.peak_mib), |s| s.peak_mib),
        });
    }
}

/// The ways to a repository: with rules only where they are measured; elsewhere there is nothing to choose.
fn ways(chosen: &Selection) -> Vec<(Access, Rules)> {
    let mut ways = Vec::new();
    for access in chosen.accesses.iter().copied() {
        match access.has_rules() {
            true => ways.extend(chosen.rules.iter().map(|rules| (access, *rules))),
            false => ways.push((access, Rules::Open)),
        }
    }
    ways
}

/// The server's usage for a request.
#[derive(Clone, Copy)]
struct ServerUsage {
    cpu: Option<f64>,
    reads: Option<u64>,
    peak_mib: Option<f64>,
}

fn drop_caches() -> SvnResult<()> {
    machine::drop_caches().map_err(|e| SvnError::io(&e, "Can't drop the system's caches"))
}
