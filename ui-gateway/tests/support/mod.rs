//! A job's directories with a gateway in them, and clients for it.
#![allow(dead_code, reason = "each test program uses a part")]

use hyper_util::rt::TokioIo;
use invivo_grpc::channel::Way;
use invivo_grpc::v1::invivo_client::InvivoClient;
use invivo_jobdir::Connect;
use invivo_ui_gateway::server::{self, Config, Options};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::metadata::MetadataValue;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status};

/// The directory of one job.
pub struct JobDir {
    dir: TempDir,
    pub connect: Connect,
}

/// Puts a token into each call.
#[derive(Clone)]
pub struct Bearer(pub Option<String>);

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            let value = MetadataValue::try_from(format!("Bearer {token}")).expect("ascii");
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

pub type Client = InvivoClient<InterceptedService<Channel, Bearer>>;

impl JobDir {
    pub fn new() -> JobDir {
        let private = std::fs::Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new()
            .permissions(private)
            .tempdir()
            .expect("directory");
        let socket = dir.path().join("gateway.sock");
        let connect = Connect::new("known", &socket, vec!["./app".into()]).expect("random numbers");
        let job = JobDir { dir, connect };
        job.write_connect();
        job
    }

    pub fn write_connect(&self) {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.connect_path());
        serde_json::to_writer(file.expect("opened"), &self.connect).expect("written");
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn connect_path(&self) -> PathBuf {
        self.path().join("connect.json")
    }

    pub fn link(&self) -> PathBuf {
        self.path().join("link.sock")
    }

    pub fn config(&self) -> Config {
        Config {
            socket: self.connect.socket.clone(),
            link: self.link(),
            connect: self.connect_path(),
        }
    }

    /// Starts a gateway in this process and waits until it listens.
    pub async fn gateway(&self) -> Gateway {
        self.gateway_with(Options::default()).await
    }

    /// The same, listening with TLS on a free local port as well.
    pub async fn gateway_with_tls(&self) -> Gateway {
        let options = Options {
            listen: Some("127.0.0.1:0".parse().expect("an address")),
            ..Options::default()
        };
        let gateway = self.gateway_with(options).await;
        while self.published().url.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        gateway
    }

    /// The same with options.
    pub async fn gateway_with(&self, options: Options) -> Gateway {
        let (end, ended) = oneshot::channel::<()>();
        let serving = tokio::spawn(server::serve_with(self.config(), options, async {
            let _ = ended.await;
        }));
        while !self.connect.socket.exists() {
            assert!(
                !serving.is_finished(),
                "the gateway ended: {:?}",
                serving.await
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Gateway { end, serving }
    }

    /// What the gateway has made of connect.json.
    pub fn published(&self) -> Connect {
        Connect::read(&self.connect_path()).expect("read")
    }

    /// A client from another host, which can only use TLS.
    pub fn afar(&self, token: Option<&str>) -> Client {
        let published = self.published();
        let way = Way::Tls {
            url: published.url.expect("a URL"),
            authority: published.authority.expect("an authority"),
        };
        let channel = way.channel().expect("a channel");
        InvivoClient::with_interceptor(channel, Bearer(token.map(str::to_owned)))
    }

    pub fn channel(&self) -> Channel {
        channel(&self.connect.socket)
    }

    pub fn client(&self, token: Option<&str>) -> Client {
        InvivoClient::with_interceptor(self.channel(), Bearer(token.map(str::to_owned)))
    }

    pub fn viewer(&self) -> Client {
        self.client(Some(&self.connect.view))
    }

    pub fn controller(&self) -> Client {
        self.client(Some(&self.connect.control))
    }

    /// Waits until the root is connected, or is not.
    pub async fn root_connected(&self, wanted: bool) {
        let mut client = self.viewer();
        for _ in 0..500 {
            let hello = client
                .hello(invivo_grpc::v1::HelloRequest::default())
                .await
                .expect("hello")
                .into_inner();
            if hello.root_connected == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("root_connected did not become {wanted} within 5 s");
    }
}

/// A channel to a socket; the small window makes a client that does not read push back soon.
pub fn channel(socket: &Path) -> Channel {
    let socket = socket.to_owned();
    let connector = tower::service_fn(move |_: Uri| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535)
        .connect_with_connector_lazy(connector)
}

/// A gateway in this process.
pub struct Gateway {
    end: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
}

impl Gateway {
    /// Asks it to end and waits until it has.
    pub async fn end(self) {
        let _ = self.end.send(());
        self.serving.await.expect("joined").expect("ended well");
    }
}
