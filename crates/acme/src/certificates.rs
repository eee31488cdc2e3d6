//! The certificates of a server: what it shows to its clients, and what it answers to the authority.
//!
//! Invariant: a name shows the newest certificate of its file that could be used.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;

use crate::answers::Answers;
use crate::certificate::LoadedCertificate;
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::order::Orders;
use crate::settings::Settings;
use sapwood_core::WrongSetting;

/// The certificates of a server. [`Certificates::keep`] orders and renews them.
#[derive(Debug)]
pub struct Certificates {
    pub(crate) orders: Arc<Orders>,
    names: Mutex<BTreeMap<String, Name>>,
    question: Arc<ServerConfig>,
    /// Rung when the folder should be looked at now.
    pub(crate) bell: Notify,
}

/// What is known of a name.
#[derive(Debug, Default)]
struct Name {
    kept: Option<LoadedCertificate>,
    /// When the file was written that was looked at last.
    stamp: Option<SystemTime>,
    is_failing: bool,
}

/// How the names stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// When the first of the certificates ends, in seconds since 1970.
    pub end: Option<i64>,
    /// Names whose last order failed.
    pub failing: usize,
}

impl Certificates {
    /// Those of the settings' folder, as far as they are there. The folder is made.
    ///
    /// # Errors
    /// The setting that cannot be used.
    pub fn new(settings: Settings) -> Result<Arc<Self>, WrongSetting> {
        let tls = settings.client()?;
        let folder = Folder::open(&settings.folder).map_err(|e| WrongSetting::new("folder", e))?;
        let answers = Arc::new(Answers::default());
        let question = answers.config().map_err(|e| WrongSetting::new("challenge", e))?;
        let names = settings.domains.iter().map(|name| (name.clone(), Name::default())).collect();
        let own = Self {
            orders: Arc::new(Orders { settings, tls, folder, answers }),
            names: Mutex::new(names),
            question: Arc::new(question),
            bell: Notify::new(),
        };
        own.read_files(&mut |_, _| {});
        Ok(Arc::new(own))
    }

    /// What they were made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.orders.settings
    }

    /// The text that the authority waits for at a path of http, if it does.
    #[must_use]
    pub fn http_answer(&self, path: &str) -> Option<String> {
        self.orders.answers.text(path)
    }

    /// Whether connections of TLS may be the authority's.
    #[must_use]
    pub fn are_asked_for(&self) -> bool {
        self.orders.answers.are_shown()
    }

    /// How a connection is answered that is the authority's: no request follows.
    #[must_use]
    pub fn question(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        Answers::is_question(hello).then(|| Arc::clone(&self.question))
    }

    /// How the names stand.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let names = self.names.lock();
        let ends = names.values().filter_map(|name| Some(name.kept.as_ref()?.ends));
        let failing = names.values().filter(|name| name.is_failing).count();
        Summary { end: ends.min(), failing }
    }

    /// Has the folder looked at now: an order that failed a while ago is made again.
    pub fn look_now(&self) {
        self.bell.notify_one();
    }

    /// Reads the files that have changed: another server may have ordered. `wrong` gets what cannot be used, with its name;
    /// then the certificate before stays.
    pub(crate) fn read_files(&self, wrong: &mut dyn FnMut(&str, Error)) {
        let folder = &self.orders.folder;
        for domain in &self.settings().domains {
            let stamp = folder.stamp(domain);
            let is_same = self.names.lock().get(domain).is_some_and(|name| name.stamp == stamp);
            if stamp.is_none() || is_same {
                continue;
            }
            let path = folder.certificate_path(domain);
            let parsed = folder.certificate(domain).and_then(|bytes| {
                let malformed = |why| Error::Malformed { path, why };
                bytes
                    .map(|pem| LoadedCertificate::of_pem(&pem, domain).map_err(malformed))
                    .transpose()
            });
            let mut names = self.names.lock();
            let Some(name) = names.get_mut(domain) else { continue };
            name.stamp = stamp;
            match parsed {
                Ok(Some(kept)) => name.kept = Some(kept),
                Ok(None) => {}
                Err(error) => {
                    drop(names);
                    wrong(domain, error);
                }
            }
        }
    }

    /// From when until when the certificate of a name is valid.
    pub(crate) fn times(&self, domain: &str) -> Option<(i64, i64)> {
        let names = self.names.lock();
        let kept = names.get(domain)?.kept.as_ref()?;
        Some((kept.begins, kept.ends))
    }

    /// Shows a new certificate, or has none: the order failed.
    pub(crate) fn ordered(&self, domain: &str, kept: Option<LoadedCertificate>) {
        let stamp = self.orders.folder.stamp(domain);
        if let Some(name) = self.names.lock().get_mut(domain) {
            name.is_failing = kept.is_none();
            if kept.is_some() {
                (name.kept, name.stamp) = (kept, stamp);
            }
        }
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let names = self.names.lock();
        let of = |name: &str| Some(Arc::clone(&names.get(name)?.kept.as_ref()?.key));
        let asked = hello.server_name().map(str::to_ascii_lowercase);
        let first = || self.settings().domains.iter().find_map(|name| of(name));
        asked.and_then(|name| of(&name)).or_else(first)
    }
}
