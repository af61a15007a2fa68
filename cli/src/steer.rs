//! Gives commands to a job and reports their outcome, for the command line, scripted sessions and
//! `top`.

use crate::client::{CallError, Client, patiently};
use crate::job::Job;
use crate::view::command;
use invivo_grpc::command::call;
use invivo_grpc::v1::{CommandReply, HelloRequest};
use invivo_jobdir::random;
use invivo_proto::control::order::Order;
use invivo_proto::control::selection::Selection;
use std::time::Duration;

/// The outcome in a sentence without an end: "paused 8 of 8 ranks in 3.1 ms, slowest rank 5".
pub fn sentence(order: &Order, reply: &CommandReply) -> String {
    let done = match order {
        Order::Pause { .. } => "paused",
        Order::Resume => "resumed",
        Order::Hold { .. } => "held",
        Order::Reset => "reset",
        Order::Record { on: true } => "switched recording on for",
        Order::Record { on: false } => "switched recording off for",
        Order::Window { .. } => "recorded a window on",
        Order::Strategy { .. } => "changed the buffers of",
        Order::Analyses { on: true, .. } => "switched analyses on for",
        Order::Analyses { on: false, .. } => "switched analyses off for",
        Order::Sampling(sampling) if !sampling.is_on() => "ended sampling on",
        Order::Sampling(_) => "switched sampling on for",
        Order::Shutdown => "ended the measurement of",
        Order::Select(selection) if is_all(selection) => {
            "recording all regions and functions again on"
        }
        Order::Select(_) => "changed the selection of",
        Order::Metrics(measured) if measured.set.is_empty() => "switched metrics off for",
        Order::Metrics(_) => "switched metrics on for",
        Order::Overhead { cap: Some(_) } => "capped the overhead of",
        Order::Overhead { cap: None } => "took the cap off the overhead of",
    };
    let mut sentence = command::sentence(done, reply);
    if let Some(cuts) = command::cuts(reply) {
        sentence.push_str(&format!("; {cuts}"));
    }
    if let Order::Strategy { strategy } = order {
        sentence.push_str(&format!("; they keep by: {strategy}"));
    }
    if let Order::Analyses { these, .. } = order {
        sentence.push_str(&format!("; these: {these}"));
    }
    if let Order::Select(selection) = order
        && !is_all(selection)
    {
        sentence.push_str(&format!("; {}", rules(selection)));
    }
    if let Order::Metrics(measured) = order
        && !measured.set.is_empty()
    {
        sentence.push_str(&format!("; these: {measured}"));
    }
    if let Order::Sampling(sampling) = order
        && sampling.is_on()
    {
        sentence.push_str(&format!("; at {order}"));
    }
    if let Order::Overhead { cap: Some(cap) } = order {
        sentence.push_str(&format!("; at {cap} of their time"));
    }
    sentence
}

/// Whether behind this change everything is recorded.
pub fn is_all(selection: &Selection) -> bool {
    selection.replaces && selection.rules.is_empty()
}

/// The rules of a change, and whether they come behind others: "more rules: exclude tiny_*".
pub fn rules(selection: &Selection) -> String {
    let listed = Selection {
        replaces: false,
        rules: selection.rules.clone(),
    };
    let which = match selection.replaces {
        true => "rules",
        false => "more rules",
    };
    format!("{which}: {listed}")
}

/// Gives the order and waits until every rank has acknowledged it, or it is known which have not.
/// It is carried out even if the caller gives up meanwhile.
///
/// # Errors
/// If the gateway does not answer, or refuses the order.
pub async fn give(order: &Order, job: &Job, client: &Client) -> Result<CommandReply, CallError> {
    // Chosen here, so that a repeated call is the same command.
    let command_id = fresh_id();
    // For the client's name in the audit log. An error is ignored: the order would get it as well.
    let _ = client.clone().hello(hello()).await;
    // Repeating is safe: the root answers an id that it has seen and does not act again.
    patiently(job, async || {
        call(&mut client.clone(), command_id, order.clone()).await
    })
    .await
}

/// The introduction of this client.
pub fn hello() -> HelloRequest {
    HelloRequest {
        client: concat!("invivo ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// A command's id that no other command has; 0 would leave the choice to the gateway.
fn fresh_id() -> u64 {
    random::id().unwrap_or_else(|_| {
        // Without random numbers: this process and this moment are unique enough, because the id is
        // no secret.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = since.unwrap_or_default().as_nanos() as u64;
        (now.rotate_left(20) ^ u64::from(std::process::id())).max(1)
    })
}

/// A time in ns, the longest possible if it is longer.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
