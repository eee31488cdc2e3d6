//! The rest of a reply whose client does not read: made piece by piece, as the client reads it.
//!
//! Invariant: while the server waits for the client, it holds no thread and no piece.

use super::exchange::Exchange;
use super::outlet::WANTED;
use crate::common::fair::Caller;

/// Makes and sends the rest of a reply, whose handler has ended. `None` after a fault of ours.
pub(super) async fn send_rest(mut exchange: Exchange, caller: Caller) -> Option<Exchange> {
    let outlet = exchange.outlet().clone();
    // Without a permit the client has a moment to go on reading.
    let permit = outlet.workers.unread.try_acquire(caller);
    let patience = if permit.is_some() { outlet.patience } else { WANTED };
    while exchange.is_for_later() {
        let queue = exchange.queue()?;
        let room = tokio::time::timeout(patience, queue.reserve_owned()).await;
        let Ok(Ok(room)) = room else {
            exchange.abandon();
            break;
        };
        let permit = outlet.workers.for_reply(caller).await;
        let made = tokio::task::spawn_blocking(move || {
            let made = exchange.make_later();
            drop(permit);
            (exchange, made)
        });
        let (back, made) = made.await.ok()?;
        exchange = back;
        match made {
            Ok(piece) => drop(room.send(Ok(piece))),
            Err(error) => {
                room.send(Err(std::io::Error::other(error)));
                exchange.abandon();
            }
        }
    }
    exchange.finish();
    Some(exchange)
}
