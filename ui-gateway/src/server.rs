//! Everything put together: the socket, the layer in front, the services, and an orderly end.

use crate::audit::Audit;
use crate::auth::{Auth, Tokens};
use crate::limits;
use crate::link::{Link, Root};
use crate::listener::Listener;
use crate::service::Service;
use anyhow::Context;
use invivo_grpc::DESCRIPTORS;
use invivo_grpc::connect::{Connect, Liveness};
use invivo_grpc::v1::invivo_server::{InvivoServer, SERVICE_NAME};
use std::future::Future;
use std::path::PathBuf;
use tokio::sync::watch;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The socket for clients.
    pub socket: PathBuf,
    /// The root's socket.
    pub link: PathBuf,
    /// The job's `connect.json`; the audit log is written beside it.
    pub connect: PathBuf,
}

/// Serves until `end` is done or the job's supervisor is gone.
///
/// # Errors
/// When the gateway cannot begin to serve, as a sentence.
pub async fn serve(config: Config, end: impl Future<Output = ()>) -> anyhow::Result<()> {
    let connect = Connect::read(&config.connect)?;
    let dir = config.connect.parent().context("connect.json has no directory")?;
    let audit = Audit::open(dir).context("cannot start the audit log")?;
    let listener = Listener::bind(&config.socket).await?;
    tracing::info!(socket = %config.socket.display(), job = connect.job, "serving");

    let link = Link::open(config.link);
    let (close, closing) = watch::channel(false);
    let tokens = Tokens {
        view: connect.view.clone(),
        control: connect.control.clone(),
    };
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(report_health(health, link.root()));
    let service = InvivoServer::new(Service::new(link, audit.clone(), closing.clone()))
        .max_decoding_message_size(limits::REQUEST_BYTES_MAX)
        .max_encoding_message_size(limits::ANSWER_BYTES_MAX);
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let server = Server::builder()
        .max_concurrent_streams(limits::CALLS_PER_CONNECTION_MAX)
        .layer(Auth::new(tokens, audit.clone()))
        .add_service(service)
        .add_service(health_service)
        // Of the two versions most clients know the older one only.
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?);
    let mut told = closing;
    let serving = server.serve_with_incoming_shutdown(listener.incoming(), async move {
        // An error means that the sender is gone: time to end as well.
        let _ = told.wait_for(|closing| *closing).await;
    });
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => served.context("the server ended by itself")?,
        () = end => tracing::info!("asked to end"),
        () = job_gone(&connect) => tracing::info!("the job's supervisor is gone"),
    }
    close.send_replace(true);
    if tokio::time::timeout(limits::SHUTDOWN_TIME_MAX, serving)
        .await
        .is_err()
    {
        tracing::info!("calls under way were cut off");
    }
    if !audit.flush(limits::SHUTDOWN_TIME_MAX) {
        tracing::error!("the audit log could not be written to its end");
    }
    Ok(())
}

/// Comes back when the supervisor that started this gateway is gone without having said so.
async fn job_gone(connect: &Connect) {
    loop {
        tokio::time::sleep(limits::LIVENESS_INTERVAL).await;
        if connect.liveness() == Liveness::Stale {
            return;
        }
    }
}

/// The service is healthy while the root is connected.
async fn report_health(health: HealthReporter, mut root: watch::Receiver<Root>) {
    loop {
        let status = match *root.borrow_and_update() {
            Root::Here(_) => ServingStatus::Serving,
            Root::Away(_) => ServingStatus::NotServing,
        };
        health.set_service_status(SERVICE_NAME, status).await;
        if root.changed().await.is_err() {
            return;
        }
    }
}
