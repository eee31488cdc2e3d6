//! The heat-up of a server's cache: the same request fifteen times to one server, with a cache that
//! is just as large as what is needed, and with one that is 1.7 times as large.
//!
//! A cache keeps its promise when the third run is as fast as the fifteenth, and when it does so
//! at 1.0. What is needed is found by measuring: how much a server with plenty of cache grows by
//! two such requests.

use std::path::Path;

use sapwood_core::{CancelToken, SvnResult};

use crate::axes::{Axis as _, Format, Packing, Request, System};
use crate::machine;
use crate::matrix::{Plan, program_of, repositories};
use crate::programs::{self, Programs};
use crate::repositories::{Repositories, Say};
use crate::results::{HeatSample, Results};
use crate::server::Server;

/// How often the request is made to each server.
pub const RUNS: u32 = 15;
/// The caches' sizes, as multiples of what is needed.
pub const FACTORS: [f64; 2] = [1.0, 1.7];
/// Plenty of cache, in MB, if the machine has twice that.
const PLENTY: u64 = 2_048;

/// Measures the heat-up with the requests, the systems, the first format and the last packing of
/// `plan`.
///
/// # Errors
/// When the repository cannot be made or a request fails.
pub fn run(plan: &Plan, say: &mut Say<'_>, cancel: &CancelToken) -> SvnResult<Results> {
    let repositories = repositories(plan, cancel)?;
    let format = plan.selection.formats.first().copied().unwrap_or(Format::F8);
    let packing = plan.selection.packings.last().copied().unwrap_or(Packing::Packed);
    repositories.provide(format, packing, say)?;
    repositories.wait_until_idle();
    let mut results = Results::default();
    results.about.push(("history".to_owned(), plan.source.about()));
    results.about.extend(machine::about());
    let client = plan.programs(plan.client).unwrap_or(&plan.sapwood);
    results.about.push(("repository".to_owned(), Repositories::name(format, packing)));
    for request in plan.selection.requests.iter().copied().filter(|r| *r != Request::Dump) {
        if let Some(what) = programs::missing(client, program_of(request)) {
            results.notes.push(format!("{} is left out: {what}.", request.title()));
            continue;
        }
        for system in plan.systems() {
            let Some(programs) = plan.programs(system) else { continue };
            let asked = HeatupRequest {
                plan,
                repositories: &repositories,
                client,
                programs,
                request,
                format,
                packing,
            };
            let needed = asked.needed()?;
            say(&format!("{}, {}: {needed} MB are needed", request.title(), system.title()));
            for factor in FACTORS {
                let cache_mb = times(needed, factor);
                let server = asked.start(cache_mb)?;
                for run in 1..=RUNS {
                    if cancel.is_cancelled() {
                        results.notes.push("It was interrupted.".to_owned());
                        return Ok(results);
                    }
                    let sample = asked.sample(&server, factor, cache_mb, run, system)?;
                    results.heatup.push(sample);
                }
            }
        }
    }
    Ok(results)
}

/// One request to one repository.
struct HeatupRequest<'a> {
    plan: &'a Plan,
    repositories: &'a Repositories<'a>,
    client: &'a Programs,
    programs: &'a Programs,
    request: Request,
    format: Format,
    packing: Packing,
}

impl HeatupRequest<'_> {
    /// A server with everything cached and enough memory for it.
    fn start(&self, cache_mb: u64) -> SvnResult<Server> {
        let options = format!(
            "-T -M {cache_mb} -c 0 --cache-revprops yes --cache-fulltexts yes --cache-txdeltas yes"
        );
        let options: Vec<String> = options.split(' ').map(str::to_owned).collect();
        Server::start(self.programs, &self.repositories.folder, &options)
    }

    fn complaints(&self) -> std::path::PathBuf {
        Path::new(&self.repositories.folder).join("complaints")
    }

    fn ask(&self, server: &Server) -> SvnResult<programs::Usage> {
        let url = server.url(&Repositories::name(self.format, self.packing));
        let mut command = self.plan.command(self.client, self.request, &url, self.repositories);
        programs::measure(&mut command, &self.complaints())
    }

    /// The cache that the request fills, in MB, at least one.
    fn needed(&self) -> SvnResult<u64> {
        let server = self.start(PLENTY.min(machine::half_of_memory()))?;
        let before = server.counters.resident_mib().unwrap_or(0.0);
        self.ask(&server)?;
        self.ask(&server)?;
        let after = server.counters.resident_mib().unwrap_or(0.0);
        Ok(times(1, (after - before).max(1.0)))
    }

    fn sample(
        &self,
        server: &Server,
        factor: f64,
        cache_mb: u64,
        run: u32,
        system: System,
    ) -> SvnResult<HeatSample> {
        let (cpu, reads) = (server.counters.cpu(), server.counters.reads());
        let usage = self.ask(server)?;
        let cpu_after = server.counters.cpu();
        Ok(HeatSample {
            system,
            request: self.request,
            factor,
            cache_mb,
            run,
            wall: usage.wall,
            server_cpu: cpu_after.zip(cpu).map_or(0.0, |(after, before)| after - before),
            server_reads: server.counters.reads().zip(reads).map(|(a, b)| a.saturating_sub(b)),
        })
    }
}

/// A size times a factor, rounded up.
fn times(size: u64, factor: f64) -> u64 {
    let product = (f64::from(u32::try_from(size).unwrap_or(u32::MAX)) * factor).ceil();
    // There is no conversion without `as`, but there is one by way of text.
    format!("{product:.0}").parse().unwrap_or(size).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(times(100, 1.7), 170);
        assert_eq!(times(3, 1.1), 4);
        assert_eq!(times(1, 0.2), 1);
    }
}
