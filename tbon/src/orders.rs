//! What the root adds to the orders of clients: the time of their cut and the epoch of recording.

use crate::limits::CUT_AHEAD_NS_PER_LAYER;
use alloc::collections::BTreeMap;
use invivo_proto::control::order::Order;
use invivo_proto::ids::CommandId;

/// How far ahead cuts lie in a tree of this height, in ns.
pub(crate) fn ahead_ns(height: u32) -> u64 {
    CUT_AHEAD_NS_PER_LAYER.saturating_mul(u64::from(height))
}

/// Counts the epochs of recording, in the order in which commands are given: places may learn of a
/// switch late, or of the end of a window early, and would count differently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epochs {
    number: u32,
    on: bool,
}

impl Epochs {
    /// Of a job that is recorded from its start, or is not.
    pub fn new(recording: bool) -> Epochs {
        Epochs {
            number: 0,
            on: recording,
        }
    }

    /// The epoch of recording from `order` on.
    pub fn after(&mut self, order: &Order) -> u32 {
        match order {
            Order::Record { on } => self.switch(*on),
            Order::Window { .. } => self.window(),
            _ => self.number,
        }
    }

    /// The epoch from a switch on.
    fn switch(&mut self, on: bool) -> u32 {
        // Switching on what is on begins no new epoch.
        self.number = self.number.saturating_add(u32::from(on && !self.on));
        self.on = on;
        self.number
    }

    /// The epoch of a window. Behind it recording is off: a switch that is given meanwhile may find
    /// it so at some places, and begins the next epoch at all of them.
    fn window(&mut self) -> u32 {
        self.number = self.number.saturating_add(1);
        self.on = false;
        self.number
    }
}

/// Which order each id stands for, as long as the command is remembered: a repeated order has
/// another cut, and is the same all the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders(BTreeMap<CommandId, Order>);

impl Orders {
    /// Whether the id stands for something else.
    pub fn is_taken(&self, id: CommandId, order: &Order) -> bool {
        self.0.get(&id).is_some_and(|known| known != order)
    }

    /// The commands of such an order.
    pub fn such(&self, is_such: impl Fn(&Order) -> bool) -> impl Iterator<Item = CommandId> {
        let such = move |(id, order): (&CommandId, &Order)| is_such(order).then_some(*id);
        self.0.iter().filter_map(such)
    }

    /// Remembers a new one, and those of before that are still known.
    pub fn remember(&mut self, id: CommandId, order: Order, is_known: impl Fn(CommandId) -> bool) {
        self.0.retain(|&id, _| is_known(id));
        self.0.insert(id, order);
    }
}
