//! The gRPC client of a job's gateway.

use crate::job::Job;
use invivo_grpc::v1::invivo_client::InvivoClient;
use std::time::Duration;
use tokio::time::Instant;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

/// How long a command waits for a gateway or a root that is unreachable: they may be starting, or
/// starting again.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Between two attempts.
pub const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The longest answer that is taken, in bytes; the gateway gives no longer ones.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a command needs to be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// To look.
    View,
    /// To act.
    Control,
}

/// The generated client with a token in every call.
pub type Client = InvivoClient<InterceptedService<Channel, Bearer>>;

/// Puts the token into a call's metadata.
#[derive(Clone, Debug)]
pub struct Bearer {
    value: MetadataValue<Ascii>,
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request
            .metadata_mut()
            .insert("authorization", self.value.clone());
        Ok(request)
    }
}

/// Why a call was not answered: a sentence with what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct CallError {
    /// The gateway or the root is away; otherwise it answered with an error.
    pub unreachable: bool,
    text: String,
}

/// A client for the job's gateway. The connection is made with the first call, and again when it
/// broke.
///
/// # Errors
/// When `connect.json` holds what cannot be a token or an address.
pub fn client(job: &Job, scope: Scope) -> anyhow::Result<Client> {
    let token = match scope {
        Scope::View => &job.view,
        Scope::Control => &job.control,
    };
    anyhow::ensure!(
        !token.is_empty(),
        "connect.json of job {} has no token for this",
        job.job
    );
    let mut value = MetadataValue::try_from(format!("Bearer {token}"))
        .map_err(|_| anyhow::anyhow!("the token in connect.json of job {} is no token", job.job))?;
    // Kept out of debug output and of HTTP/2's table of compressed headers.
    value.set_sensitive(true);
    Ok(
        InvivoClient::with_interceptor(job.channel()?, Bearer { value })
            .max_decoding_message_size(ANSWER_BYTES_MAX),
    )
}

/// Makes a call, and makes it again while the gateway or the root is away, for at most
/// [`PATIENCE`]. Commands may be repeated like that as their id makes them one.
///
/// # Errors
/// The last answer, as a sentence with what to do next.
pub async fn patiently<T, F>(job: &Job, call: impl Fn() -> F) -> Result<T, CallError>
where
    F: Future<Output = Result<tonic::Response<T>, Status>>,
{
    // By the clock and not by attempts, which take anything from microseconds to seconds.
    let mut deadline = Instant::now() + PATIENCE;
    loop {
        let called_at = Instant::now();
        let status = match call().await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => status,
        };
        // A long call that fails has lost its gateway just now: that one gets the full time to come
        // back.
        if called_at.elapsed() > PATIENCE {
            deadline = Instant::now() + PATIENCE;
        }
        // Every other code is an answer, and stays the same however often it is requested.
        if status.code() != Code::Unavailable || Instant::now() >= deadline {
            return Err(explained(job, &status));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// What went wrong, why, and what to do next.
pub fn explained(from: &Job, status: &Status) -> CallError {
    let job = &from.job;
    // A status with a source was made on this side: the connection did not come about or broke.
    if let Some(source) = std::error::Error::source(status) {
        let (way, next) = from.way();
        return CallError {
            unreachable: true,
            text: format!(
                "the gateway of job {job} does not answer on {way}: {}; the application is not \
                 affected; {next}",
                innermost(source),
            ),
        };
    }
    let text = match status.code() {
        Code::Unauthenticated => format!(
            "the gateway of job {job} refuses the token ({}); the job may have been started anew: \
             try again",
            status.message()
        ),
        Code::Unimplemented => format!(
            "the gateway of job {job} is of another version and does not know this call; use the \
             invivo that \
             started the job"
        ),
        _ => format!("job {job}: {}", status.message()),
    };
    CallError {
        unreachable: status.code() == Code::Unavailable,
        text,
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    // tonic wraps the system's error several times ("transport error"); only the innermost one
    // names the cause.
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
