//! Long runs of one job with random clients and killed gateways: no process leaks.
//!
//! `cargo xtask soak` sets the time of the longest one.

use invivo_e2e::campaign;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::counts::recorded;
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::kill;
use invivo_e2e::programs::program;
use invivo_e2e::remarks::remark;
use invivo_e2e::soak::random_clients::RandomClients;
use invivo_e2e::soak::sampler::Sampler;
use std::time::{Duration, Instant};

const PROGRAM: &str = "message_loop";
const RANKS: u32 = 2;
/// The time of the long run, unless another is set.
const RUN: Duration = Duration::from_secs(30 * 60);
/// The time of the short run, on the other MPI: each task comes some four times in a quarter of it.
const SHORT: Duration = Duration::from_secs(180);
/// Allocators keep freed memory for some minutes: in a shorter run than this a whole quarter may
/// pass before it goes back to the system.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// Settings for shorter runs: blocks of this many bytes go back to the system at once. Longer runs
/// have the allocator as users have it.
const KEEP_NOTHING: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
];
/// Between two kills of the gateway: its supervisor waits longer before it replaces a second one
/// that has not lived for ten seconds.
const GATEWAY_LIVES: Duration = Duration::from_secs(17);
/// For so long after a kill of the gateway commands may fail.
const REPLACED_WITHIN: Duration = Duration::from_secs(5);
/// Of so many commands one may fail: on a busy machine a command may run into its time limit.
const ANSWERED_PER_REFUSED: u32 = 50;
/// Processes that live long enough: each rank with its supervisor; the place with its proxy and its
/// supervisor; the root with its proxy and its supervisor; a gateway.
const JUDGED: usize = 2 * RANKS as usize + 3 + 3 + 1;

/// The first gateway lives for this part of the run, long enough to be judged.
const FIRST_LIVES: f64 = 1.0 / 3.0;

fn soak(family: Family, run: Duration, seed: u64) {
    // The programs run longer than they are observed: a file ends them.
    let seconds = (run + Duration::from_secs(180)).as_secs().to_string();
    let mut job = Job::observed(family, RANKS, &program(family, PROGRAM, [seconds.as_str()]))
        // Small buffers are full soon.
        .options(["--buffer", "1MiB"])
        .limit(run + Duration::from_secs(240));
    if run < KEPT_FOR {
        job = KEEP_NOTHING
            .into_iter()
            .fold(job, |job, (name, value)| job.env(name, value));
    }

    let mut bare = control(family, run, &seconds);
    let mut running = job.start();
    running.wait_for_answers();
    let begun = Instant::now();
    let mut clients = RandomClients::new(running.client(), seed);
    let sample =
        |running: &Running| Sampler::start(running.mark(), PROGRAM, family.number_variable());
    let (sampler, bare_sampler) = (sample(&running), sample(&bare));
    let (mut killed, mut gateways) = (begun, 0);
    while begun.elapsed() < run {
        assert!(running.runs() && bare.runs(), "a job has ended");
        // For a moment after a kill commands may fail.
        clients.act(killed != begun && killed.elapsed() < REPLACED_WITHIN);
        // Only after the first gateway has lived long enough to be judged.
        if killed.elapsed() >= GATEWAY_LIVES && begun.elapsed() >= run.mul_f64(FIRST_LIVES) {
            killed = Instant::now();
            running.named("ui-gateway").iter().for_each(kill);
            gateways += 1;
        }
    }
    // Before the end: a process that ends gives its memory back.
    let (usages, bare_usages) = (sampler.stop(), bare_sampler.stop());
    std::thread::sleep(REPLACED_WITHIN);
    clients.leave();
    running.tell("stop");
    let ended = running.end();
    bare.tell("stop");
    let bare = bare.end();

    let (answered, refused) = clients.done();
    println!(
        "{family:?}, {run:?}, seed {seed}: {answered} commands answered, {} not, \
         {gateways} gateways killed\n{}{}without Invivo:\n{}",
        refused.len(),
        clients.text(),
        usages.text(run),
        bare_usages.text(run)
    );
    remark(&format!(
        "{}, {run:?}: {answered} commands answered, {} not, {gateways} gateways killed; the \
         steepest growth is {}, without Invivo {}",
        family.title(),
        refused.len(),
        usages.steepest_text(run),
        bare_usages.steepest_text(run)
    ));

    for ended in [&bare, &ended] {
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
    }
    ended.assert_nothing_left();
    let report = ended.report();
    assert_eq!(
        report.coverage.ranks_reporting, RANKS,
        "{:?}",
        report.coverage
    );

    let counted: u64 = recorded(&ended.own_counts().calls).values().sum();
    let ledger = report.coverage.ledger;
    // Tables begin anew with each reset and window; the ledger never does.
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
    let judged: Vec<&str> = usages.judged(run).collect();
    assert_eq!(judged.len(), JUDGED, "{judged:?}");
    let controls = bare_usages.judged(run).count();
    assert_eq!(controls, RANKS as usize, "ranks without Invivo");
    assert_eq!(usages.growing(run, &bare_usages), [] as [String; 0]);
}

/// The same program without Invivo, beside the job. It gets the processors only where the job
/// leaves them, which is much of the time: the job is paused, and its ranks yield while they wait.
fn control(family: Family, run: Duration, seconds: &str) -> Running {
    let mut running = Job::bare(family, RANKS, &program(family, PROGRAM, [seconds]))
        .behind("exec chrt --idle 0 \"$@\"")
        .at_the_same_time()
        .limit(run + Duration::from_secs(300))
        .start();
    running.until("its ranks", |job| {
        (job.named(PROGRAM).len() == RANKS as usize).then_some(())
    });
    running
}

#[test]
#[ignore = "long: three minutes"]
fn three_minutes_of_everything() {
    soak(Family::Mpich, SHORT, 1);
}

#[test]
#[ignore = "long: half an hour"]
fn half_an_hour_of_everything() {
    let run = campaign::number("INVIVO_SOAK_SECONDS").map_or(RUN, Duration::from_secs);
    for family in campaign::families("INVIVO_SOAK_MPI", &[Family::Ompi]) {
        soak(
            family,
            run,
            campaign::number("INVIVO_SOAK_SEED").unwrap_or(1),
        );
    }
}
