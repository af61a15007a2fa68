//! An example of every message from one tool place to another.

use invivo_proto::control::peer::{Clipping, Endpoints, SendEndpoint};
use invivo_proto::control::places::Places;
use invivo_proto::ids::*;

/// Every message from place to place.
pub fn peers() -> Vec<Endpoints> {
    let half = SendEndpoint {
        destination: Rank(3),
        comm: CommId {
            leader: Rank(300),
            counter: 2,
        },
        source: 1,
        tag: 99,
        bytes: 4096,
        begin_ns: 5_000_000_000,
        end_ns: 5_000_000_700,
        epoch: 1,
        clipping: Clipping::Clipped,
    };
    vec![Endpoints::new(WorldRank(5), 800, vec![half])]
}

/// What places ask each other about ranks that are dealt out.
pub fn places() -> Vec<Places> {
    vec![
        Places::Here(vec![Rank(4), Rank(7)]),
        Places::Where,
        Places::There(vec![2, 0, 300]),
    ]
}
