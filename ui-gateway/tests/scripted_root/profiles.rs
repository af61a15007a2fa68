//! Known samples.

use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::control::profile::{KeptTime, NoSamples, Node, Past, Profile, Sampled};
use invivo_proto::control::stacks::Frame;
use invivo_proto::ids::Rank;

/// Of three ranks of four: `main` calls `solve`, most on rank 2. Of a time, one rank's samples are
/// gone but for the last ns.
pub fn profile(past: Option<Past>) -> Profile {
    let node = |depth, name: &str, ns, own_ns| Node {
        depth,
        frame: Frame::Function {
            module: "app".into(),
            name: name.into(),
        },
        ns,
        own_ns,
        most: (Rank(2), ns / 2),
        lines: [("app.c:7".to_owned(), 40), ("app.c:9".to_owned(), 60)].into(),
    };
    let forbidden = NamedRanks {
        ranks: 1,
        named: vec![Rank(3)],
    };
    Profile {
        ranks: 4,
        sampled: 3,
        without: [(NoSamples::Forbidden { paranoid: 3 }, forbidden)].into(),
        seen: Sampled {
            samples: 25,
            lost: 1,
            cpu_ns: 100,
            elapsed_ns: 120,
            sampler_cpu_ns: 2,
            frequency: (50, 251),
            without_kernel: 1,
            unnamed: 4,
            by_timer: 2,
            untimed: 1,
        },
        nodes: vec![node(0, "main", 100, 10), node(1, "solve", 90, 90)],
        left_out_ns: 5,
        kept: past.map(|of| KeptTime {
            of,
            cut_ranks: 1,
            gone_until_ns: of.to_ns - 1,
            not_kept: 7,
        }),
    }
}
