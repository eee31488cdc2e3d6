//! Permits that are given out fairly: networks that wait get them in turn, and so do the users within a
//! network.
//!
//! A network gets at most half of what the other networks leave, and a user at most half of what the other
//! users of that network leave. So a client from another network finds a permit, however many one network
//! holds: one network leaves half, two leave a quarter, and so on.
//!
//! Invariants: there are never more permits in use than the limit; a permit is returned when it is dropped;
//! a caller that waits holds no thread, and a waiting future that is dropped leaves the queue.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;
use tokio::sync::oneshot;

use crate::common::login_delay::network;

/// The client that asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// A hash of the address, or of the 64-bit network for IPv6.
    site: u64,
    /// A hash of the user's name.
    user: u64,
}

/// A map whose keys are hashes already, made with a random key.
type ByHash<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// The hash of a hash.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Caller {
    /// The client at `address`, with the user name that it claims, whether authenticated or not.
    pub(crate) fn new(address: Option<IpAddr>, user: Option<&str>) -> Self {
        // A random key, so that clients cannot choose names that share a queue.
        static KEY: OnceLock<RandomState> = OnceLock::new();
        let key = KEY.get_or_init(RandomState::new);
        Self { site: key.hash_one(address.map(network)), user: key.hash_one(user) }
    }
}

/// Permits of one kind.
#[derive(Debug)]
pub(crate) struct FairPermits {
    limit: usize,
    state: Mutex<State>,
}

/// A permit; it is returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    /// None once it was returned.
    from: Option<Arc<FairPermits>>,
    caller: Caller,
}

#[derive(Debug, Default)]
struct State {
    /// Permits in use.
    out: usize,
    waiting: usize,
    sites: ByHash<Site>,
    /// Sites with waiters, the next one in front.
    order: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Site {
    out: usize,
    users: ByHash<User>,
    /// Users with waiters, the next one in front.
    order: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct User {
    out: usize,
    waiters: VecDeque<oneshot::Sender<Permit>>,
}

/// How many of `limit` permits one of several sites or users may have, when the others have so
/// many.
fn share(limit: usize, of_others: usize) -> usize {
    limit.saturating_sub(of_others).div_euclid(2).max(1)
}

impl State {
    /// Whether a caller may have one more.
    fn has_room(&self, limit: usize, caller: Caller) -> bool {
        if self.out >= limit {
            return false;
        }
        let Some(site) = self.sites.get(&caller.site) else { return true };
        let of_site = share(limit, self.out.minus(site.out));
        let own = site.users.get(&caller.user).map_or(0, |user| user.out);
        site.out < of_site && own < share(of_site, site.out.minus(own))
    }

    fn count(&mut self, caller: Caller) {
        self.out = self.out.plus(1);
        let site = self.sites.entry(caller.site).or_default();
        site.out = site.out.plus(1);
        let user = site.users.entry(caller.user).or_default();
        user.out = user.out.plus(1);
    }

    fn give_back(&mut self, caller: Caller) {
        self.out = self.out.minus(1);
        let Some(site) = self.sites.get_mut(&caller.site) else { return };
        site.out = site.out.minus(1);
        if let Some(user) = site.users.get_mut(&caller.user) {
            user.out = user.out.minus(1);
            if user.out == 0 && user.waiters.is_empty() {
                site.users.remove(&caller.user);
            }
        }
        if site.users.is_empty() {
            self.sites.remove(&caller.site);
        }
    }

    fn enqueue(&mut self, caller: Caller, waiter: oneshot::Sender<Permit>) {
        self.waiting = self.waiting.plus(1);
        let site = self.sites.entry(caller.site).or_default();
        let user = site.users.entry(caller.user).or_default();
        if user.waiters.is_empty() {
            if site.order.is_empty() {
                self.order.push_back(caller.site);
            }
            site.order.push_back(caller.user);
        }
        user.waiters.push_back(waiter);
    }

    /// The next waiter that may have a permit; it and its site go to the end of their queues.
    fn next(&mut self, limit: usize) -> Option<(Caller, oneshot::Sender<Permit>)> {
        for _ in 0..self.order.len() {
            let name = self.order.pop_front()?;
            self.order.push_back(name);
            let Some(site) = self.sites.get(&name) else { continue };
            if self.out >= limit || site.out >= share(limit, self.out.minus(site.out)) {
                continue;
            }
            for _ in 0..site.order.len() {
                let site = self.sites.get_mut(&name)?;
                let user = site.order.pop_front()?;
                site.order.push_back(user);
                let caller = Caller { site: name, user };
                if self.has_room(limit, caller) {
                    return self.take_waiter(caller);
                }
            }
        }
        None
    }

    fn take_waiter(&mut self, caller: Caller) -> Option<(Caller, oneshot::Sender<Permit>)> {
        let site = self.sites.get_mut(&caller.site)?;
        let user = site.users.get_mut(&caller.user)?;
        let waiter = user.waiters.pop_front()?;
        self.waiting = self.waiting.minus(1);
        if user.waiters.is_empty() {
            site.order.retain(|name| *name != caller.user);
            if user.out == 0 {
                site.users.remove(&caller.user);
            }
            if site.order.is_empty() {
                self.order.retain(|name| *name != caller.site);
            }
            if site.users.is_empty() {
                self.sites.remove(&caller.site);
            }
        }
        Some((caller, waiter))
    }
}

impl FairPermits {
    /// Makes a set of so many permits, at least one.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), state: Mutex::default() })
    }

    fn permit(self: &Arc<Self>, caller: Caller) -> Permit {
        Permit { from: Some(Arc::clone(self)), caller }
    }

    /// A permit, if the caller need not wait for one.
    pub(crate) fn try_acquire(self: &Arc<Self>, caller: Caller) -> Option<Permit> {
        let mut state = self.state.lock();
        if !state.has_room(self.limit, caller) {
            return None;
        }
        state.count(caller);
        Some(self.permit(caller))
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(self: &Arc<Self>, caller: Caller) -> Permit {
        loop {
            let given = {
                let mut state = self.state.lock();
                if state.has_room(self.limit, caller) {
                    state.count(caller);
                    return self.permit(caller);
                }
                let (give, given) = oneshot::channel();
                state.enqueue(caller, give);
                given
            };
            // The sender stays in the queue until it has sent. An error would be a fault of ours; asking
            // again is correct in that case, too.
            if let Ok(permit) = given.await {
                return permit;
            }
        }
    }

    /// How many permits are in use, and how many callers wait.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.out, state.waiting)
    }

    /// Whether a caller waits for a permit. Callers that have gone meanwhile may be counted.
    pub(crate) fn is_contended(&self) -> bool {
        self.state.lock().waiting > 0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(from) = self.from.take() else { return };
        let mut state = from.state.lock();
        state.give_back(self.caller);
        while let Some((caller, waiter)) = state.next(from.limit) {
            state.count(caller);
            let permit = Self { from: Some(Arc::clone(&from)), caller };
            if let Err(mut unused) = waiter.send(permit) {
                // The waiter has gone. Its permit is returned here: dropping it would lock again.
                state.give_back(caller);
                unused.from = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(address: &str, user: &str) -> Caller {
        Caller::new(Some(address.parse().unwrap()), Some(user))
    }

    /// As many permits as a caller gets without waiting.
    fn take_all(permits: &Arc<FairPermits>, caller: Caller) -> Vec<Permit> {
        std::iter::from_fn(|| permits.try_acquire(caller)).collect()
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
    }

    #[test]
    fn networks_and_users_leave_room_for_others() {
        let permits = FairPermits::new(64);
        let ada = take_all(&permits, caller("192.0.2.1", "ada"));
        let bob = take_all(&permits, caller("192.0.2.1", "bob"));
        let eve = take_all(&permits, caller("192.0.2.2", "eve"));
        assert_eq!((ada.len(), bob.len(), eve.len()), (16, 8, 10));
        // All addresses of one network of IPv6 are one.
        let one = take_all(&permits, caller("2001:db8::1", "ada"));
        let two = take_all(&permits, caller("2001:db8::2", "ada"));
        assert!(!one.is_empty() && two.is_empty());
        drop((ada, bob, eve, one));
        let state = permits.state.lock();
        assert_eq!((state.out, state.sites.len()), (0, 0));
    }

    #[test]
    fn one_is_always_had() {
        let permits = FairPermits::new(0);
        let one = permits.try_acquire(caller("192.0.2.1", "ada"));
        assert!(one.is_some() && permits.try_acquire(caller("192.0.2.2", "bob")).is_none());
    }

    #[test]
    fn those_who_wait_are_served_in_turn() {
        run(async {
            let permits = FairPermits::new(1);
            let first = permits.acquire(caller("192.0.2.1", "ada")).await;
            let order = Arc::new(Mutex::new(Vec::new()));
            // Three requests of ada's, then one of bob's beside her and one from elsewhere.
            let asked = [("1", "ada"), ("1", "ada"), ("1", "ada"), ("1", "bob"), ("2", "eve")];
            let tasks = asked.map(|(site, user)| {
                let (permits, order) = (Arc::clone(&permits), Arc::clone(&order));
                let caller = caller(&format!("192.0.2.{site}"), user);
                async move {
                    let permit = permits.acquire(caller).await;
                    order.lock().push(user);
                    drop(permit);
                }
            });
            let local = tokio::task::LocalSet::new();
            let tasks = tasks.map(|task| local.spawn_local(task));
            local.run_until(tokio::task::yield_now()).await;
            assert!(permits.is_contended());
            drop(first);
            local.await;
            assert!(tasks.iter().all(tokio::task::JoinHandle::is_finished));
            assert_eq!(*order.lock(), ["ada", "eve", "bob", "ada", "ada"]);
            let state = permits.state.lock();
            assert_eq!((state.out, state.waiting, state.sites.len()), (0, 0, 0));
            assert!(state.order.is_empty());
        });
    }

    #[test]
    fn waiters_that_have_gone_keep_no_permit() {
        run(async {
            let permits = FairPermits::new(1);
            let first = permits.acquire(caller("192.0.2.1", "ada")).await;
            let gone = permits.acquire(caller("192.0.2.1", "bob"));
            let mut gone = Box::pin(gone);
            std::future::poll_fn(|cx| {
                assert!(gone.as_mut().poll(cx).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            drop(gone);
            drop(first);
            assert!(permits.try_acquire(caller("192.0.2.3", "eve")).is_some());
            assert_eq!(permits.state.lock().waiting, 0);
        });
    }
}
