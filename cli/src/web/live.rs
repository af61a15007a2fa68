//! The stream of snapshots, one line of JSON each. A browser that reads slowly is given newer
//! snapshots, as any client.

use super::json::text;
use super::told::Told;
use crate::client::Client;
use crate::job::Job;
use axum::body::{Body, Bytes};
use invivo_grpc::v1::{Snapshot, WatchRequest};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// Between two attempts to reach a gateway that is away.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// How often.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Often {
    /// Time between two snapshots; 0 is one second, and the gateway gives at most ten a second.
    interval_ns: u64,
}

/// A line of the stream; snapshots are as `invivo watch --json` prints them.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Snapshot {
        snapshot: Box<Snapshot>,
        /// What the other views say of it.
        told: Box<Told>,
    },
    /// The gateway is away, and why; it is looked for.
    Away(String),
    /// The measurement is over.
    Ended {},
}

/// The stream, until the browser goes or the job ends. It holds the permit meanwhile.
pub fn stream(job: Arc<Job>, client: Client, often: Often, permit: OwnedSemaphorePermit) -> Body {
    // One line waits: with the connection full, the gateway skips snapshots.
    let (lines, written) = mpsc::channel(1);
    tokio::spawn(async move {
        let _permit = permit;
        tokio::select! {
            _ = watch(&job, client, often, &lines) => {}
            // A page that is hidden or gone costs nothing, also while the gateway is silent.
            () = lines.closed() => {}
        }
    });
    Body::from_stream(ReceiverStream::new(written).map(Ok::<_, std::convert::Infallible>))
}

/// Passes snapshots on until the job ends, or nobody reads any more.
async fn watch(job: &Job, client: Client, often: Often, lines: &mpsc::Sender<Bytes>) -> Option<()> {
    loop {
        let why = match take(client.clone(), often, lines).await? {
            Ok(()) => "the gateway has ended".to_owned(),
            Err(status) => status.message().to_owned(),
        };
        if job.has_ended().await {
            return send(lines, &Line::Ended {}).await;
        }
        send(lines, &Line::Away(why)).await?;
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// One stream of the gateway to its end; nothing when nobody reads any more.
async fn take(
    mut client: Client,
    Often { interval_ns }: Often,
    lines: &mpsc::Sender<Bytes>,
) -> Option<Result<(), Status>> {
    let request = WatchRequest {
        interval_ns,
        functions: true,
    };
    let mut snapshots = match client.watch(request).await {
        Ok(snapshots) => snapshots.into_inner(),
        Err(status) => return Some(Err(status)),
    };
    loop {
        match snapshots.message().await {
            Ok(Some(snapshot)) => {
                let told = Box::new(Told::of(&snapshot));
                let snapshot = Box::new(snapshot);
                send(lines, &Line::Snapshot { snapshot, told }).await?;
            }
            Ok(None) => return Some(Ok(())),
            Err(status) => return Some(Err(status)),
        }
    }
}

async fn send(lines: &mpsc::Sender<Bytes>, line: &Line) -> Option<()> {
    let mut text = text(line).ok()?;
    text.push('\n');
    lines.send(text.into()).await.ok()
}
