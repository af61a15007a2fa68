//! One connection to the root, from the first question (which job is this?) to its break.

use super::{Asked, LinkError, Reply, Root};
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
pub(super) struct Broken {
    pub why: String,
    /// It was ended because all handles on the link are gone.
    pub nobody_asks: bool,
}

impl From<String> for Broken {
    fn from(why: String) -> Broken {
        Broken {
            why,
            nobody_asks: false,
        }
    }
}

/// Requests that wait for an answer.
#[derive(Default)]
struct Waiting {
    last_id: u64,
    replies: BTreeMap<u64, oneshot::Sender<Result<Reply, LinkError>>>,
}

impl Waiting {
    /// Takes a request in and gives its bytes; a request that cannot be taken is answered here.
    fn take_in(&mut self, asked: Asked) -> Option<Vec<u8>> {
        if self.replies.len() >= limits::PENDING_REQUESTS_MAX {
            // Those whose callers gave up make room.
            self.replies.retain(|_, reply| !reply.is_closed());
        }
        if self.replies.len() >= limits::PENDING_REQUESTS_MAX {
            let _ = asked.reply.send(Err(LinkError::Busy(self.replies.len())));
            return None;
        }
        self.last_id += 1;
        match control::encode(&Request {
            id: self.last_id,
            ask: asked.ask,
        }) {
            Ok(bytes) => {
                self.replies.insert(self.last_id, asked.reply);
                Some(bytes)
            }
            Err(error) => {
                let _ = asked.reply.send(Err(LinkError::Refused(error.to_string())));
                None
            }
        }
    }

    /// Hands an answer to who asked. An unknown id is an answer that came after its caller gave up.
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
            let _ = reply.send(Err(LinkError::Away(why.clone())));
        }
    }
}

/// Connects and talks until the connection breaks.
pub(super) async fn talk(
    path: &Path,
    requests: &mut mpsc::Receiver<Asked>,
    state: &watch::Sender<Root>,
) -> Broken {
    let stream = match connect(path).await {
        Ok(stream) => stream,
        Err(broken) => return broken,
    };
    let (reader, writer) = stream.into_split();
    let mut reader = FramedRead::new(reader, codec());
    // Writing has a task of its own: a root that does not read must not keep us from reading its
    // answers.
    let (out, mut outgoing) = mpsc::channel::<Vec<u8>>(limits::PENDING_REQUESTS_MAX);
    let mut writer = FramedWrite::new(writer, codec());
    let writing = tokio::spawn(async move {
        while let Some(bytes) = outgoing.recv().await {
            if writer.send(Bytes::from(bytes)).await.is_err() {
                break;
            }
        }
    });
    let mut waiting = Waiting::default();
    let broken = exchange(&mut reader, &out, requests, &mut waiting, state).await;
    writing.abort();
    waiting.fail_all(&broken.why);
    broken
}

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .little_endian()
        .length_field_type::<u32>()
        .max_frame_length(MESSAGE_BYTES_MAX)
        .new_codec()
}

async fn connect(path: &Path) -> Result<UnixStream, Broken> {
    let stream = UnixStream::connect(path)
        .await
        .map_err(|error| format!("cannot connect to {}: {error}", path.display()))?;
    let peer = stream
        .peer_cred()
        .map_err(|error| format!("cannot tell who listens: {error}"))?;
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

/// Asks which job this is, then carries requests and answers until something breaks.
async fn exchange(
    reader: &mut FramedRead<impl AsyncRead + Unpin, LengthDelimitedCodec>,
    out: &mpsc::Sender<Vec<u8>>,
    requests: &mut mpsc::Receiver<Asked>,
    waiting: &mut Waiting,
    state: &watch::Sender<Root>,
) -> Broken {
    let (reply, mut job) = oneshot::channel();
    let mut job_pending = true;
    if let Some(bytes) = waiting.take_in(Asked {
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
                    Ok(response) => waiting.answer(response),
                    Err(error) => return format!("it sent what is no answer: {error}").into(),
                },
            },
            answer = &mut job, if job_pending => match answer {
                Ok(Ok(Reply { answer: Answer::Job(job), .. })) => {
                    tracing::info!(job = job.id, ranks = job.ranks, places = job.places, "the root is connected");
                    state.send_replace(Root::Here(Arc::new(job)));
                    job_pending = false;
                }
                _ => return "it did not say which job it has".to_owned().into(),
            },
            () = &mut job_deadline, if job_pending => return "it did not say which job it has".to_owned().into(),
            // Until the root has said which job this is, requests wait in their channel, as
            // briefly.
            asked = requests.recv(), if !job_pending => match asked {
                None => return Broken { why: "the gateway is ending".to_owned(), nobody_asks: true },
                Some(asked) => if let Some(bytes) = waiting.take_in(asked)
                    && out.try_send(bytes).is_err()
                {
                    // As many requests unsent as may wait for an answer: the root does not read.
                    return "it takes no more requests".to_owned().into();
                },
            },
        }
    }
}
