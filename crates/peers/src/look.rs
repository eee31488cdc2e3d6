//! Asking servers whether they are there.

use tokio::runtime::Builder;

use crate::error::{Error, Result};
use crate::hello::{Door, Hello};
use crate::link;
use crate::name::Name;
use crate::servers::{ServerList, Servers};

/// Asks each server of a list, this one too, whether it is there and knows the secret: why not, if not. It waits for them.
///
/// # Errors
/// When the name of the list cannot be looked up, no runtime can be made, or files cannot be used.
pub fn at_all(list: ServerList) -> Result<Vec<(Name, Option<Error>)>> {
    let servers = Servers::new(list)?;
    let settings = servers.settings();
    let failed = |e: std::io::Error| Error::Setting(format!("Can't ask other servers: {e}"));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        if let Some((_, looked)) = servers.refresh().await {
            looked?;
        }
        let mut asked = Vec::new();
        for state in servers.states() {
            let hello = Hello {
                door: Door::Look,
                from: settings.own.clone(),
                to: state.name.clone(),
                client: None,
                repository: None,
            };
            let answer = link::open(&servers, &hello, b"").await;
            asked.push((state.name, answer.err()));
        }
        Ok(asked)
    })
}
