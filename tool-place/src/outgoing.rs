//! The queue of messages to the parent, in order, until the transport accepts them.
//!
//! Some are sent once and never requested again (that all is drained, that a command is done, how a
//! rank ended), so that none may be lost while the parent gives no credits.

use std::collections::VecDeque;

/// Messages that wait for the parent. Their number is bounded: one answer to each query and
/// command, and of each kind that is sent periodically only the newest.
#[derive(Debug, Default)]
pub struct Outgoing(VecDeque<(Option<u8>, Vec<u8>)>);

impl Outgoing {
    /// Puts a message behind the others. One of a kind makes what waits of that kind useless.
    pub fn push(&mut self, kind: Option<u8>, bytes: Vec<u8>) {
        if kind.is_some() {
            self.0.retain(|(waiting, _)| *waiting != kind);
        }
        self.0.push_back((kind, bytes));
    }

    /// Hands messages to `take`, in order, until one is not accepted; that and those behind it
    /// stay.
    ///
    /// # Errors
    /// As `take`.
    pub fn send<E>(
        &mut self,
        mut take: impl FnMut(Option<u8>, &[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        while let Some((kind, bytes)) = self.0.front() {
            if !take(*kind, bytes)? {
                break;
            }
            // Removed only now: after an error of `take` the message is still here.
            self.0.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_messages_are_tried_again_in_order() {
        let mut outgoing = Outgoing::default();
        for (kind, byte) in [
            (None, 1),
            (Some(0), 2),
            (None, 3),
            (Some(0), 4),
            (Some(1), 5),
        ] {
            outgoing.push(kind, vec![byte]);
        }
        let mut room = 0;
        let mut taken = Vec::new();
        for more in [0, 1, 0, 2, 9] {
            room = more;
            let sent: Result<(), ()> = outgoing.send(|kind, bytes| {
                if room == 0 {
                    return Ok(false);
                }
                room -= 1;
                taken.push((kind, bytes[0]));
                Ok(true)
            });
            assert_eq!(sent, Ok(()));
        }
        assert_eq!(taken, [(None, 1), (None, 3), (Some(0), 4), (Some(1), 5)]);
        assert!(room > 0);
        outgoing.push(None, vec![6]);
        assert_eq!(outgoing.send(|_, _| Err("broken")), Err("broken"));
        assert_eq!(outgoing.0.len(), 1, "nor is it lost then");
    }
}
