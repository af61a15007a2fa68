//! The gateway as its clients meet it, beside a root that answers by a script. One program for all,
//! because each would be the whole gRPC stack once more.

mod answers;
mod audit_and_invite;
mod authentication;
mod commands;
mod failures;
mod intervals;
mod many_clients;
mod metrics;
mod process;
mod program;
mod python;
mod save;
mod scripted_root;
mod selection;
mod support;
mod timeouts;
mod tls;
mod verbs;
