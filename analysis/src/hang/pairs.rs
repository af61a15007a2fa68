//! Pairs pending sends with receives that are posted for them.
//!
//! Such a message is on its way, however long that takes, and no rank is to blame for it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use invivo_proto::control::hang::{Operation, Partner, Pending, Side};
use invivo_proto::ids::Rank;
use invivo_proto::mpi::ANY_TAG;

/// For each pending call and each of its operations, whether its other side is there. The sends of
/// a rank are tried in their order; each takes the first receive that it fits and that none of the
/// rank's own before it has taken, as MPI does. Of the sends of several ranks that fit one receive
/// nobody knows which takes it: none of them is said to wait.
pub fn paired(pending: &[Pending]) -> Vec<Vec<bool>> {
    let of_rank: BTreeMap<Rank, usize> = pending
        .iter()
        .enumerate()
        .map(|(n, one)| (one.rank, n))
        .collect();
    let mut paired: Vec<Vec<bool>> = pending
        .iter()
        .map(|one| one.operations.iter().map(|_| false).collect())
        .collect();
    for (from, sender) in pending.iter().enumerate() {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for (n, send) in sender.operations.iter().enumerate() {
            let Some(to) = receiver(send).and_then(|rank| of_rank.get(&rank).copied()) else {
                continue;
            };
            let receives = pending[to].operations.iter().enumerate();
            let fitting: Vec<(usize, Side)> = receives
                .filter(|&(_, recv)| fits(sender.rank, send, recv))
                .map(|(m, recv)| (m, recv.side))
                .collect();
            // A probe is served by a message but does not consume it, so every fitting probe is
            // paired.
            for (m, _) in fitting.iter().filter(|(_, side)| *side == Side::Probe) {
                // It finds the message and leaves it there.
                paired[to][*m] = true;
            }
            let free = fitting
                .iter()
                .find(|&&(m, side)| side == Side::Recv && !taken.contains(&(to, m)));
            if let Some(&(m, _)) = free {
                taken.push((to, m));
                paired[to][m] = true;
                paired[from][n] = true;
            }
        }
    }

    paired
}

fn receiver(send: &Operation) -> Option<Rank> {
    match (send.side, send.peer) {
        (Side::Send, Partner::Rank(rank)) => Some(rank),
        _ => None,
    }
}

/// Whether a message of `sender` is one that `recv` takes.
fn fits(sender: Rank, send: &Operation, recv: &Operation) -> bool {
    let from = match recv.peer {
        Partner::Rank(rank) => rank == sender,
        Partner::Any | Partner::Unknown => true,
        Partner::Nobody => false,
    };
    matches!(recv.side, Side::Recv | Side::Probe)
        && from
        && send.comm == recv.comm
        && (recv.tag == ANY_TAG || recv.tag == send.tag)
}
