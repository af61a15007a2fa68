//! Starts the gateway's listeners and services, and shuts them down in order.

use crate::audit::Audit;
use crate::auth::invitations::Invitations;
use crate::auth::middleware::AuthMiddleware;
use crate::auth::token_check::Auth;
use crate::auth::tokens::Tokens;
use crate::connect_file::{self, Tls};
use crate::connection::admission::{Admission, Capacity};
use crate::connection::serve::ConnectionContext;
use crate::limits::rate_limited_log::RateLimitedLog;
use crate::limits::{self, Times};
use crate::listener::address::ListenAddress;
use crate::listener::{self, tcp, tls_identity, unix};
use crate::root_link::RootLink;
use crate::root_link::request::RootState;
use crate::service::Service;
use anyhow::Context;
use futures_util::future::Either;
use invivo_grpc::DESCRIPTORS;
use invivo_grpc::v1::invivo_server::{InvivoServer, SERVICE_NAME};
use invivo_jobdir::{Connect, Liveness};
use std::future::Future;
use std::path::PathBuf;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// The paths of a gateway.
#[derive(Clone, Debug)]
pub struct Config {
    /// The socket for clients.
    pub socket: PathBuf,
    /// The root's socket.
    pub link: PathBuf,
    /// The job's `connect.json`; the audit log is written beside it.
    pub connect: PathBuf,
}

/// Options of a gateway.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The TCP address to listen on, with TLS.
    pub listen: Option<ListenAddress>,
    pub times: Times,
}

/// Serves until `end` completes or the job's supervisor is gone.
///
/// # Errors
/// If the gateway cannot start, as a sentence.
pub async fn serve(config: Config, end: impl Future<Output = ()>) -> anyhow::Result<()> {
    serve_with(config, Options::default(), end).await
}

/// As [`serve`], with options. An error of the TCP listener is written to `connect.json` and to the
/// log; the Unix socket is served nevertheless.
///
/// # Errors
/// If the gateway cannot start, as a sentence.
pub async fn serve_with(
    config: Config,
    options: Options,
    end: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let connect = Connect::read(&config.connect)?;
    let dir = config
        .connect
        .parent()
        .context("connect.json has no directory")?;

    // Before the socket: no command is accepted without its log.
    let audit = Audit::open(dir).context("cannot start the audit log")?;
    let capacity = Capacity::within(descriptors()).map_err(anyhow::Error::msg)?;

    let on_unix = unix::Listener::bind(&config.socket).await?;
    tracing::info!(socket = %config.socket.display(), job = connect.job, ?capacity, "serving");

    let on_tcp = match &options.listen {
        None => None,
        Some(address) => {
            let (tls, listening) = match listen(address, &connect.job).await {
                Ok((tls, listening)) => (tls, Some(listening)),
                Err(error) => (
                    Tls::Trouble(format!("cannot listen on {address}: {error:#}")),
                    None,
                ),
            };
            publish(&config, address, &tls);
            listening.map(|(listener, acceptor)| (listener, acceptor, tls))
        }
    };

    let link = RootLink::open(config.link);
    // True once the gateway ends: streams then finish by themselves instead of being cut.
    let (close, closing) = watch::channel(false);
    let tokens = Tokens::new(connect.view.clone(), connect.control.clone());

    let url = on_tcp.as_ref().and_then(|(_, _, tls)| match tls {
        Tls::At { url, .. } => Some(url.clone()),
        Tls::Trouble(_) => None,
    });

    let invitations = Invitations::new(tokens.clone(), url, options.times.invite);
    let log = RateLimitedLog::default();
    let auth = Auth::new(tokens, audit.clone());

    let routes = routes(link, audit.clone(), invitations, closing.clone())?;
    let context = ConnectionContext {
        admission: Admission::new(capacity),
        services: AuthMiddleware::new(auth, routes, log.clone()),
        times: options.times,
        closing,
        cut: CancellationToken::new(),
        tasks: TaskTracker::new(),
        log,
        audit: audit.clone(),
    };
    let tcp = match on_tcp {
        // Never completes: without TCP the other branches decide.
        None => Either::Left(std::future::pending()),
        Some((listener, acceptor, _)) => {
            Either::Right(listener::serve_tcp(listener, acceptor, context.clone()))
        }
    };
    tokio::select! {
        () = listener::serve_unix(on_unix, context.clone()) => {}
        () = tcp => {}
        () = end => tracing::info!("asked to end"),
        () = job_gone(&connect) => tracing::info!("the job's supervisor is gone"),
    }

    // The listeners are dropped: no new connection. Calls in progress have a limited time to
    // finish.
    close.send_replace(true);
    context.tasks.close();
    if tokio::time::timeout(limits::SHUTDOWN_TIME_MAX, context.tasks.wait())
        .await
        .is_err()
    {
        tracing::info!("calls under way were cut off");
    }
    // Cuts what has not finished in time; tasks see it at their next poll.
    context.cut.cancel();
    // Last: commands that finished meanwhile have logged their outcomes.
    if !audit.flush(limits::SHUTDOWN_TIME_MAX) {
        tracing::error!("the audit log could not be written to its end");
    }
    Ok(())
}

/// The limit on open files of this process.
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(usize::MAX)
}

/// Listens on TCP, with a TLS identity made for the address.
async fn listen(
    address: &ListenAddress,
    job: &str,
) -> anyhow::Result<(Tls, (TcpListener, TlsAcceptor))> {
    let listener = tcp::bind(address).await?;
    let names = tcp::names(address, listener.local_addr()?, &invivo_jobdir::host());
    let identity = tls_identity::identity(job, &names.certified)?;
    let at = Tls::At {
        url: names.url,
        authority: identity.authority,
    };
    Ok((at, (listener, TlsAcceptor::from(identity.server))))
}

/// Writes the TLS address, or why there is none, to `connect.json` and to the log.
fn publish(config: &Config, address: &ListenAddress, tls: &Tls) {
    match tls {
        Tls::At { url, .. } => tracing::info!(url, "serving with TLS"),
        Tls::Trouble(why) => tracing::error!("{why}; only the socket is served"),
    }
    if address.is_wildcard() {
        tracing::warn!(
            "listening on all addresses of this host, as asked for by {address}: every network \
             that it is connected to can reach the gateway"
        );
    }
    if let Err(error) = connect_file::publish(&config.connect, tls) {
        let path = config.connect.display();
        tracing::error!(%error, %path, "cannot say in connect.json where TLS is served");
    }
}

/// All services: Invivo, health, reflection.
fn routes(
    link: RootLink,
    audit: Audit,
    invitations: Invitations,
    closing: watch::Receiver<bool>,
) -> anyhow::Result<Routes> {
    let (health, health_service) = tonic_health::server::health_reporter();
    // Ends when the link's last handle is dropped.
    tokio::spawn(report_health(health, link.root()));
    let service = InvivoServer::new(Service::new(link, audit, invitations, closing))
        .max_decoding_message_size(limits::REQUEST_BYTES_MAX)
        .max_encoding_message_size(limits::ANSWER_BYTES_MAX);

    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok(Routes::new(service)
        .add_service(health_service)
        // Both versions, because most clients know only the older one.
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?))
}

/// Completes when the supervisor that started this gateway has died without ending it.
async fn job_gone(connect: &Connect) {
    loop {
        // Asked first after one interval: at the start the supervisor is certainly there.
        tokio::time::sleep(limits::LIVENESS_INTERVAL).await;
        if connect.liveness() == Liveness::Stale {
            return;
        }
    }
}

/// Reports the service as healthy while the root is connected.
async fn report_health(health: HealthReporter, mut root: watch::Receiver<RootState>) {
    loop {
        let status = match *root.borrow_and_update() {
            RootState::Connected(_) => ServingStatus::Serving,
            RootState::Disconnected(_) => ServingStatus::NotServing,
        };
        health.set_service_status(SERVICE_NAME, status).await;
        if root.changed().await.is_err() {
            return;
        }
    }
}
