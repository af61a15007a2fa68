//! What can be done to a job, whoever asks for it: a command, a scripted session, a screen.

use crate::client::{CallError, Client, patiently};
use crate::view::command;
use invivo_grpc::v1::{
    CommandReply, HelloRequest, HoldRequest, PauseRequest, RecordRequest, RecordWindowRequest,
    ResetRequest, ResumeRequest, SetStrategyRequest, ShutdownRequest,
};
use invivo_jobdir::Connect;
use invivo_proto::control::strategy::Strategy;
use std::time::Duration;

/// Something that is done to the application or to the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The application stands still, for at most so long.
    Pause(Duration),
    /// It goes on, from a pause or a hold.
    Resume,
    /// Every rank stands right behind `MPI_Init`, for at most so long.
    Hold(Duration),
    /// Everything so far is forgotten.
    Reset,
    /// Recording is switched on or off.
    Record(bool),
    /// Everything so far is forgotten, so long is recorded, and recording is off then.
    Window(Duration),
    /// Buffers keep something else from now on when not everything fits.
    Strategy(Strategy),
    /// The measurement ends, the job runs on.
    Shutdown,
}

impl Order {
    /// The word for it in the gateway's capabilities.
    pub fn capability(self) -> &'static str {
        match self {
            Order::Pause(_) => "pause",
            Order::Resume => "resume",
            Order::Hold(_) => "hold",
            Order::Reset => "reset",
            Order::Record(_) => "record",
            Order::Window(_) => "record-window",
            Order::Strategy(_) => "strategy",
            Order::Shutdown => "shutdown",
        }
    }

    /// How it went, in a sentence without an end: "paused 8 of 8 ranks in 3.1 ms, slowest rank 5".
    pub fn sentence(self, reply: &CommandReply) -> String {
        let done = match self {
            Order::Pause(_) => "paused",
            Order::Resume => "resumed",
            Order::Hold(_) => "held",
            Order::Reset => "reset",
            Order::Record(true) => "switched recording on for",
            Order::Record(false) => "switched recording off for",
            Order::Window(_) => "recorded a window on",
            Order::Strategy(_) => "changed the buffers of",
            Order::Shutdown => "ended the measurement of",
        };
        let mut sentence = command::sentence(done, reply);
        if let Some(cuts) = command::cuts(reply) {
            sentence.push_str(&format!("; {cuts}"));
        }
        if let Order::Strategy(strategy) = self {
            sentence.push_str(&format!("; they keep by: {strategy}"));
        }
        sentence
    }

    /// Gives the order and waits until every rank has acknowledged it, or it is known which have
    /// not. If it is given up meanwhile, it is done all the same.
    ///
    /// # Errors
    /// When nobody answers, or it is refused.
    pub async fn give(self, connect: &Connect, client: &Client) -> Result<CommandReply, CallError> {
        // Chosen here, so that a repeated call is the same command.
        let command_id = fresh_id();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let call = async || {
            let mut client = client.clone();
            match self {
                Order::Pause(lease) => {
                    let lease_ns = ns(lease);
                    client
                        .pause(PauseRequest {
                            command_id,
                            lease_ns,
                        })
                        .await
                }
                Order::Resume => client.resume(ResumeRequest { command_id }).await,
                Order::Hold(lease) => {
                    let lease_ns = ns(lease);
                    client
                        .hold(HoldRequest {
                            command_id,
                            lease_ns,
                        })
                        .await
                }
                Order::Reset => client.reset(ResetRequest { command_id }).await,
                Order::Record(on) => client.record(RecordRequest { command_id, on }).await,
                Order::Window(length) => {
                    let length_ns = ns(length);
                    client
                        .record_window(RecordWindowRequest {
                            command_id,
                            length_ns,
                        })
                        .await
                }
                Order::Strategy(strategy) => {
                    let strategy = strategy.to_string();
                    client
                        .set_strategy(SetStrategyRequest {
                            command_id,
                            strategy,
                        })
                        .await
                }
                Order::Shutdown => client.shutdown(ShutdownRequest { command_id }).await,
            }
        };
        // So that the audit log can name the client; where this is not answered, the order tells
        // why.
        let _ = client.clone().hello(hello()).await;
        patiently(connect, call).await
    }
}

/// Who asks.
pub fn hello() -> HelloRequest {
    HelloRequest {
        client: concat!("invivo ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// A command's id that no other command has; 0 would leave the choice to the gateway.
fn fresh_id() -> u64 {
    let mut bytes = [0u8; 8];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if filled != Ok(bytes.len()) {
        // No random numbers: this process and this moment are as good, as nobody need be unable to
        // guess it.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = since.unwrap_or_default().as_nanos() as u64;
        bytes = (now.rotate_left(20) ^ u64::from(std::process::id())).to_le_bytes();
    }
    u64::from_le_bytes(bytes).max(1)
}
