//! Clients of a running job: the `invivo` command, a script in Python, a terminal, a browser,
//! hostile ones.

mod answer;
pub mod browser;
mod client;
pub mod http2;
pub mod misbehaving;
mod screen;
mod web;

pub use answer::{entered_and_placed, number};
pub use client::{Client, PythonReply};
pub use screen::Screen;
pub use web::{Pass, Reply, Web};
