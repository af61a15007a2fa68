//! One connection to the root: asks for its job, then exchanges requests and answers until it
//! breaks.

use super::request::{LinkError, PendingRequest, Reply, RootState};
use crate::limits;
use futures_util::{SinkExt, StreamExt};
use invivo_proto::control::link::{Answer, Ask, Request, Response};
use invivo_proto::control::{self, MESSAGE_BYTES_MAX};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::io::AsyncRead;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::bytes::Bytes;
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

/// Why a connection ended.
pub(super) struct Lost {
    pub why: String,
    /// All handles on the link are dropped: nobody needs another connection.
    pub unused: bool,
}

impl From<String> for Lost {
    fn from(why: String) -> Lost {
        Lost { why, unused: false }
    }
}

/// Requests without an answer, by their id on this connection.
#[derive(Default)]
struct PendingReplies {
    last_id: u64,
    replies: BTreeMap<u64, oneshot::Sender<Result<Reply, LinkError>>>,
}

impl PendingReplies {
    /// Registers a request and returns its bytes; a request that cannot be sent is answered here.
    fn register(&mut self, pending: PendingRequest) -> Option<Vec<u8>> {
        if self.replies.len() >= limits::PENDING_REQUESTS_MAX {
            // Callers that have given up do not count.
            self.replies.retain(|_, reply| !reply.is_closed());
        }
        if self.replies.len() >= limits::PENDING_REQUESTS_MAX {
            let _ = pending.reply.send(Err(LinkError::Busy(self.replies.len())));
            return None;
        }

        self.last_id += 1;
        // Ids are of this connection only: an answer of an earlier one can never be taken for this
        // request's.
        match control::encode(&Request {
            id: self.last_id,
            ask: pending.ask,
        }) {
            Ok(bytes) => {
                self.replies.insert(self.last_id, pending.reply);
                Some(bytes)
            }
            Err(error) => {
                let _ = pending
                    .reply
                    .send(Err(LinkError::Refused(error.to_string())));
                None
            }
        }
    }

    /// Passes an answer to its caller. An unknown id is an answer whose caller has given up.
    fn answer(&mut self, response: Response) {
        if let Some(reply) = self.replies.remove(&response.id) {
            let _ = reply.send(Ok(Reply {
                answer: response.answer,
                missing: response.missing,
            }));
        }
    }

    fn fail_all(self, why: &str) {
        let why: Arc<str> = why.into();
        for reply in self.replies.into_values() {
            let _ = reply.send(Err(LinkError::Disconnected(why.clone())));
        }
    }
}

/// Connects, and exchanges messages until the connection breaks.
pub(super) async fn exchange_until_lost(
    path: &Path,
    requests: &mut mpsc::Receiver<PendingRequest>,
    state: &watch::Sender<RootState>,
) -> Lost {
    let stream = match connect(path).await {
        Ok(stream) => stream,
        Err(lost) => return lost,
    };
    let (reader, writer) = stream.into_split();
    let mut reader = FramedRead::new(reader, codec());

    // Writing has a task of its own: a root that does not read must not keep the gateway from
    // reading its answers.
    let (out, mut outgoing) = mpsc::channel::<Vec<u8>>(limits::PENDING_REQUESTS_MAX);
    let mut writer = FramedWrite::new(writer, codec());
    let writing = tokio::spawn(async move {
        while let Some(bytes) = outgoing.recv().await {
            if writer.send(Bytes::from(bytes)).await.is_err() {
                break;
            }
        }
    });

    let mut pending_replies = PendingReplies::default();
    let lost = exchange(&mut reader, &out, requests, &mut pending_replies, state).await;
    // The writer may be blocked in a write to a root that does not read.
    writing.abort();
    pending_replies.fail_all(&lost.why);
    lost
}

/// Frames of a length (u32, little-endian) and a message, as the root writes and expects them.
fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .little_endian()
        .length_field_type::<u32>()
        .max_frame_length(MESSAGE_BYTES_MAX)
        .new_codec()
}

async fn connect(path: &Path) -> Result<UnixStream, Lost> {
    let stream = UnixStream::connect(path)
        .await
        .map_err(|error| format!("cannot connect to {}: {error}", path.display()))?;
    let peer = stream
        .peer_cred()
        .map_err(|error| format!("cannot tell who listens: {error}"))?;
    // Commands must not go to another user's process.
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!(
            "{} is served by another user ({})",
            path.display(),
            peer.uid()
        )
        .into());
    }
    Ok(stream)
}

/// Asks for the job, then exchanges requests and answers until the connection breaks.
async fn exchange(
    reader: &mut FramedRead<impl AsyncRead + Unpin, LengthDelimitedCodec>,
    out: &mpsc::Sender<Vec<u8>>,
    requests: &mut mpsc::Receiver<PendingRequest>,
    pending_replies: &mut PendingReplies,
    state: &watch::Sender<RootState>,
) -> Lost {
    // The job goes first: Hello needs it, and a root that cannot tell it is of no use.
    let (reply, mut job) = oneshot::channel();
    let mut job_pending = true;
    if let Some(bytes) = pending_replies.register(PendingRequest {
        ask: Ask::Job,
        reply,
    }) && out.try_send(bytes).is_err()
    {
        return "the connection broke at once".to_owned().into();
    }

    let job_deadline = tokio::time::sleep(limits::QUERY_TIME_MAX);
    tokio::pin!(job_deadline);
    loop {
        tokio::select! {
            frame = reader.next() => match frame {
                None => return "it closed the connection".to_owned().into(),
                Some(Err(error)) => return format!("the connection broke: {error}").into(),
                Some(Ok(bytes)) => match control::decode::<Response>(&bytes) {
                    Ok(response) => pending_replies.answer(response),
                    Err(error) => return format!("it sent what is no answer: {error}").into(),
                },
            },
            answer = &mut job, if job_pending => match answer {
                Ok(Ok(Reply { answer: Answer::Job(job), .. })) => {
                    tracing::info!(
                        job = job.id,
                        ranks = job.ranks,
                        places = job.places,
                        "the root is connected"
                    );
                    state.send_replace(RootState::Connected(Arc::new(job)));
                    job_pending = false;
                }
                // A refusal, an error, or another kind of answer: the connection is given up and
                // made anew.
                _ => return "it did not say which job it has".to_owned().into(),
            },
            () = &mut job_deadline, if job_pending => {
                return "it did not say which job it has".to_owned().into();
            }
            // Until the root has answered with its job, requests wait in their channel: at most
            // until the deadline above.
            pending = requests.recv(), if !job_pending => match pending {
                None => {
                    // All handles are dropped, which happens only when the gateway ends.
                    let why = "the gateway is ending".to_owned();
                    return Lost { why, unused: true };
                }
                Some(pending) => if let Some(bytes) = pending_replies.register(pending)
                    && out.try_send(bytes).is_err()
                {
                    // The channel to the writing task is full: the root does not read.
                    return "it takes no more requests".to_owned().into();
                },
            },
        }
    }
}
