//! A long life of one job: nobody holds ever more, whatever is asked and whoever dies. `cargo xtask
//! soak` says for how long.

use invivo_e2e::apps::program;
use invivo_e2e::asked;
use invivo_e2e::counts::recorded;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::processes::kill;
use invivo_e2e::soak::sampler::Sampler;
use invivo_e2e::soak::verbs::Crowd;
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Unless something else is asked for.
const RUN: Duration = Duration::from_secs(30 * 60);
/// The shorter form that precedes it, on the other MPI: a quarter of it sees each errand some four
/// times.
const SHORT: Duration = Duration::from_secs(180);
/// Allocators keep what was freed for as long as a minute or some, so that a quarter of a shorter
/// run than this may pass without it having gone back.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// In a shorter run they keep nothing: what goes and comes in pieces of this many bytes goes back
/// to the system at once. (A longer one has the allocator as users have it.)
const KEEP_NOTHING: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
];
/// Between two deaths of the gateway: the second one that did not live for ten seconds waits longer
/// to be replaced.
const GATEWAY_LIVES: Duration = Duration::from_secs(17);
/// After a gateway's death nobody may answer for so long.
const REPLACED_WITHIN: Duration = Duration::from_secs(5);
/// Of so many lines one may be refused: a machine that is busy with something else lets commands
/// wait longer than they may.
const ANSWERED_PER_REFUSED: u32 = 50;
/// Each rank with its supervisor; the place with its stand-in and keeper; the root with its
/// stand-in and supervisor; a gateway.
const JUDGED: usize = 2 * RANKS as usize + 3 + 3 + 1;

/// The first gateway lives for this part of the run, long enough to be judged.
const FIRST_LIVES: f64 = 1.0 / 3.0;

fn soak(family: Family, run: Duration, seed: u64) {
    let seconds = (run + Duration::from_secs(120)).as_secs().to_string();
    let mut job = Job::observed(
        family,
        RANKS,
        &program(family, "chatter", [seconds.as_str()]),
    )
    // They are full soon.
    .options(["--buffer", "1MiB"])
    .limit(run + Duration::from_secs(240));
    if run < KEPT_FOR {
        job = KEEP_NOTHING
            .into_iter()
            .fold(job, |job, (name, value)| job.env(name, value));
    }
    let mut running = job.start();
    running.wait_for_answers();
    let begun = Instant::now();
    let mut crowd = Crowd::of(running.client(), seed);
    let sampler = Sampler::start(running.mark(), "chatter", family.number_variable());
    let (mut killed, mut gateways) = (begun, 0);
    while begun.elapsed() < run {
        assert!(running.runs(), "the job has ended");
        crowd.act(killed != begun && killed.elapsed() < REPLACED_WITHIN);
        if killed.elapsed() >= GATEWAY_LIVES && begun.elapsed() >= run.mul_f64(FIRST_LIVES) {
            killed = Instant::now();
            running.named("ui-gateway").iter().for_each(kill);
            gateways += 1;
        }
    }
    let holdings = sampler.stop();
    std::thread::sleep(REPLACED_WITHIN);
    crowd.leave();
    running.tell("stop");
    let ended = running.end();
    let (answered, refused) = crowd.done();
    println!(
        "{family:?}, {run:?}, seed {seed}: {answered} lines answered, {} not, {gateways} gateways killed\n{}{}",
        refused.len(),
        crowd.text(),
        holdings.text(run)
    );
    assert_eq!(ended.code(), 0);
    assert_eq!(ended.stdout(), ["rank 0: 0 wrong\n", "rank 1: 0 wrong\n"]);
    ended.assert_nothing_left();
    let report = ended.report();
    assert_eq!(
        report.coverage.ranks_reporting, RANKS,
        "{:?}",
        report.coverage
    );
    let counted: u64 = recorded(&ended.own_counts().calls).values().sum();
    let ledger = report.coverage.ledger;
    // The tables begin anew with each reset and window; the books never do.
    assert_eq!(ledger.entered, ledger.placed(), "{ledger:?}");
    let entered = ledger.entered;
    assert!(
        0 < entered && entered <= counted,
        "{entered} calls entered while they were recorded, {counted} made"
    );
    assert!(
        refused.len() as u32 * ANSWERED_PER_REFUSED <= answered,
        "{refused:#?}"
    );
    let judged: Vec<&str> = holdings.judged(run).collect();
    assert_eq!(judged.len(), JUDGED, "{judged:?}");
    assert_eq!(holdings.growing(run), [] as [String; 0]);
}

#[test]
#[ignore = "long: three minutes"]
fn three_minutes_of_everything() {
    soak(Family::Mpich, SHORT, 1);
}

#[test]
#[ignore = "long: half an hour"]
fn half_an_hour_of_everything() {
    let run = asked::number("INVIVO_SOAK_SECONDS").map_or(RUN, Duration::from_secs);
    for family in asked::families("INVIVO_SOAK_MPI", &[Family::Ompi]) {
        soak(family, run, asked::number("INVIVO_SOAK_SEED").unwrap_or(1));
    }
}
