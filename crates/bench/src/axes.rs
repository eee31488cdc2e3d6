//! The axes of the matrix: what is varied, and the names that select and show it.
//!
//! Invariant: a name means the same on no two axes, so a list of names (`--only f8,packed,log`) says
//! what is wanted of each axis.

use serde::{Deserialize, Serialize};

/// The values of one axis.
pub trait Axis: Copy + Eq + 'static {
    /// All of them, in the order they are shown.
    const ALL: &'static [Self];
    /// The name that selects this one.
    fn name(self) -> &'static str;
    /// The label in reports.
    fn title(self) -> &'static str {
        self.name()
    }
}

macro_rules! axis {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal, $title:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+ }

        impl Axis for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];
            fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
            fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }
        }
    };
}

axis! {
    /// The system whose programs run.
    System {
        /// Ours.
        Sapwood = "sapwood", "Sapwood";
        /// Those that ours are measured against.
        Reference = "reference", "reference";
    }
}

axis! {
    /// How a repository is stored.
    Format {
        /// FSFS format 6, of Subversion 1.8.
        F6 = "f6", "format 6";
        /// FSFS format 7, of Subversion 1.9.
        F7 = "f7", "format 7";
        /// FSFS format 8, of Subversion 1.10.
        F8 = "f8", "format 8";
        /// FSX, the reference's experiment.
        Fsx = "fsx", "FSX";
    }
}

axis! {
    /// Whether complete shards are packed.
    Packing {
        /// They are not.
        Unpacked = "unpacked", "not packed";
        /// They are.
        Packed = "packed", "packed";
    }
}

axis! {
    /// The way to the repository.
    Access {
        /// `svn://`, by `svnserve`.
        Svn = "svn", "svn:";
        /// The same, after a login by SASL, which encrypts the connection. (Only where it is named)
        SvnSasl = "svn-sasl", "svn: with SASL";
        /// `svn+ssh://`, by a local command in place of ssh. (Only where it is named)
        SvnSsh = "svn-ssh", "svn+ssh:";
        /// `file:`, in the client's process.
        File = "file", "file:";
        /// `http:`.
        Http = "http", "http:";
    }
}

impl Access {
    /// Whether there is a server that goes on between two requests.
    #[must_use]
    pub const fn has_server(self) -> bool {
        !matches!(self, Self::File | Self::SvnSsh)
    }

    /// Whether servers apply path rules on this way, too.
    #[must_use]
    pub const fn has_rules(self) -> bool {
        matches!(self, Self::Svn | Self::Http)
    }
}

axis! {
    /// The kind of path rules. Only servers have any.
    Rules {
        /// None.
        Open = "open", "no path rules";
        /// Some hundred, and from the reader a part is hidden.
        Authz = "authz", "path rules";
    }
}

axis! {
    /// How the caches are set up: the three configurations of the measurements of 2014.
    Caches {
        /// The defaults.
        Slow = "slow", "slow caches";
        /// 256 MB.
        Medium = "medium", "medium caches";
        /// 1 GB, everything cached, nothing compressed.
        Fast = "fast", "fast caches";
    }
}

axis! {
    /// The caches that are warm when a request comes.
    State {
        /// Nothing: the system's caches were dropped and the server is new.
        Cold = "cold", "cold";
        /// The system's caches; the server is new.
        HotOs = "hot-os", "hot OS";
        /// The server's too: it has had the same request twice.
        HotServer = "hot-server", "hot server";
    }
}

axis! {
    /// The kind of request.
    Request {
        /// `svn log -v`.
        Log = "log", "log -v";
        /// `svnbench null-log -v`.
        NullLog = "null-log", "null-log -v";
        /// `svn export`.
        Export = "export", "export";
        /// `svnbench null-export`.
        NullExport = "null-export", "null-export";
        /// `svnbench null-blame`.
        NullBlame = "null-blame", "null-blame";
        /// `svnbench null-list -R`.
        NullList = "null-list", "null-list -R";
        /// `svnadmin dump`.
        Dump = "dump", "dump";
    }
}

#[allow(clippy::derivable_impls, reason = "the macro derives the same for all axes")]
impl Default for Rules {
    fn default() -> Self {
        Self::Open
    }
}

/// The selected values of each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the axes are explained above")]
pub struct Selection {
    pub systems: Vec<System>,
    pub formats: Vec<Format>,
    pub packings: Vec<Packing>,
    pub accesses: Vec<Access>,
    pub rules: Vec<Rules>,
    pub caches: Vec<Caches>,
    pub states: Vec<State>,
    pub requests: Vec<Request>,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            systems: System::ALL.to_vec(),
            formats: Format::ALL.to_vec(),
            packings: Packing::ALL.to_vec(),
            accesses: vec![Access::Svn, Access::File, Access::Http],
            rules: Rules::ALL.to_vec(),
            caches: Caches::ALL.to_vec(),
            states: State::ALL.to_vec(),
            requests: Request::ALL.to_vec(),
        }
    }
}

impl Selection {
    /// The cells that remain when only some values of some axes are selected; the other axes stay as they are.
    ///
    /// # Errors
    /// The name that is on no axis.
    pub fn only<'a>(mut self, names: &[&'a str]) -> Result<Self, &'a str> {
        let mut known = vec![false; names.len()];
        narrow(&mut self.systems, names, &mut known);
        narrow(&mut self.formats, names, &mut known);
        narrow(&mut self.packings, names, &mut known);
        narrow(&mut self.accesses, names, &mut known);
        narrow(&mut self.rules, names, &mut known);
        narrow(&mut self.caches, names, &mut known);
        narrow(&mut self.states, names, &mut known);
        narrow(&mut self.requests, names, &mut known);
        match names.iter().zip(known).find(|(_, known)| !known) {
            Some((name, _)) => Err(name),
            None => Ok(self),
        }
    }
}

fn narrow<A: Axis>(axis: &mut Vec<A>, names: &[&str], known: &mut [bool]) {
    let wanted: Vec<A> =
        A::ALL.iter().copied().filter(|value| names.contains(&value.name())).collect();
    for (name, known) in names.iter().zip(known) {
        *known |= wanted.iter().any(|value| value.name() == *name);
    }
    if !wanted.is_empty() {
        *axis = wanted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_narrow_their_axes() {
        let all = Selection::default();
        let some = all.clone().only(&["f8", "f6", "log", "cold"]).unwrap();
        assert_eq!(some.formats, [Format::F6, Format::F8]);
        assert_eq!((some.requests, some.states), (vec![Request::Log], vec![State::Cold]));
        assert_eq!((&some.packings, &some.caches), (&all.packings, &all.caches));
        // What is not measured usually is measured where it is named.
        let ways = all.clone().only(&["svn", "svn-ssh"]).unwrap().accesses;
        assert_eq!(ways, [Access::Svn, Access::SvnSsh]);
        assert!(!all.accesses.contains(&Access::SvnSsh));
        assert_eq!(all.clone().only(&["f8", "f9"]), Err("f9"));
        assert_eq!(all.clone().only(&[]), Ok(all));
    }

    #[test]
    fn names_are_unique_over_all_axes() {
        let mut names: Vec<&str> = Vec::new();
        names.extend(System::ALL.iter().map(|v| v.name()));
        names.extend(Format::ALL.iter().map(|v| v.name()));
        names.extend(Packing::ALL.iter().map(|v| v.name()));
        names.extend(Access::ALL.iter().map(|v| v.name()));
        names.extend(Rules::ALL.iter().map(|v| v.name()));
        names.extend(Caches::ALL.iter().map(|v| v.name()));
        names.extend(State::ALL.iter().map(|v| v.name()));
        names.extend(Request::ALL.iter().map(|v| v.name()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
