//! The MPIs of the tests: how each compiles and launches, and which functions it declares.

mod family;
pub mod functions;

pub use family::Family;
