//! The gateway: snapshots that come again after every loss, what a page needs when it is looked at,
//! and commands.

use super::model::Event;
use super::picture::Table;
use crate::client::Client;
use crate::job::Job;
use crate::look::{self, Looker};
use crate::steer;
use crate::view::since_start::SinceStart;
use invivo_grpc::v1::{
    FunctionsRequest, GridRequest, MatrixRequest, WaitStatesRequest, WatchRequest,
};
use invivo_proto::control::order::Order;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tonic::Status;

/// Between two attempts to reach a gateway that is away: often enough to be there soon after it.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What talks to the gateway. What comes back is sent as events.
pub struct Link {
    job: Arc<Job>,
    client: Client,
    interval: Duration,
    events: Sender<Event>,
    /// What a page asked for last.
    asked: Option<(JoinHandle<()>, Instant)>,
}

impl Link {
    /// Snapshots begin to come, at most one per `interval`.
    pub fn open(job: Job, client: Client, interval: Duration, events: Sender<Event>) -> Link {
        let job = Arc::new(job);
        // A task of its own, so that a gateway that does not answer never blocks a key.
        tokio::spawn(watch(job.clone(), client.clone(), interval, events.clone()));
        if job.observation.is_some() {
            tokio::spawn(explain_once(client.clone(), events.clone()));
        } else {
            tokio::spawn(explain_always(client.clone(), events.clone()));
        }
        Link {
            job,
            client,
            interval,
            events,
            asked: None,
        }
    }

    /// Asks for the function table of the last time.
    pub fn want_functions(&mut self, last_ns: u64) {
        self.want(async move |mut client| {
            let request = FunctionsRequest {
                last_ns,
                ..FunctionsRequest::default()
            };
            let reply = client.functions(request).await?;
            Ok(table(last_ns, Table::Functions(reply.into_inner())))
        });
    }

    /// Asks for the matrix.
    pub fn want_matrix(&mut self, side_max: u32, last_ns: u64) {
        self.want(async move |mut client| {
            let request = MatrixRequest {
                side_max,
                last_ns,
                ..MatrixRequest::default()
            };
            let reply = client.matrix(request).await?;
            Ok(table(last_ns, Table::Matrix(reply.into_inner())))
        });
    }

    /// Asks for the ranks over time.
    pub fn want_grid(&mut self, (columns_max, rows_max): (u32, u32), last_ns: u64) {
        let request = GridRequest {
            columns_max,
            rows_max,
            last_ns,
            ..GridRequest::default()
        };
        self.want(async move |mut client| {
            let reply = client.grid(request).await?;
            Ok(table(last_ns, Table::Grid(reply.into_inner())))
        });
    }

    /// Asks who waits for whom.
    pub fn want_waits(&mut self, ranks_max: u32, last_ns: u64) {
        self.want(async move |mut client| {
            let request = WaitStatesRequest {
                ranks_max,
                last_ns,
                ..WaitStatesRequest::default()
            };
            let reply = client.wait_states(request).await?;
            Ok(table(last_ns, Table::Waits(reply.into_inner())))
        });
    }

    /// Asks for what a page shows, unless that has been done within the interval or not been
    /// answered yet.
    fn want<F>(&mut self, ask: impl FnOnce(Client) -> F)
    where
        F: Future<Output = Result<Event, Status>> + Send + 'static,
    {
        let soon = |(task, at): &(JoinHandle<()>, Instant)| {
            !task.is_finished() || at.elapsed() < self.interval
        };
        if self.asked.as_ref().is_some_and(soon) {
            return;
        }
        let (answer, events) = (ask(self.client.clone()), self.events.clone());
        let task = tokio::spawn(async move {
            // The stream of snapshots reports an error as well.
            if let Ok(event) = answer.await {
                let _ = events.send(event).await;
            }
        });
        self.asked = Some((task, Instant::now()));
    }

    /// Gives an order to the job.
    pub fn give(&self, order: Order) {
        let (job, client, events) = (self.job.clone(), self.client.clone(), self.events.clone());
        tokio::spawn(async move {
            // A window is acknowledged after its end: meanwhile the screen goes on.
            let answer = steer::give(&order, &job, &client).await;
            let answer = answer
                .map(|reply| reply.since(job.started_ns))
                .map_err(|error| error.to_string());
            let _ = events.send(Event::Answered(order, answer)).await;
        });
    }
}

fn table(last_ns: u64, table: Table) -> Event {
    Event::Table(last_ns, Box::new(table))
}

fn ns(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// Takes snapshots until the measurement ends or the screen is closed.
async fn watch(job: Arc<Job>, mut client: Client, interval: Duration, events: Sender<Event>) {
    loop {
        let why = match take(&mut client, interval, &events).await {
            Ok(()) => "the gateway has ended".to_owned(),
            Err(status) => status.message().to_owned(),
        };
        let event = if job.has_ended().await {
            Event::Ended
        } else {
            Event::Lost(why)
        };
        let ended = matches!(event, Event::Ended);
        if events.send(event).await.is_err() {
            return;
        }
        if ended {
            // The channel stays open: the screen shows the last numbers until the user leaves.
            return events.closed().await;
        }
        sleep(RETRY_INTERVAL).await;
    }
}

/// Passes one stream of snapshots on to its end.
async fn take(
    client: &mut Client,
    interval: Duration,
    events: &Sender<Event>,
) -> Result<(), Status> {
    let request = WatchRequest {
        interval_ns: ns(interval),
        functions: true,
    };
    let mut snapshots = client.watch(request).await?.into_inner();
    // Another gateway may have other capabilities.
    let hello = client.hello(steer::hello()).await?.into_inner();
    let _ = events.send(Event::Hello(hello)).await;
    while let Some(snapshot) = snapshots.message().await? {
        if events
            .send(Event::Snapshot(Box::new(snapshot)))
            .await
            .is_err()
        {
            return Ok(());
        }
    }
    Ok(())
}

/// Explains a saved observation, in which nothing goes on.
async fn explain_once(client: Client, events: Sender<Event>) {
    if let Ok(told) = look::observation(client).await {
        let event = Event::Explained(told.into_inner().map(Box::new));
        let _ = events.send(event).await;
    }
}

/// Explains the last seconds, again and again, until the screen is closed.
async fn explain_always(client: Client, events: Sender<Event>) {
    let mut looker = Looker::default();
    while !events.is_closed() {
        // The stream of snapshots reports errors. What is not known any more is not said.
        let told = looker.explained(&client).await.ok().flatten();
        let event = Event::Explained(told.map(Box::new));
        if events.send(event).await.is_err() {
            return;
        }
        sleep(looker.pause()).await;
    }
}
