//! SIGHUP: the configuration is read again, with all that it names, and used for all requests that come from then on.
//!
//! Invariant: a configuration with an error changes nothing, and what is wrong with it is in the log and on standard error, with
//! file and line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_server::ServerState;
use sapwood_server::common::current::Current;
use sapwood_server::dav::Http;
use sapwood_server::operation_log::LogForm;

use super::https::tls_settings;
use super::lines::Problem;
use super::options::{Options, parse};
use super::together::take_config;
use super::{ServePlan, acme, notifications, prepare};
use crate::report;

/// What reads the configuration again.
pub(super) struct Reload {
    args: Vec<OsString>,
    server: Arc<Current<ServerState>>,
    http: Arc<Http>,
    /// What the server was started with.
    started: Options,
    log_file: Mutex<(Option<PathBuf>, LogForm)>,
}

impl Reload {
    /// `args` is the command line, and `options` what it and the configuration said at the start.
    pub(super) fn new(
        args: Vec<OsString>,
        options: Options,
        server: &Arc<Current<ServerState>>,
        http: &Arc<Http>,
    ) -> Self {
        let (server, http) = (Arc::clone(server), Arc::clone(http));
        let log_file = Mutex::new((options.log_file.clone(), options.file.operation_form()));
        Self { args, server, http, started: options, log_file }
    }

    /// Reads everything again.
    pub(super) fn run(&self) {
        // Log files first: the lines that follow are for the new ones.
        if let Err(error) = self.server.get().reload() {
            self.say(&error, false);
        }
        let is_used = match self.renew() {
            Ok(is_used) => is_used,
            Err(error) => {
                self.say(&error, false);
                false
            }
        };
        self.server.get().metrics.reloaded(is_used);
        if !is_used {
            let text = "The new configuration is not used: the server goes on with the old one";
            self.say(&SvnError::new(ErrorCode::BAD_CONFIG_VALUE, text), false);
        }
    }

    /// Whether a new configuration is in use.
    fn renew(&self) -> SvnResult<bool> {
        let failed = |words: String| SvnError::new(ErrorCode::BAD_CONFIG_VALUE, words);
        let given = parse(self.args.clone()).map_err(failed)?;
        if given.config.is_none() {
            return Ok(true);
        }
        let (options, mut problems) = take_config(given)?;
        let is_sound = problems.iter().all(|problem| problem.is_warning);
        if is_sound {
            problems.extend(at_next_start(&self.started, &options));
        }
        for problem in &problems {
            let text = problem.text(&options.file.name, &options.file.lines);
            let error = SvnError::new(ErrorCode::BAD_CONFIG_VALUE, text);
            self.say(&error, problem.is_warning);
        }
        if is_sound {
            self.replace(&options)?;
        }
        Ok(is_sound)
    }

    fn replace(&self, options: &Options) -> SvnResult<()> {
        let old = self.server.get();
        let ServePlan { mut settings, mut http, .. } = prepare(options)?;
        // Where there is no listener for it, it begins with the next start.
        http.locations_only |= self.started.only_locations();
        settings.limits = old.settings.limits;
        let mut log_file = self.log_file.lock();
        let log = match (&options.log_file, &*log_file) {
            (Some(new), (Some(before), form))
                if new == before && *form == options.file.operation_form() =>
            {
                old.log.clone()
            }
            _ => options.open_log()?.map(Arc::new),
        };
        let server = Arc::new(old.with(settings, log));
        if let Some(file) = &server.settings.config_file {
            server.files.server(file, true)?;
        }
        let state = self.http.with(&server, http)?;
        let tls = tls_settings(options, &options.file);
        self.http.renew(state, tls.map(|tls| (tls, acme::report(&self.server))))?;
        let targets = options.file.targets()?;
        server.set_notifications(targets, notifications::report(&server))?;
        if !server.has_servers_of(&old) {
            server.watch_servers();
        }
        self.server.replace(server);
        *log_file = (options.log_file.clone(), options.file.operation_form());
        Ok(())
    }

    /// To the operational log and to standard error, which the supervisor keeps.
    fn say(&self, error: &SvnError, is_warning: bool) {
        if let Some(log) = &self.server.get().log {
            log.error(Default::default(), error, is_warning);
        }
        let kind = if is_warning { "warning: " } else { "" };
        report::stderr(&format!("sapwood serve: {kind}{}\n", error.message()));
    }
}

/// Settings that differ from those in use, and that only a start changes.
fn at_next_start(old: &Options, new: &Options) -> Vec<Problem> {
    let differ = [
        ("listen", old.listen != new.listen),
        ("svn-port", old.port != new.port),
        ("http-port", old.http_port != new.http_port),
        ("https-port", old.https_port != new.https_port),
        ("tls-certificate", old.speaks_https() != new.speaks_https()),
        ("metrics-listen", old.metrics != new.metrics),
        ("cache-megabytes", old.file.cache_megabytes != new.file.cache_megabytes),
        ("path", old.only_locations() != new.only_locations()),
        ("servers", old.servers_address() != new.servers_address()),
    ];
    let differ = differ.into_iter().filter(|(_, differs)| *differs);
    differ
        .map(|(name, _)| Problem::warning(name, format!("'{name}' changes at the next start only")))
        .collect()
}
