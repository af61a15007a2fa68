//! The hot path: one record for each call, from the wrapper to the packet on its way to the place.

mod back_pressure;
pub mod call;
pub mod facts;
mod gate;
pub mod left_call;
pub mod location;
pub mod open_packet;
pub mod open_regions;
pub mod overflow;
pub mod packet_pool;
mod parked;
pub mod passed_regions;
mod poll;
pub mod program_switch;
pub mod regions;
mod sample_timers;
mod scratch;
pub mod send_queue;
mod settle;
mod stack_bounds;
pub mod thread_location;
mod thread_pointer;
mod timed_sample;
mod write;
