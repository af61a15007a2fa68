//! A client of a job's gateway over its Unix socket. Nothing goes through a proxy, whatever the environment
//! says: the connection is made here.

use crate::connect::Connect;
use hyper_util::rt::TokioIo;
use invivo_grpc::v1::invivo_client::InvivoClient;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::time::Instant;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Request, Status};

/// How long a command waits for a gateway or a root that is not there: they may be starting, or starting again.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
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
        request.metadata_mut().insert("authorization", self.value.clone());
        Ok(request)
    }
}

/// A client for the job's gateway. The connection is made with the first call, and again when it broke.
///
/// # Errors
/// When `connect.json` holds what cannot be a token.
pub fn client(connect: &Connect, scope: Scope) -> anyhow::Result<Client> {
    let token = match scope {
        Scope::View => &connect.view,
        Scope::Control => &connect.control,
    };
    let mut value = MetadataValue::try_from(format!("Bearer {token}"))
        .map_err(|_| anyhow::anyhow!("the token in connect.json of job {} is no token", connect.job))?;
    value.set_sensitive(true);
    let socket = connect.socket.clone();
    let connector = tower::service_fn(move |_: Uri| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    // The address only fills the authority: the connector knows the socket.
    let channel = Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector);
    Ok(InvivoClient::with_interceptor(channel, Bearer { value }).max_decoding_message_size(ANSWER_BYTES_MAX))
}

/// Makes a call, and makes it again while the gateway or the root is away, for at most [`PATIENCE`]. Commands may
/// be repeated like that as their id makes them one.
///
/// # Errors
/// The last answer, as a sentence with what to do next.
pub async fn patiently<T, F>(connect: &Connect, call: impl Fn() -> F) -> anyhow::Result<T>
where
    F: Future<Output = Result<tonic::Response<T>, Status>>,
{
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = match call().await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => status,
        };
        if status.code() != Code::Unavailable || Instant::now() >= deadline {
            return Err(explained(connect, &status));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// What went wrong, why, and what to do next.
pub fn explained(connect: &Connect, status: &Status) -> anyhow::Error {
    let job = &connect.job;
    // A status with a source was made on this side: the connection did not come about or broke.
    if let Some(source) = std::error::Error::source(status) {
        return anyhow::anyhow!(
            "the gateway of job {job} does not answer on {}: {}; the application is not affected; \
             see whether the job still runs: invivo list",
            connect.socket.display(),
            innermost(source),
        );
    }
    match status.code() {
        Code::Unauthenticated => anyhow::anyhow!(
            "the gateway of job {job} refuses the token ({}); the job may have been started anew: try again",
            status.message()
        ),
        Code::Unimplemented => anyhow::anyhow!(
            "the gateway of job {job} is of another version and does not know this call; use the invivo that \
             started the job"
        ),
        _ => anyhow::anyhow!("job {job}: {}", status.message()),
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
