//! Whole trees in one process, from a seed: simulated ranks on hosts with clocks of their own feed
//! simulated places, the machines of the crate `tbon` talk over links that delay (and so reorder
//! between links), members die, stall and come back, or send garbage, and afterwards a checker
//! compares every answer with a flat computation over what the places had in hand, and what they
//! had in hand with what the ranks really did.
//!
//! The same case always runs the same way; a failing one prints the command that reruns it, and
//! that prints one line per event:
//!
//! ```text
//! 0.104233000 T9 > N12 Partial wave 3
//! ```
//!
//! Here T9 sends and N12 receives: N are the nodes, R is the root, T are the places.
//!
//! [`scale`] runs trees of a million ranks, without faults, with answers known in closed form;
//! [`served`] lets a real gateway ask one of them.
#![allow(
    clippy::large_enum_variant,
    reason = "messages are moved once or twice, a box would cost more than the copy"
)]

pub mod agenda;
pub mod case;
pub mod checker;
pub mod clocks;
pub mod faults;
pub mod flat;
pub mod groups;
pub mod history;
pub mod links;
pub mod machine;
pub mod merge;
pub mod nonsense;
pub mod place;
pub mod plant;
pub mod rank;
pub mod scale;
pub mod script;
pub mod served;
pub mod simulation;
pub mod trace;
pub mod truth;
