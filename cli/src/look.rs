//! What it takes to explain a job: some answers at two moments, and the time between them.

use crate::client::Client;
use crate::commands::interval::When;
use crate::profile::difference;
use crate::steer;
use invivo_grpc::v1::{
    CallSitesReply, CallSitesRequest, FunctionsRequest, GridReply, GridRequest, MetricsRequest,
    ProfileReply, ProfileRequest, RankRange, StatusRequest, TableInterval, WaitStatesReply,
    WaitStatesRequest,
};
use invivo_report::explain::{
    COMPUTE, Explanation, Limit, METRICS, MOVED, Run, Seen, Time, culprit, explain_run,
    explain_seen,
};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;
use tonic::{Response, Status};

/// As fine as the grid goes.
const COLUMNS: u32 = 256;
/// Of what is only summed up over the time: so many that it begins where it should within a few
/// hundredths.
const COLUMNS_MEASURED: u32 = 32;
/// As many rows as the grid has: of a rank that shares its row less is known.
const ROWS: u32 = 128;
/// From a reading of metrics until it is in answers: a quarter of a second at most until it is sent
/// together with others, and a tenth until it is taken.
const READ_NS: u64 = 350_000_000;
/// So far within a piece of the run a question is surely about that piece, in ns.
const EDGE_NS: u64 = 250_000_000;
/// Ranks that wait states are told of: as many as there may be.
const RANKS_MAX: u32 = 1024;

/// A job that is looked at again and again is explained by its last seconds: at least so many.
const EXPLAINED: Duration = Duration::from_secs(10);
/// The first time, by so many.
const EXPLAINED_MIN: Duration = Duration::from_secs(2);
/// Between two explanations.
const EXPLAIN_INTERVAL: Duration = Duration::from_secs(3);
/// Moments older than this say nothing of now: nobody has looked meanwhile.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Answers that grow while the job runs, at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When they were given.
    pub at: Instant,
    sites: CallSitesReply,
    waits: WaitStatesReply,
}

/// Asks now.
///
/// # Errors
/// Why there is no answer.
pub async fn moment(mut client: Client) -> Result<Response<Moment>, Status> {
    let sites = client.call_sites(CallSitesRequest::default()).await?;
    let request = WaitStatesRequest {
        ranks_max: RANKS_MAX,
        ..WaitStatesRequest::default()
    };
    let waits = client.wait_states(request).await?.into_inner();
    Ok(Response::new(Moment {
        at: Instant::now(),
        sites: sites.into_inner(),
        waits,
    }))
}

/// What limited the stretch that a saved observation is of; nothing where too little is known.
///
/// # Errors
/// Why there is no answer.
pub async fn observation(mut client: Client) -> Result<Response<Option<Explanation>>, Status> {
    let request = GridRequest {
        metric: "compute".into(),
        columns_max: COLUMNS,
        rows_max: 1,
        ..GridRequest::default()
    };
    let grid = client.grid(request).await?.into_inner();
    let request = WaitStatesRequest {
        ranks_max: RANKS_MAX,
        ..WaitStatesRequest::default()
    };
    let waits = client.wait_states(request).await?.into_inner();
    let functions = client.functions(FunctionsRequest::default()).await?;
    let recorded_ns = grid.width_ns.saturating_mul(grid.columns.into());
    Ok(Response::new(explain_run(Run {
        grid,
        waits,
        sites: CallSitesReply::default(),
        functions: functions.into_inner().rows,
        recorded_ns,
    })))
}

/// What was seen from the first moment to the second, which is about now.
///
/// # Errors
/// Why there is no answer.
pub async fn seen(
    mut client: Client,
    first: &Moment,
    second: &Moment,
) -> Result<Response<Seen>, Status> {
    let interval = second.at.duration_since(first.at);
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let request = GridRequest {
        metric: "compute".into(),
        last_ns: interval_ns,
        columns_max: COLUMNS,
        rows_max: 1,
        ..GridRequest::default()
    };
    let grid = client.grid(request).await?.into_inner();
    let status = client.status(StatusRequest {}).await?.into_inner();
    Ok(Response::new(Seen {
        status: status.status.unwrap_or_default(),
        grid,
        before: first.sites.clone(),
        after: second.sites.clone(),
        waits_before: first.waits.clone(),
        waits_after: second.waits.clone(),
        interval_ns,
        samples: None,
        measured: Vec::new(),
        moved: Vec::new(),
        time: Time::Lately,
    }))
}

/// What was seen in a time that is past; nothing where nothing of it is kept.
///
/// # Errors
/// Why there is no answer.
pub async fn past(mut client: Client, when: &When) -> Result<Response<Option<Seen>>, Status> {
    let mut sites = client.call_sites(when.asked().sites()).await?.into_inner();
    // Whether they are noted now says nothing of that time.
    sites.analysis = None;
    let Some(TableInterval { from_ns, to_ns }) = sites.interval.filter(|of| of.from_ns < of.to_ns)
    else {
        return Ok(Response::new(None));
    };
    // The same pieces: within them, for each answer has its own idea of the beginning of the
    // observed time.
    let edge_ns = EDGE_NS.min((to_ns - from_ns) / 4);
    let request = WaitStatesRequest {
        ranks_max: RANKS_MAX,
        from_ns: from_ns + edge_ns,
        to_ns: to_ns - edge_ns,
        ..WaitStatesRequest::default()
    };
    let waits = client.wait_states(request).await?.into_inner();
    let request = GridRequest {
        metric: "compute".into(),
        from_ns,
        to_ns,
        columns_max: COLUMNS,
        rows_max: 1,
        ..GridRequest::default()
    };
    let grid = client.grid(request).await?.into_inner();
    let status = client.status(StatusRequest {}).await?.into_inner();
    let mut seen = Seen {
        status: status.status.unwrap_or_default(),
        grid,
        after: sites,
        waits_after: waits,
        interval_ns: to_ns.saturating_sub(from_ns),
        time: Time::Past { from_ns, to_ns },
        ..Seen::default()
    };
    // Of the rank that computes longest, what buffers keep of its samples.
    if let Some(rank) = culprit(&seen) {
        let request = ProfileRequest {
            from_ns,
            to_ns,
            ..of_rank(rank)
        };
        let kept = client.profile(request).await.map(Response::into_inner);
        seen.samples = kept.ok().filter(|reply| reply.samples > 0);
    }
    look_further(&client, &mut seen).await;
    Ok(Response::new(Some(seen)))
}

/// Asks what the kind of limit makes worth knowing: what metrics tell of the interval, where
/// something is measured; of ranks that communicate, how much their calls have sent since the
/// beginning. Without it the sentence only says less.
pub async fn look_further(client: &Client, seen: &mut Seen) {
    let told = explain_seen(seen);
    if !matches!(told.limit, Limit::Unknown | Limit::Standstill) {
        seen.measured = measured(client.clone(), seen).await.unwrap_or_default();
    }
    if told.limit == Limit::Communication {
        seen.moved = moved(client.clone(), seen).await.unwrap_or_default();
    }
}

async fn moved(client: Client, seen: &Seen) -> Result<Vec<GridReply>, Status> {
    let end_ns = match seen.time {
        Time::Past { to_ns, .. } => to_ns,
        _ => seen.grid.observed_ns,
    };
    let grid = |metric: &str| {
        let request = GridRequest {
            metric: metric.to_owned(),
            to_ns: end_ns,
            columns_max: COLUMNS,
            rows_max: 1,
            ..GridRequest::default()
        };
        let mut client = client.clone();
        async move { client.grid(request).await.map(Response::into_inner) }
    };
    let [calls, bytes] = MOVED;
    let (calls, bytes) = tokio::try_join!(grid(calls), grid(bytes))?;
    Ok(vec![calls, bytes])
}

async fn measured(mut client: Client, seen: &Seen) -> Result<Vec<GridReply>, Status> {
    // An older gateway would refuse.
    let hello = client.hello(steer::hello()).await?.into_inner();
    if !hello.capabilities.iter().any(|known| known == "metrics") {
        return Ok(Vec::new());
    }
    let reply = client.metrics(MetricsRequest {}).await?.into_inner();
    let metrics = reply.metrics.iter().filter(|one| one.ranks_now > 0);
    let metrics = metrics.map(|one| one.name.as_str());
    // Threads that are not seen may be those that run.
    let of_threads = ["run-delay", "active-threads", "processors"];
    let is_whole = |name: &str| !of_threads.contains(&name) || reply.threads_unseen == 0;
    let metrics = metrics.filter(|name| METRICS.contains(name) && is_whole(name));
    let metrics: Vec<&str> = metrics.collect();
    if metrics.is_empty() {
        return Ok(Vec::new());
    }
    let (end_ns, length_ns) = match seen.time {
        Time::Past { to_ns, .. } => (to_ns, seen.interval_ns),
        _ => (seen.grid.observed_ns, seen.interval_ns),
    };
    // What was behind the last reading is in no value.
    let unread_ns = reply.interval_max_ns.saturating_add(READ_NS);
    let past_ns = seen.grid.observed_ns.saturating_sub(end_ns);
    let unread_ns = unread_ns.saturating_sub(past_ns);
    let mut grids = Vec::new();
    // The mean of all needs no rows.
    let rows_max = match culprit(seen) {
        Some(_) => ROWS,
        None => 1,
    };
    for metric in std::iter::once(COMPUTE).chain(metrics) {
        let request = GridRequest {
            metric: metric.to_owned(),
            from_ns: end_ns.saturating_sub(length_ns),
            to_ns: end_ns.saturating_sub(unread_ns.min(length_ns / 4)),
            columns_max: COLUMNS_MEASURED,
            rows_max,
            ..GridRequest::default()
        };
        grids.push(client.grid(request).await?.into_inner());
    }
    Ok(grids)
}

/// What samples have told of a rank so far; nothing where it is not sampled.
pub async fn sampled(mut client: Client, rank: u32) -> Option<ProfileReply> {
    // Without them the sentence only says less.
    let reply = client.profile(of_rank(rank)).await.ok()?;
    let reply = reply.into_inner();
    (reply.sampled_ranks > 0).then_some(reply)
}

fn of_rank(rank: u32) -> ProfileRequest {
    let ranks = vec![RankRange {
        first: rank,
        last: rank,
    }];
    ProfileRequest {
        ranks,
        ..ProfileRequest::default()
    }
}

/// Of a rank that computes longest: looks for this time in which functions it is.
pub async fn look_closer(client: &Client, seen: &mut Seen, time: Duration) {
    let Some(rank) = culprit(seen) else { return };
    let Some(before) = sampled(client.clone(), rank).await else {
        return;
    };
    tokio::time::sleep(time).await;
    let after = sampled(client.clone(), rank).await;
    seen.samples = after.and_then(|after| difference(&before, after));
}

/// Explains a running job by its last seconds, each time that it is asked.
#[derive(Debug, Default)]
pub struct Looker {
    moments: VecDeque<Moment>,
    /// The rank that computed longest the last time, with its samples.
    sampled: Option<(u32, ProfileReply)>,
}

impl Looker {
    /// What limits the job from the newest moment that is old enough until now; nothing at first.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn explained(&mut self, client: &Client) -> Result<Option<Explanation>, Status> {
        let now = match moment(client.clone()).await {
            Ok(now) => now.into_inner(),
            Err(status) => {
                // Behind a gap it begins anew.
                self.moments.clear();
                return Err(status);
            }
        };
        let age = |moment: &Moment| now.at.duration_since(moment.at);
        if self.moments.back().is_some_and(|it| age(it) > FORGOTTEN) {
            self.moments.clear();
        }
        while self.moments.get(1).is_some_and(|it| age(it) >= EXPLAINED) {
            self.moments.pop_front();
        }
        let told = match self.moments.front() {
            Some(first) => {
                let mut seen = seen(client.clone(), first, &now).await?.into_inner();
                let rank = culprit(&seen);
                // Since the last time, where it was the same rank then.
                let before = self.sampled.take().filter(|(of, _)| Some(*of) == rank);
                if let Some(rank) = rank
                    && let Some(after) = sampled(client.clone(), rank).await
                {
                    let before = before.map(|(_, before)| before);
                    seen.samples = before.and_then(|before| difference(&before, after.clone()));
                    self.sampled = Some((rank, after));
                }
                look_further(client, &mut seen).await;
                Some(explain_seen(&seen))
            }
            None => None,
        };
        self.moments.push_back(now);
        Ok(told)
    }

    /// How long to wait until it is asked again.
    pub fn pause(&self) -> Duration {
        if self.moments.len() < 2 {
            EXPLAINED_MIN
        } else {
            EXPLAIN_INTERVAL
        }
    }
}
