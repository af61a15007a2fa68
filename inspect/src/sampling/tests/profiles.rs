//! Answers of a sampler, received and looked into.

use crate::sampling::{Received, Sampler};
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::profile::{Node, Sampled};
use invivo_proto::control::stacks::Frame;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::{Duration, Instant};

/// Waits for the whole answer to a question.
pub fn answer(sampler: &mut Sampler, of: u32) -> (Sampled, Vec<Node>) {
    answer_among(sampler, of, |_| {})
}

/// The same; shows what else comes meanwhile.
pub fn answer_among(
    sampler: &mut Sampler,
    of: u32,
    mut other: impl FnMut(FromSupervisor),
) -> (Sampled, Vec<Node>) {
    let until = Instant::now() + Duration::from_secs(20);
    let mut all = Vec::new();
    loop {
        match sampler.receive() {
            Received::Message(FromSupervisor::Profiled {
                profile,
                seen,
                nodes,
                rest,
            }) => {
                if profile == of {
                    all.extend(nodes);
                    if rest == 0 {
                        return (seen.expect("samples"), all);
                    }
                }
            }
            Received::Message(message) => other(message),
            Received::Nothing => {
                assert!(Instant::now() < until, "no answer");
                let mut came = [PollFd::new(sampler, PollFlags::IN)];
                let second = Timespec::try_from(Duration::from_secs(1)).expect("a time");
                poll(&mut came, Some(&second)).expect("a wait");
            }
            Received::Ended => panic!("the sampler has ended"),
        }
    }
}

/// What was seen, once everything has a name.
pub fn profile(sampler: &mut Sampler) -> (Sampled, Vec<Node>) {
    for number in 1..200 {
        assert!(sampler.ask(number));
        let (seen, nodes) = answer(sampler, number);
        if seen.unnamed == 0 {
            return (seen, nodes);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no names");
}

/// What a node is called here.
pub fn name(node: &Node) -> &str {
    match &node.frame {
        Frame::Function { module, name } if module == "[kernel]" && name.is_empty() => "[kernel]",
        Frame::Function { name, .. } => name,
        Frame::Lost => "lost",
        _ => "",
    }
}

/// Time in a function that was called by these, in ns: the callers' names end the path to it.
pub fn time(nodes: &[Node], path: &[&str]) -> u64 {
    let mut above: Vec<&str> = Vec::new();
    let mut sum = 0;
    for node in nodes {
        above.truncate(usize::from(node.depth));
        assert_eq!(above.len(), usize::from(node.depth), "depths have no gap");
        above.push(name(node));
        if above.ends_with(path) {
            sum += node.ns;
        }
    }
    sum
}

/// Whether a part of `whole` is this share, within so much.
pub fn is_share(part: u64, whole: u64, share: f64, within: f64) -> bool {
    (part as f64 / whole as f64 - share).abs() <= within
}

/// Whether samples stand for the time that was spent. Of a machine that is itself a guest, time
/// that its host takes may count as spent, and its clock interrupts nobody meanwhile; or it does
/// not count, and each gap gives a sample more. Nor is time in the kernel seen where that is not
/// allowed.
pub fn is_told(told: u64, spent: u64) -> bool {
    (0.6..=1.4).contains(&(told as f64 / spent as f64))
}
