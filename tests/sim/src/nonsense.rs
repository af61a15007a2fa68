//! Makes the garbage that a faulty process sends.

use invivo_proto::control;
use invivo_proto::control::tree::{Acks, Cut, Partial, Up};
use invivo_proto::ids::{CommandId, WaveId};

/// What a process says instead of, or beside, its next answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonsense {
    /// A message cut short, in place of the answer.
    Cut,
    /// The answer to another question, in place of the answer.
    WrongKind,
    /// More ranks than it has, in place of the answer.
    Boast,
    /// A cut that ends before it begins, in place of an acknowledgement.
    Backwards,
    /// The answer twice.
    Twice,
    /// An answer that nobody asked for, beside the answer.
    Unasked,
}

impl Nonsense {
    /// All kinds.
    pub const ALL: [Nonsense; 6] = [
        Nonsense::Cut,
        Nonsense::WrongKind,
        Nonsense::Boast,
        Nonsense::Backwards,
        Nonsense::Twice,
        Nonsense::Unasked,
    ];
}

/// The bytes that are sent in place of `message`.
pub fn garble(mut message: Up, nonsense: Option<Nonsense>) -> Vec<Vec<u8>> {
    let encode =
        |message: &Up| control::encode(message).expect("messages of a simulated job are short");
    let honest = encode(&message);
    match nonsense {
        None => return vec![honest],
        Some(Nonsense::Twice) => return vec![honest.clone(), honest],
        Some(Nonsense::Cut) => return vec![honest[..honest.len() / 2].to_vec()],
        Some(Nonsense::Unasked) => {
            let unasked = Up::Ack {
                command: CommandId(u64::MAX),
                acks: Acks::default(),
            };
            return vec![encode(&unasked), honest];
        }
        Some(Nonsense::WrongKind) => match &mut message {
            Up::Partial {
                partial: partial @ Partial::Matrix(_),
                ..
            } => *partial = Partial::Status(Default::default()),
            Up::Partial { partial, .. } => *partial = Partial::Matrix(Default::default()),
            other => {
                let (partial, coverage) = (Partial::Status(Default::default()), Default::default());
                *other = Up::Partial {
                    wave: WaveId(u64::MAX),
                    partial,
                    coverage,
                    missing: Vec::new(),
                };
            }
        },
        Some(Nonsense::Boast) => match &mut message {
            Up::Partial { coverage, .. } => coverage.ranks += 1,
            Up::Ack { acks, .. } => acks.targets += 1,
            _ => {}
        },
        Some(Nonsense::Backwards) => match &mut message {
            Up::Partial { coverage, .. } => coverage.ranks_reporting = coverage.ranks + 1,
            Up::Ack { acks, .. } => {
                acks.from = Some(Cut {
                    earliest_ns: 2,
                    latest_ns: 1,
                    error_ns: 0,
                });
            }
            _ => {}
        },
    }

    vec![encode(&message)]
}
