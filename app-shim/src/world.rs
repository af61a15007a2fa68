//! The substitution of `MPI_COMM_WORLD`: programs see the application's ranks alone.

pub mod arguments;
pub mod attributes;
pub mod callback_time;
pub mod callbacks;
pub mod error_text;
pub mod process_sets;
pub mod worlds;
