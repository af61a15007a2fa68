//! Everything put together: the listeners, what stands in front, the services, and an orderly end.

use crate::announce::{self, Tls};
use crate::audit::Audit;
use crate::auth::{Auth, Tokens};
use crate::complaints::Complaints;
use crate::connection::Host;
use crate::door::{Door, Room};
use crate::front::Front;
use crate::invite::Invites;
use crate::limits::{self, Times};
use crate::link::{Link, Root};
use crate::listener::address::ListenAddress;
use crate::listener::{self, tcp, unix};
use crate::service::Service;
use crate::tls;
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

/// What may be asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where to listen on TCP as well, with TLS.
    pub listen: Option<ListenAddress>,
    /// Times that a client has.
    pub times: Times,
}

/// Serves until `end` is done or the job's supervisor is gone.
///
/// # Errors
/// When the gateway cannot begin to serve, as a sentence.
pub async fn serve(config: Config, end: impl Future<Output = ()>) -> anyhow::Result<()> {
    serve_with(config, Options::default(), end).await
}

/// The same with options. Trouble with TCP is told in `connect.json` and in the log; the socket is
/// served nevertheless.
///
/// # Errors
/// When the gateway cannot begin to serve, as a sentence.
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
    let audit = Audit::open(dir).context("cannot start the audit log")?;
    let room = Room::within(descriptors()).map_err(anyhow::Error::msg)?;
    let on_unix = unix::Listener::bind(&config.socket).await?;
    tracing::info!(socket = %config.socket.display(), job = connect.job, ?room, "serving");
    let on_tcp = match &options.listen {
        None => None,
        Some(address) => {
            let (told, listening) = match listen(address, &connect.job).await {
                Ok((tls, listening)) => (tls, Some(listening)),
                Err(error) => (
                    Tls::Trouble(format!("cannot listen on {address}: {error:#}")),
                    None,
                ),
            };
            tell(&config, address, &told);
            listening.map(|(listener, acceptor)| (listener, acceptor, told))
        }
    };

    let link = Link::open(config.link);
    let (close, closing) = watch::channel(false);
    let tokens = Tokens {
        view: connect.view.clone(),
        control: connect.control.clone(),
    };
    let url = on_tcp.as_ref().and_then(|(_, _, tls)| match tls {
        Tls::At { url, .. } => Some(url.clone()),
        Tls::Trouble(_) => None,
    });
    let invites = Invites::new(tokens.clone(), url, options.times.invite);
    let complaints = Complaints::default();
    let auth = Auth::new(tokens, audit.clone());
    let routes = routes(link, audit.clone(), invites, closing.clone())?;
    let host = Host {
        door: Door::new(room),
        front: Front::new(auth, routes, complaints.clone()),
        times: options.times,
        closing,
        cut: CancellationToken::new(),
        tasks: TaskTracker::new(),
        complaints,
    };
    let tcp = match on_tcp {
        None => Either::Left(std::future::pending()),
        Some((listener, acceptor, _)) => {
            Either::Right(listener::serve_tcp(listener, acceptor, host.clone()))
        }
    };
    tokio::select! {
        () = listener::serve_unix(on_unix, host.clone()) => {}
        () = tcp => {}
        () = end => tracing::info!("asked to end"),
        () = job_gone(&connect) => tracing::info!("the job's supervisor is gone"),
    }
    // Nobody comes in any more: the listeners were dropped.
    close.send_replace(true);
    host.tasks.close();
    if tokio::time::timeout(limits::SHUTDOWN_TIME_MAX, host.tasks.wait())
        .await
        .is_err()
    {
        tracing::info!("calls under way were cut off");
    }
    host.cut.cancel();
    if !audit.flush(limits::SHUTDOWN_TIME_MAX) {
        tracing::error!("the audit log could not be written to its end");
    }
    Ok(())
}

/// How many files this process may have open.
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(usize::MAX)
}

/// Listens on TCP, with an identity made for it.
async fn listen(
    address: &ListenAddress,
    job: &str,
) -> anyhow::Result<(Tls, (TcpListener, TlsAcceptor))> {
    let listener = tcp::bind(address).await?;
    let names = tcp::names(address, listener.local_addr()?, &invivo_jobdir::host());
    let identity = tls::identity(job, &names.certified)?;
    let at = Tls::At {
        url: names.url,
        authority: identity.authority,
    };
    Ok((at, (listener, TlsAcceptor::from(identity.server))))
}

/// Says where it listens, or why not, to clients and in the log.
fn tell(config: &Config, address: &ListenAddress, tls: &Tls) {
    match tls {
        Tls::At { url, .. } => tracing::info!(url, "serving with TLS"),
        Tls::Trouble(why) => tracing::error!("{why}; only the socket is served"),
    }
    if address.is_wildcard() {
        tracing::warn!(
            "listening on all addresses of this host, as asked for by {address}: every network that it is connected to \
             can reach the gateway"
        );
    }
    if let Err(error) = announce::announce(&config.connect, tls) {
        tracing::error!(%error, path = %config.connect.display(), "cannot say in connect.json where TLS is served");
    }
}

/// All services.
fn routes(
    link: Link,
    audit: Audit,
    invites: Invites,
    closing: watch::Receiver<bool>,
) -> anyhow::Result<Routes> {
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(report_health(health, link.root()));
    let service = InvivoServer::new(Service::new(link, audit, invites, closing))
        .max_decoding_message_size(limits::REQUEST_BYTES_MAX)
        .max_encoding_message_size(limits::ANSWER_BYTES_MAX);
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok(Routes::new(service)
        .add_service(health_service)
        // Of the two versions most clients know the older one only.
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?))
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
