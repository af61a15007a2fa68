//! A long life of one job: random verbs, clients that do not read, and gateways that die
//! ([`verbs`]), while somebody looks at what every process holds ([`sampler`]) and judges it in the
//! end ([`holdings`]).

pub mod holdings;
pub mod sampler;
pub mod verbs;
