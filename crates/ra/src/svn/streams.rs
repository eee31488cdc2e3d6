//! Series of items, ended by the word `done`.

use sapwood_core::{SvnError, SvnResult};
use sapwood_wire_svn::{Error as WireError, Item, Tuple};

use super::connection::Connection;

/// Receives one item of a series; false at its end.
pub(super) fn next(
    conn: &mut Connection,
    otherwise: &'static str,
    look: impl FnOnce(Tuple<'_>) -> SvnResult<()>,
) -> SvnResult<bool> {
    conn.receive(|item| match item {
        Item::Word("done") => Ok(false),
        Item::List(list) => look(list.tuple()).map(|()| true),
        _ => Err(WireError::Part(otherwise).into()),
    })
}

/// What becomes of a receiver's error: the series is read to its end only when the receiver asks
/// for no more in the agreed way, otherwise the connection is given up.
#[derive(Default)]
pub(super) struct ReceiverEnd(pub(super) Option<SvnError>);

impl ReceiverEnd {
    pub(super) fn note(&mut self, result: SvnResult<()>) -> SvnResult<()> {
        match result {
            Err(e) if e.any(SvnError::is_ceased) => {
                self.0.get_or_insert(e);
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn finish(self, conn: &mut Connection) -> SvnResult<()> {
        let replied = conn.reply(|_| Ok(()));
        self.0.map_or(replied, Err)
    }
}

/// Gives the connection up when a series was left in its middle.
pub(super) fn in_step<T>(conn: &mut Connection, result: SvnResult<T>) -> SvnResult<T> {
    if result.is_err() {
        conn.give_up();
    }
    result
}
