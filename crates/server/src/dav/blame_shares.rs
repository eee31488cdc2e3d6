//! A share of blame for readers who have not logged in: so many at a time, and so many a minute of one network.
//!
//! Invariants: what is kept of networks has a fixed size; two of them may have one place there, and then one share.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_core::exact::{Exact as _, clamped};

use crate::common::fair::{Caller, FairPermits, Permit};
use crate::common::login_delay::network;

/// Pages that are made at a time; the readers of one network have a quarter of them.
const AT_A_TIME: usize = 16;
/// The time after which a network has one page more, and how much of it one may have used before a page: 60 in a row.
const ONE_MORE: Duration = Duration::from_secs(1);
const SHARE: Duration = Duration::from_secs(59);
/// Seconds after which a reader may ask again where too many are being made.
const SOON: u64 = 2;
/// Networks that have a share of their own.
const PLACES: usize = 4_096;

/// The shares of all networks.
#[derive(Debug)]
pub(super) struct BlameShares {
    permits: Arc<FairPermits>,
    key: RandomState,
    /// For each place when it will have its whole share again.
    whole_at: Mutex<Vec<Option<Instant>>>,
}

impl BlameShares {
    pub(super) fn new() -> Self {
        Self {
            permits: FairPermits::new(AT_A_TIME),
            key: RandomState::new(),
            whole_at: Mutex::new(vec![None; PLACES]),
        }
    }

    /// Takes a page of a network's share at the time `now`; where there is none, how long until there is.
    fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let places = u64::try_from(PLACES).unwrap_or(1).max(1);
        let place = clamped(self.key.hash_one(network(address)) % places);
        let mut all = self.whole_at.lock();
        let Some(whole_at) = all.get_mut(place) else { return Ok(()) };
        let from = whole_at.map_or(now, |then| then.max(now));
        match from.duration_since(now).checked_sub(SHARE) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                *whole_at = from.checked_add(ONE_MORE);
                Ok(())
            }
        }
    }

    /// A permit for one page of a reader who has not logged in.
    ///
    /// # Errors
    /// The seconds after which the reader may ask again.
    pub(super) fn admit(
        &self,
        address: IpAddr,
        caller: Caller,
        now: Instant,
    ) -> Result<Permit, u64> {
        // A page that cannot be made now is not taken of the share.
        let permit = self.permits.try_acquire(caller).ok_or(SOON)?;
        self.take(address, now).map_err(|wait| wait.as_secs().plus(1))?;
        Ok(permit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_a_share_of_a_minute() {
        let shares = BlameShares::new();
        let now = Instant::now();
        let [one, other]: [IpAddr; 2] =
            ["192.0.2.1", "198.51.100.7"].map(|text| text.parse().unwrap());
        for page in 0..60 {
            assert_eq!(shares.take(one, now), Ok(()), "{page}");
        }
        assert_eq!(shares.take(one, now), Err(ONE_MORE));
        // One site of IPv6 has many addresses, and one share.
        let site = |last: u32| -> IpAddr { format!("2001:db8::{last:x}").parse().unwrap() };
        for page in 0..60 {
            assert_eq!(shares.take(site(page), now), Ok(()), "{page}");
        }
        assert!(shares.take(site(999), now).is_err());
        let same = |address: IpAddr| shares.key.hash_one(network(address)) % 4_096;
        assert!(same(one) == same(other) || shares.take(other, now).is_ok());
        // After a while there is one more, and after a minute the whole share.
        let later = now.checked_add(ONE_MORE).unwrap();
        assert_eq!((shares.take(one, later), shares.take(one, later)), (Ok(()), Err(ONE_MORE)));
        let much_later = later.checked_add(Duration::from_secs(600)).unwrap();
        assert_eq!((0..65).filter(|_| shares.take(one, much_later).is_ok()).count(), 60);
    }

    #[test]
    fn one_network_leaves_room_for_others() {
        let shares = BlameShares::new();
        let now = Instant::now();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let caller = Caller::new(Some(address), None);
        let held: Vec<Permit> =
            (0..AT_A_TIME).map_while(|_| shares.admit(address, caller, now).ok()).collect();
        assert_eq!(held.len(), AT_A_TIME / 4);
        assert!(matches!(shares.admit(address, caller, now), Err(SOON)));
        let other: IpAddr = "198.51.100.7".parse().unwrap();
        assert!(shares.admit(other, Caller::new(Some(other), None), now).is_ok());
        drop(held);
        assert!(shares.admit(address, caller, now).is_ok());
    }
}
