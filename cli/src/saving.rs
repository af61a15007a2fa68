//! Saves what the buffers of a job hold: its pages as they come, into an observation.

use crate::client::{Client, explained, patiently};
use crate::job::Job;
use crate::saved::{JobFacts, Received, Receiver};
use invivo_archive::saved::Writer;
use invivo_archive::saved::format::About;
use invivo_grpc::v1;

/// How far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Got {
    pub bytes: u64,
    pub bytes_total: u64,
    pub locations: u64,
    pub locations_total: u64,
}

/// Saves it; `show` is told of each page. Whoever drops this leaves nothing behind.
///
/// # Errors
/// Why it cannot be saved; then nothing is left.
pub async fn save(
    job: &Job,
    client: &Client,
    request: v1::SaveRequest,
    writer: Writer,
    mut show: impl FnMut(&Got),
) -> anyhow::Result<(About, Received)> {
    let mut receiver = Receiver::new(writer);
    let call = async || client.clone().save(request.clone()).await;
    let mut pages = patiently(job, call).await?;
    // The gateway fetches the next page when this one has been written: nothing piles up anywhere.
    while let Some(page) = pages
        .message()
        .await
        .map_err(|status| explained(job, &status))?
    {
        let (bytes_total, locations_total) = (page.bytes_total, page.locations_total);
        receiver.page(page)?;
        show(&Got {
            bytes: receiver.bytes(),
            bytes_total,
            locations: receiver.locations(),
            locations_total,
        });
    }
    anyhow::ensure!(
        receiver.is_whole(),
        "the job ended, or its gateway, before all of it had come; the buffers of a job that is \
         over are gone"
    );
    let facts = job_facts(job, client).await?;
    Ok(receiver.finish(facts)?)
}

/// What else is known of the job.
async fn job_facts(job: &Job, client: &Client) -> anyhow::Result<JobFacts> {
    let hello = async || client.clone().hello(v1::HelloRequest::default()).await;
    let hello = patiently(job, hello).await?;
    let buffers = async || client.clone().buffers(v1::BuffersRequest {}).await;
    // Of a job that has just ended, what was saved is whole all the same.
    let buffers = patiently(job, buffers).await.unwrap_or_default();
    let strategies = buffers.strategies.iter().map(|of| of.strategy.as_str());
    Ok(JobFacts {
        id: job.job.clone(),
        host: job.host.clone(),
        command: job.command.clone(),
        described: hello.job.unwrap_or_default(),
        strategy: strategies.collect::<Vec<_>>().join("; "),
    })
}
