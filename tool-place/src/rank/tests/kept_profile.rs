//! Samples of a time are added up while buffers change hands.

use super::*;
use crate::store::{Keeping, KeepsSamples};
use crate::time_point::{Now, TimePoint};
use invivo_proto::control::contexts::Taken;
use invivo_proto::control::profile::Past;
use invivo_proto::control::strategy::Strategy;
use invivo_tbon::job_time::JobClock;

/// Between two samples, in ns.
const UNIT_NS: u64 = 1_000;
const END_NS: u64 = 100 * UNIT_NS;

/// Two threads with a hundred samples each, at other times.
fn sampled() -> (RankRecords, Feed) {
    let (mut rank, writer) = attached(4);
    let mut feed = feed(Budget::new(1 << 20, 8 << 20));
    let keeping = Keeping::new(Strategy::default(), &clock(), KeepsSamples::Now);
    feed.budget.keep(&keeping).unwrap();
    let page = writer.region().page();
    page.locations.store(2, Ordering::Release);
    rank.paced(1, UNIT_NS);
    for thread in 0..2_u32 {
        let status = &page.status[thread as usize];
        status.tid.store(7 + thread, Ordering::Relaxed);
        let of = |ordinal: u64| Taken {
            at_ns: ordinal * UNIT_NS - u64::from(thread) * UNIT_NS / 2,
            ordinal,
            context: 0,
        };
        let taken: Vec<Taken> = (1..=100).map(of).collect();
        rank.sampled(END_NS, (7 + thread, 0), 0, &taken, &mut feed);
    }
    (rank, feed)
}

#[test]
fn what_goes_while_it_is_read_is_told() {
    let (mut rank, mut feed) = sampled();
    let (node, job) = (clock(), JobClock::root());
    let now = Now {
        ns: END_NS + 1,
        ticks: END_NS + 1,
    };
    let moment = TimePoint::new(now, &node, &job);
    let past = Past {
        from_ns: 0,
        to_ns: END_NS + 1,
    };
    let begin = |rank: &RankRecords| rank.begin_kept(past, &moment, &[(0, u64::MAX)]).unwrap();

    let mut whole = begin(&rank);
    for step in 0.. {
        // Few at a time, so that both are read in several goes.
        if rank.add_kept(&mut whole, &mut 30) {
            assert!(step >= 6, "{step}");
            break;
        }
    }
    let whole = rank.kept_profile(whole);
    assert_eq!((whole.seen.samples, whole.gone_until), (200, None));

    // The first one's buffer is taken when thirty of its samples have been read.
    let mut part = begin(&rank);
    assert!(!rank.add_kept(&mut part, &mut 30));
    rank.locations[0].store.give_back(&mut feed.budget);
    assert!(rank.add_kept(&mut part, &mut 1000));
    let part = rank.kept_profile(part);
    assert_eq!(part.gone_until, Some(30 * UNIT_NS));
    // The last that was read waited for the one behind it.
    assert_eq!(part.seen.samples, 29 + 100);
}
