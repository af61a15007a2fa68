//! Examples of where ranks spend their time.

use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::control::profile::*;
use invivo_proto::control::stacks::Frame;
use invivo_proto::ids::Rank;

/// What a sampler has seen.
pub fn sampled() -> Sampled {
    Sampled {
        samples: 2510,
        lost: 3,
        cpu_ns: 9_900_000_000,
        elapsed_ns: 10_000_000_000,
        sampler_cpu_ns: 40_000_000,
        frequency: (100, 251),
        without_kernel: 1,
        unnamed: 2,
        by_timer: 2,
        untimed: 1,
    }
}

/// Where some ranks spend their time.
pub fn profile() -> Profile {
    let node = |depth, frame, ns, own_ns| Node {
        depth,
        frame,
        ns,
        own_ns,
        most: (Rank(1), ns / 2),
        lines: [("solve.c:42".to_owned(), ns)].into(),
    };
    let function = |name: &str| Frame::Function {
        module: "app".into(),
        name: name.into(),
    };
    let without = |ranks: &[u32]| NamedRanks {
        ranks: ranks.len() as u32,
        named: ranks.iter().copied().map(Rank).collect(),
    };
    Profile {
        ranks: 11,
        sampled: 2,
        without: [
            (NoSamples::Off, without(&[2])),
            (NoSamples::Starting, without(&[3])),
            (NoSamples::Ended, without(&[4])),
            (NoSamples::Silent, without(&[5])),
            (NoSamples::Forbidden { paranoid: 3 }, without(&[6])),
            (NoSamples::Unsupported, without(&[7])),
            (NoSamples::NoRoom, without(&[8])),
            (NoSamples::Broken, without(&[9])),
            (NoSamples::NotThen, without(&[10])),
            (NoSamples::NextCall, without(&[11])),
            (NoSamples::SignalInUse, without(&[12])),
            (NoSamples::TooOften { most: 250 }, without(&[13])),
            (NoSamples::NoTimers, without(&[14])),
            (NoSamples::Unreadable, without(&[15])),
        ]
        .into(),
        seen: sampled(),
        nodes: vec![
            node(0, function("main"), 9_000_000_000, 1_000_000_000),
            node(1, function("solve"), 8_000_000_000, 8_000_000_000),
            node(0, Frame::Lost, 900_000_000, 900_000_000),
        ],
        left_out_ns: 4_000_000,
        kept: Some(KeptTime {
            of: past(),
            cut_ranks: 1,
            gone_until_ns: 2_500_000_000,
            not_kept: 7,
        }),
    }
}

/// A time in the past.
pub fn past() -> Past {
    Past {
        from_ns: 2_000_000_000,
        to_ns: 4_000_000_000,
    }
}
