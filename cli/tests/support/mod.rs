//! A user with jobs, each with a gateway and a scripted root behind it, and the real `invivo`.
#![allow(dead_code, reason = "each test program uses a part")]

#[path = "../../../ui-gateway/tests/scripted_root/mod.rs"]
pub mod scripted_root;

use invivo_jobdir::Connect;
use invivo_proto::control::link::Ask;
use invivo_ui_gateway::server::{self, Config, Options};
use scripted_root::{Reply, ScriptedRoot};
use serde_json::Value;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A user's state directory.
pub struct User {
    pub home: TempDir,
}

impl User {
    pub fn new() -> User {
        let private = std::fs::Permissions::from_mode(0o700);
        User {
            home: tempfile::Builder::new()
                .permissions(private)
                .tempdir()
                .expect("directory"),
        }
    }

    pub fn invivo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_invivo-client"));
        command
            .args(arguments)
            .env("XDG_STATE_HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .env("INVIVO_SITE_CONFIG", self.home.path().join("site.toml"))
            // Where no invivo.toml lies.
            .current_dir(self.home.path())
            .env_remove("INVIVO_JOB")
            .env_remove("INVIVO_CONNECT");
        // A proxy that nobody serves: it must not be asked.
        command
            .env("http_proxy", "http://127.0.0.1:1")
            .env("https_proxy", "http://127.0.0.1:1");
        command.kill_on_drop(true);
        command
    }

    /// Exit status, standard output and standard error of a command.
    pub async fn said(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.invivo(arguments).output().await.expect("started");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (
            output.status.code().expect("no signal"),
            text(output.stdout),
            text(output.stderr),
        )
    }

    /// The answer of a command that must succeed without a word on standard error.
    pub async fn text(&self, arguments: &[&str]) -> String {
        let (status, out, err) = self.said(arguments).await;
        assert_eq!((status, err.as_str()), (0, ""), "{arguments:?}");
        out
    }

    pub async fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(arguments).await).expect("json")
    }

    pub fn job(&self, id: &str) -> Job {
        let dir = self.home.path().join("invivo/jobs").join(id);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .expect("made");
        let mut connect = Connect::new(
            id,
            &dir.join("gateway.sock"),
            vec!["./app".into(), "-v".into()],
        )
        .expect("random");
        // Its root has a clock of its own, which begins with the job.
        connect.started_ns = 0;
        let job = Job { dir, connect };
        job.publish();
        job
    }
}

/// A job's directory.
pub struct Job {
    pub dir: PathBuf,
    pub connect: Connect,
}

impl Job {
    pub fn connect_path(&self) -> PathBuf {
        self.dir.join("connect.json")
    }

    pub fn publish(&self) {
        write_private(&self.connect_path(), &self.connect);
    }

    pub fn root(&self, script: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> ScriptedRoot {
        ScriptedRoot::start(&self.dir.join("link.sock"), script)
    }

    pub async fn gateway(&self) -> Gateway {
        self.gateway_with(Options::default()).await
    }

    /// One that listens on TCP as well.
    pub async fn gateway_with(&self, options: Options) -> Gateway {
        let (end, ended) = oneshot::channel::<()>();
        let link = self.dir.join("link.sock");
        let config = Config {
            socket: self.connect.socket.clone(),
            link,
            connect: self.connect_path(),
        };
        let serving = tokio::spawn(server::serve_with(config, options, async {
            let _ = ended.await;
        }));
        wait_for(&self.connect.socket).await;
        Gateway { end, serving }
    }
}

pub async fn wait_for(path: &Path) {
    let there = async {
        while !path.exists() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(5), there)
        .await
        .expect("it appears");
}

pub struct Gateway {
    end: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
}

impl Gateway {
    pub async fn end(self) {
        let _ = self.end.send(());
        self.serving.await.expect("joined").expect("ended well");
    }
}

/// Writes a `connect.json` that only its owner can read.
pub fn write_private(path: &Path, connect: &Connect) {
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    serde_json::to_writer(file.expect("opened"), connect).expect("written");
}

/// Fails where the manual's page of JSON does not list a field of an object in its section.
pub fn assert_on_the_page(section: &str, object: &Value) {
    let page = include_str!("../../../docs/manual/reference/json.md");
    let head = format!("{section}\n");
    let section = page.split("\n### ").find(|text| text.starts_with(&head));
    for field in object.as_object().expect("an object").keys() {
        let is_listed = section.expect(&head).contains(&format!("`{field}`"));
        assert!(field == "version" || is_listed, "{head}{field}");
    }
}
