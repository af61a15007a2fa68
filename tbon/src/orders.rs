//! Orders of clients, turned into verbs: the root fixes when.

use crate::limits::CUT_AHEAD_NS_PER_LAYER;
use alloc::collections::BTreeMap;
use invivo_proto::control::tree::{Order, Verb};
use invivo_proto::ids::CommandId;

/// How far ahead cuts lie in a tree of this height, in ns.
pub(crate) fn ahead_ns(height: u32) -> u64 {
    CUT_AHEAD_NS_PER_LAYER.saturating_mul(u64::from(height))
}

/// What an order means whose cut, if it has one, lies at `cut_ns`.
pub(crate) fn verb(order: Order, cut_ns: u64) -> Verb {
    match order {
        Order::Pause { lease_ns } => Verb::Pause { lease_ns },
        Order::Resume => Verb::Resume,
        Order::Hold { lease_ns } => Verb::Hold { lease_ns },
        Order::Reset => Verb::Reset { at_ns: cut_ns },
        Order::Record { on } => Verb::Record {
            on,
            epoch: u32::from(on),
            at_ns: cut_ns,
        },
        Order::Window { length_ns } => Verb::Window {
            from_ns: cut_ns,
            to_ns: cut_ns.saturating_add(length_ns),
            epoch: 1,
        },
        Order::Shutdown => Verb::Shutdown,
        Order::Strategy { strategy } => Verb::Strategy { strategy },
    }
}

/// Which order each id stands for, as long as the command is remembered: a repeated order has another cut, and
/// is the same all the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders(BTreeMap<CommandId, Order>);

impl Orders {
    /// Whether the id stands for something else.
    pub fn is_taken(&self, id: CommandId, order: Order) -> bool {
        self.0.get(&id).is_some_and(|known| *known != order)
    }

    /// Remembers a new one, and those of before that are still known.
    pub fn remember(&mut self, id: CommandId, order: Order, is_known: impl Fn(CommandId) -> bool) {
        self.0.retain(|&id, _| is_known(id));
        self.0.insert(id, order);
    }
}
