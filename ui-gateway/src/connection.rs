//! Client connections: how many are admitted, the state of each, and serving HTTP/2 on it.

pub mod admission;
pub mod peer;
pub mod response_body;
pub mod serve;
pub mod state;
