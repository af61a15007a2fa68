//! An example of every message from one tool place to another.

use invivo_proto::control::meetings::{
    Arrived, Caused, Collective, LatePost, LateReceiver, Meeting, Meetings, Met, Step,
};
use invivo_proto::control::peer::{Clipping, Endpoints, SendEndpoint};
use invivo_proto::control::places::Places;
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::*;

/// Every message from place to place.
pub fn peers() -> Vec<Endpoints> {
    let half = SendEndpoint {
        destination: Rank(3),
        sender: Rank(9),
        comm: CommId {
            leader: Rank(300),
            counter: 2,
        },
        source: 1,
        tag: 99,
        bytes: 4096,
        begin_ns: 5_000_000_000,
        end_ns: 5_000_000_700,
        posted: 7_000_000_000,
        epoch: 1,
        region: RegionId(3),
        site: SiteId(40),
        clipping: Clipping::Clipped,
    };
    vec![Endpoints {
        meetings: meetings(),
        ..Endpoints::new(WorldRank(5), 800, vec![half])
    }]
}

/// Of collectives.
fn meetings() -> Meetings {
    let of = Collective {
        comm: CommId {
            leader: Rank(300),
            counter: 2,
        },
        ordinal: 70_000,
    };
    let meeting = Meeting {
        arrivals: 3,
        latest: Some((5_000_000_900, Rank(7))),
        first_leave_ns: Some(5_000_001_000),
        root: None,
        steps: vec![Step {
            member: 4,
            enter_ns: 5_000_000_200,
            rank: Rank(9),
        }],
        untimed: true,
        error_ns: 800,
    };
    Meetings {
        resets: 2,
        arrived: vec![Arrived {
            of,
            size: 9,
            meeting: meeting.clone(),
        }],
        met: vec![Met { of, meeting }],
        caused: vec![Caused {
            rank: Rank(7),
            state: WaitState::LateBroadcast,
            region: RegionId(5),
            waits: 2,
            ns: 800_000,
        }],
        late_receivers: vec![LateReceiver {
            rank: Rank(8),
            receiver: Rank(3),
            comm: of.comm,
            region: RegionId(3),
            site: SiteId(40),
            waits: 4,
            ns: 900_000,
            max_ns: 300_000,
            until_ns: 5_000_000_000,
        }],
        late_posts: vec![LatePost {
            rank: Rank(8),
            receiver: Rank(3),
            comm: of.comm,
            send_ticks: 7_000_000_000,
            posted_ns: 5_000_000_700,
        }],
    }
}

/// What places ask each other about ranks that are dealt out.
pub fn places() -> Vec<Places> {
    vec![
        Places::Here(vec![Rank(4), Rank(7)]),
        Places::Where,
        Places::There(vec![2, 0, 300]),
    ]
}
