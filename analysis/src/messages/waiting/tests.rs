//! Queues in blocks beside queues as anybody would write them.

use super::blocks::BLOCK;
use super::*;
use crate::messages::marks::Marks;
use alloc::collections::{BTreeMap, VecDeque};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::{CommId, Rank, RegionId, SiteId};
use proptest::prelude::*;

/// By tag, which is all that channels differ in here.
#[derive(Default)]
struct Naive(BTreeMap<i32, (Option<Side>, VecDeque<Endpoint>)>);

impl Naive {
    fn meet(
        &mut self,
        tag: i32,
        side: Side,
        endpoint: Endpoint,
        mut judge: impl FnMut(&Endpoint) -> Verdict,
    ) {
        let (of, queue) = self.0.entry(tag).or_default();
        while *of != Some(side)
            && let Some(first) = queue.front()
        {
            let verdict = judge(first);
            if verdict == Verdict::Leave {
                return;
            }
            queue.pop_front();
            if verdict == Verdict::Pair {
                return;
            }
        }

        *of = Some(side);
        queue.push_back(endpoint);
    }

    fn drop_until(&mut self, end_ns: u64, mut dropped: impl FnMut(&Endpoint)) {
        for (_, queue) in self.0.values_mut() {
            while queue
                .front()
                .is_some_and(|endpoint| endpoint.end_ns <= end_ns)
            {
                dropped(&queue.pop_front().unwrap());
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Meet(i32, Side, Verdict),
    /// Many of one side, so that queues take several blocks.
    Many(i32, Side, u8),
    DropUntil(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let side = || prop::sample::select(&[Side::Send, Side::Receive][..]);
    let verdict =
        prop::sample::select(&[Verdict::Pair, Verdict::Pair, Verdict::Drop, Verdict::Leave][..]);
    prop_oneof![
        20 => (0..9, side(), verdict).prop_map(
            |(tag, side, verdict)| Step::Meet(tag, side, verdict),
        ),
        3 => (0..9, side(), 1u8..30).prop_map(|(tag, side, many)| Step::Many(tag, side, many)),
        1 => (0u64..400).prop_map(Step::DropUntil),
    ]
}

fn endpoint(at: u64) -> Endpoint {
    Endpoint {
        begin_ns: at,
        end_ns: at,
        bytes: at,
        epoch: 0,
        error_ns: 0,
        who: 0,
        region: RegionId(0),
        posted: 0,
        marks: Marks::new(Side::Receive, SiteId::NONE, Clipping::Whole),
    }
}

fn channel(tag: i32) -> Channel {
    Channel {
        destination: Rank(0),
        comm: CommId::WORLD,
        source: 1,
        tag,
    }
}

proptest! {
    #[test]
    fn blocks_are_queues(steps in prop::collection::vec(step(), 0..120)) {
        let (mut waiting, mut naive) = (Waiting::default(), Naive::default());
        let mut at = 0;
        for step in steps {
            let (mut judged, mut expected) = (Vec::new(), Vec::new());
            match step {
                Step::Meet(tag, side, verdict) => {
                    at += 1;
                    let queue = waiting.number(&channel(tag));
                    waiting.meet(
                        queue,
                        side,
                        &endpoint(at),
                        |_, other| { judged.push(*other); verdict },
                    );
                    naive.meet(tag, side, endpoint(at), |other| { expected.push(*other); verdict });
                }
                Step::Many(tag, side, many) => for _ in 0..many {
                    at += 1;
                    let queue = waiting.number(&channel(tag));
                    waiting.meet(
                        queue,
                        side,
                        &endpoint(at),
                        |_, other| { judged.push(*other); Verdict::Pair },
                    );
                    naive.meet(
                        tag,
                        side,
                        endpoint(at),
                        |other| { expected.push(*other); Verdict::Pair },
                    );
                },
                Step::DropUntil(end_ns) => {
                    waiting.drop_until(end_ns, |endpoint| judged.push(*endpoint));
                    naive.drop_until(end_ns, |endpoint| expected.push(*endpoint));
                    judged.sort_by_key(|endpoint| endpoint.end_ns);
                    expected.sort_by_key(|endpoint| endpoint.end_ns);
                }
            }
            prop_assert_eq!(judged, expected);
            let mut here: BTreeMap<i32, Vec<(Side, Endpoint)>> = BTreeMap::new();
            for (channel, side, endpoint) in waiting.iter() {
                here.entry(channel.tag).or_default().push((side, endpoint));
            }
            let there: BTreeMap<i32, Vec<(Side, Endpoint)>> = naive.0.iter()
                .filter(|(_, (_, queue))| !queue.is_empty())
                .map(|(tag, (side, queue))| {
                    let endpoints = queue.iter().map(|endpoint| (side.unwrap(), *endpoint));
                    (*tag, endpoints.collect())
                })
                .collect();
            prop_assert_eq!(&here, &there);
            let all: usize = there.values().map(Vec::len).sum();
            prop_assert_eq!(waiting.len(), all);
            // No block is lost, and none holds nothing.
            prop_assert!(waiting.blocks() <= all && all <= waiting.blocks() * BLOCK);
        }
    }
}
