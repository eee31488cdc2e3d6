//! Network namespaces: a hub with a bridge, and three that are connected with it. Nothing of the machine's own network is touched.
//!
//! Invariant: what was made is removed when it is dropped; programs in it end with their own handles, before.

use std::process::Command;

/// How many servers there are.
pub const SERVERS: usize = 3;

/// The namespaces.
#[derive(Debug)]
pub struct Net {
    /// What their names begin with.
    name: String,
}

/// What is done to the packets of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// One in so many percent is lost, each way.
    Loss(u32),
    /// A line of so many kilobits a second: packets wait, up to 400 ms, and are lost then.
    Slow(u32),
    /// Nothing goes in either direction, also to clients.
    Cut,
    /// What the server sends to the store does not arrive.
    NoRequests,
    /// What the store sends to the server does not arrive: requests do.
    NoAnswers,
}

/// The hub's address; servers have the next ones.
pub const HUB: &str = "10.77.0.1";

/// The address of a server.
#[must_use]
pub fn address(server: usize) -> String {
    format!("10.77.0.{}", server + 2)
}

fn run(words: &str) -> Result<(), String> {
    let mut split = words.split(' ');
    let program = split.next().unwrap_or("");
    let output = Command::new(program).args(split).output();
    let output = output
        .map_err(|e| format!("'{program}' can't be run: {e} (Debian: iproute2, iptables)"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("'{words}': {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

impl Net {
    /// Makes them.
    ///
    /// # Errors
    /// When this user may not, or a program is missing: a sentence.
    pub fn new() -> Result<Self, String> {
        let net = Self { name: format!("sw{}", std::process::id()) };
        net.make().map_err(|why| {
            format!("network namespaces cannot be made here (they need root): {why}")
        })?;
        Ok(net)
    }

    fn make(&self) -> Result<(), String> {
        let hub = self.hub();
        run("iptables --version")?;
        run(&format!("ip netns add {hub}"))?;
        run(&format!("ip -n {hub} link set lo up"))?;
        run(&format!("ip -n {hub} link add name hub0 type bridge"))?;
        run(&format!("ip -n {hub} addr add {HUB}/24 dev hub0"))?;
        run(&format!("ip -n {hub} link set hub0 up"))?;
        for server in 0..SERVERS {
            let own = self.of(server);
            run(&format!("ip netns add {own}"))?;
            run(&format!("ip -n {own} link set lo up"))?;
            run(&format!(
                "ip -n {hub} link add name s{server} type veth peer name eth0 netns {own}"
            ))?;
            run(&format!("ip -n {hub} link set s{server} master hub0 up"))?;
            run(&format!("ip -n {own} addr add {}/24 dev eth0", address(server)))?;
            run(&format!("ip -n {own} link set eth0 up"))?;
        }
        Ok(())
    }

    /// The name of the hub's, where clients and the store are.
    #[must_use]
    pub fn hub(&self) -> String {
        format!("{}-hub", self.name)
    }

    /// The name of a server's.
    #[must_use]
    pub fn of(&self, server: usize) -> String {
        format!("{}-{server}", self.name)
    }

    /// Begins a trouble.
    pub(crate) fn begin(&self, server: usize, trouble: Trouble) -> Result<(), String> {
        let own = self.of(server);
        let each = |rule: &str| run(&format!("ip netns exec {own} iptables -w -A {rule} -j DROP"));
        match trouble {
            Trouble::Loss(percent) => {
                let random = format!("-m statistic --mode random --probability 0.{percent:02}");
                each(&format!("INPUT {random}"))?;
                each(&format!("OUTPUT {random}"))
            }
            Trouble::Slow(rate) => run(&format!(
                "ip netns exec {own} tc qdisc add dev eth0 root tbf rate {rate}kbit burst 3000 latency 400ms"
            )),
            Trouble::Cut => run(&format!("ip -n {} link set s{server} down", self.hub())),
            Trouble::NoRequests => each(&format!("OUTPUT -d {HUB} -p tcp --dport {STORE}")),
            Trouble::NoAnswers => each(&format!("INPUT -s {HUB} -p tcp --sport {STORE}")),
        }
    }

    /// Ends all troubles of a server.
    pub(crate) fn heal(&self, server: usize) -> Result<(), String> {
        let own = self.of(server);
        run(&format!("ip netns exec {own} iptables -w -F"))?;
        run(&format!("ip -n {} link set s{server} up", self.hub()))?;
        // There may be none to remove.
        let _ = run(&format!("ip netns exec {own} tc qdisc del dev eth0 root"));
        Ok(())
    }
}

/// The port of the store on the hub.
pub const STORE: u16 = 7490;

impl Drop for Net {
    fn drop(&mut self) {
        for name in (0..SERVERS).map(|server| self.of(server)).chain([self.hub()]) {
            // One that is not there was not made.
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}
