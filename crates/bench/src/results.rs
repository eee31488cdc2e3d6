//! The results: one [`Sample`] a run of a request, and the facts that are needed to judge them.
//! Kept as JSON, so that parts of a matrix that were measured one after the other make one report.

use serde::{Deserialize, Serialize};

use crate::axes::{Access, Axis as _, Caches, Format, Packing, Request, Rules, State, System};

/// One run of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Where in the matrix.
    #[serde(flatten)]
    pub cell: Cell,
    /// Which repetition, from 1.
    pub run: u32,
    /// Seconds from the client's start to its end.
    pub wall: f64,
    /// Seconds of processor time, user and system, that the client took.
    pub client_cpu: f64,
    /// The same of the server meanwhile, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<f64>,
    /// Read calls of the server meanwhile, where the system counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_reads: Option<u64>,
    /// The peak memory of the server (without a server: of the client), in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_mib: Option<f64>,
}

/// A place in the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the axes are explained where they are")]
pub struct Cell {
    pub request: Request,
    pub access: Access,
    #[serde(default)]
    pub rules: Rules,
    pub caches: Caches,
    pub format: Format,
    pub packing: Packing,
    pub state: State,
    pub system: System,
}

impl Cell {
    /// The place in words.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { request, access, rules, caches, format, packing, state, system } = self;
        [
            request.title(),
            access.title(),
            rules.title(),
            caches.title(),
            format.title(),
            packing.title(),
            state.title(),
            system.title(),
        ]
        .join(" ")
    }
}

/// Results, with what one has to know to judge them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// About the machine, the programs and the repositories: name and value, in order.
    pub about: Vec<(String, String)>,
    /// The cells that were left out, and why; other warnings.
    pub notes: Vec<String>,
    /// The runs, in the order they were made.
    pub samples: Vec<Sample>,
    /// Runs of the heat-up test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heatup: Vec<HeatSample>,
}

/// One run of the heat-up test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatSample {
    /// The server's system.
    pub system: System,
    /// The request.
    pub request: Request,
    /// The cache's size, as a multiple of what is needed.
    pub factor: f64,
    /// The same in MB, as `-M` takes it.
    pub cache_mb: u64,
    /// Which run on the same server, from 1.
    pub run: u32,
    /// Seconds from the client's start to its end.
    pub wall: f64,
    /// Seconds of the server's processor time.
    pub server_cpu: f64,
    /// Read calls of the server.
    pub server_reads: Option<u64>,
}

impl Results {
    /// Adds the results of another part of the same matrix.
    pub fn add(&mut self, other: Self) {
        for (name, value) in other.about {
            match self.about.iter_mut().find(|(n, _)| *n == name) {
                None => self.about.push((name, value)),
                Some((_, present)) if present.split("; ").any(|p| p == value) => {}
                Some((_, present)) => *present = format!("{present}; {value}"),
            }
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.samples.extend(other.samples);
        self.heatup.extend(other.heatup);
    }

    /// As JSON.
    ///
    /// # Errors
    /// For numbers that JSON has no form for.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads what [`Results::to_json`] wrote.
    ///
    /// # Errors
    /// When it is something else.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The runs as comma separated values, one a line below a line of names.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut out = String::from(
            "request,access,rules,caches,format,packing,state,system,run,wall,client_cpu,server_cpu,\
             server_reads,peak_mib\n",
        );
        for sample in &self.samples {
            let Cell { request, access, rules, caches, format, packing, state, system } =
                sample.cell;
            let names = [
                request.name(),
                access.name(),
                rules.name(),
                caches.name(),
                format.name(),
                packing.name(),
                state.name(),
                system.name(),
            ];
            let number = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.6}"));
            let reads = sample.server_reads.map_or(String::new(), |n| n.to_string());
            out.push_str(&format!(
                "{},{},{:.6},{:.6},{},{reads},{}\n",
                names.join(","),
                sample.run,
                sample.wall,
                sample.client_cpu,
                number(sample.server_cpu),
                number(sample.peak_mib),
            ));
        }
        out
    }
}
