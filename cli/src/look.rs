//! What it takes to explain a job: some answers at two moments, and the time between them.

use crate::client::Client;
use invivo_grpc::v1::{
    CallSitesReply, CallSitesRequest, FunctionsRequest, GridRequest, StatusRequest,
    WaitStatesReply, WaitStatesRequest,
};
use invivo_report::explain::{Explanation, Run, Seen, explain_run};
use tokio::time::Instant;
use tonic::{Response, Status};

/// As fine as the grid goes.
const COLUMNS: u32 = 256;
/// Ranks that wait states are told of: as many as there may be.
const RANKS_MAX: u32 = 1024;

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
    };
    let waits = client.wait_states(request).await?.into_inner();
    let functions = client.functions(FunctionsRequest::default()).await?;
    let recorded_ns = grid.width_ns.saturating_mul(grid.columns.into());
    Ok(Response::new(explain_run(Run {
        grid,
        waits,
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
        whole: false,
    }))
}
