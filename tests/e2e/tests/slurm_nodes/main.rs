//! Jobs over four nodes of a real Slurm, by `srun` and by the MPI's own launcher in an allocation.

mod scenario;

use invivo_e2e::checks;
use invivo_e2e::cluster::slurm::{Slurm, Way, possible};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::clock_log::{ticks, wait_for_ticks};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{Process, kill, marked, variable};
use invivo_e2e::programs::{Conversation, program};
use std::time::Duration;

/// Nodes of the Slurm, and ranks of its jobs: two on each.
const NODES: u32 = 4;
const RANKS: u32 = 8;
/// The third node, on which a rank is killed, and how many nodes come before it.
const THIRD: (&str, u32) = ("n3", 2);

/// Every way to start a job of an MPI, with so many tasks on each node of an allocation.
fn ways(tasks: u32) -> [(Family, Way); 4] {
    [
        (Family::Ompi, Way::Srun("pmix")),
        (Family::Mpich, Way::Srun("pmi2")),
        (Family::Ompi, Way::Mpiexec(tasks)),
        (Family::Mpich, Way::Mpiexec(tasks)),
    ]
}

/// A Slurm for one test; nothing where there can be none.
fn slurm() -> Option<Slurm> {
    possible().then(|| Slurm::with_nodes(NODES))
}

/// There are more processes than cores, which Open MPI does not know from srun.
fn yielding(job: Job) -> Job {
    job.env("OMPI_MCA_mpi_yield_when_idle", "1")
}

/// By hand and by `invivo run`: output and status of the bare run, every call and byte counted.
#[test]
fn equal_nodes_are_as_bare() {
    let Some(slurm) = slurm() else { return };
    let each = RANKS / NODES;
    for ((family, bare_way), (_, way)) in ways(each).into_iter().zip(ways(each + 1)) {
        let command = Conversation::C.command(family);
        let bare = Job::bare(family, RANKS, &command).on_nodes_of(&slurm, bare_way);
        let bare = yielding(bare).run();
        assert_eq!(bare.code(), 0, "{family:?}, {bare_way:?}: the bare run");
        for job in [
            Job::observed(family, RANKS, &command),
            Job::run_by_invivo(family, RANKS, &command),
        ] {
            let job = job.fan_in("node").on_nodes_of(&slurm, way);
            let observed = yielding(job).run();
            let what = format!("{family:?}, {way:?}");
            assert_eq!(observed.code(), 0, "{what}: {:?}", observed.our_lines());
            assert_eq!(observed.stdout(), bare.stdout(), "{what}");
            assert_eq!(observed.processes(), RANKS + NODES, "{what}");

            let (report, own) = (observed.report(), observed.own_counts());
            let found = (report.job.ranks, report.job.places);
            assert_eq!(found, (RANKS, NODES), "{what}");
            checks::complete(&report, RANKS);
            checks::same_calls(&report, &own.calls);
            checks::same_traffic(&report, &own);
            observed.assert_nothing_left();
        }
    }
}

/// A pause reaches all nodes, and the death of a rank on the third one is told with its number.
#[test]
fn a_pause_and_a_death_are_seen_on_every_node() {
    let Some(slurm) = slurm() else { return };
    for (family, way) in ways(RANKS / NODES + 1) {
        let command = program(family, "compute", []);
        let mut job = Job::run_by_invivo(family, RANKS, &command);
        if matches!(way, Way::Srun(_)) {
            // Otherwise the ranks of MPICH go on without the dead one, in a bare run as well.
            job = job.launcher_options(["--kill-on-bad-exit=1"]);
        }
        let mut running = yielding(job.fan_in("node").on_nodes_of(&slurm, way)).start();
        running.wait_for_answers();
        wait_for_ticks(&mut running, 0..RANKS, 5);

        let client = running.client();
        client.pause(RANKS, "1m");
        std::thread::sleep(Duration::from_millis(300));
        let standing = ticks(&running);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(standing, ticks(&running), "{family:?}, {way:?}: they stand");
        client.resume(RANKS);
        let more = standing.iter().map(|ticks| ticks + 5).max().unwrap_or(0);
        wait_for_ticks(&mut running, 0..RANKS, more);

        let (victim, rank) = victim(&running, way);
        kill(&victim);
        let ended = running.end();
        assert_ne!(ended.code(), 0, "{family:?}, {way:?}");
        let report = ended.report();
        checks::conserved(&report, RANKS);
        let killed: Vec<_> = report
            .ended
            .iter()
            .filter(|end| end.rank == rank && end.signal == Some(9))
            .collect();
        assert_eq!(killed.len(), 1, "{family:?}, {way:?}: {:?}", report.ended);
        let named = format!("rank {rank} was killed by signal 9");
        let lines = ended.our_lines();
        let names = lines.iter().filter(|line| line.contains(&named)).count();
        assert_eq!(names, 1, "{family:?}, {way:?}: {lines:?}");
        // Slurm kills all processes of a step at once, those that tidy up included.
        if matches!(way, Way::Mpiexec(_)) {
            ended.assert_nothing_left();
        }
    }
}

/// What is left on nodes of a job that Slurm killed, the next one removes.
#[test]
fn the_next_job_tidies_up() {
    let Some(slurm) = slurm() else { return };
    let is_left = || {
        let mut folders = slurm
            .runtimes()
            .into_iter()
            .map(|runtime| runtime.join("invivo-0"));
        folders.any(|folder| {
            let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
            names
                .map(|entry| entry.file_name())
                .any(|name| name != ".preload")
        })
    };
    let way = Way::Srun("pmix");
    let command = program(Family::Ompi, "compute", []);
    let job = Job::observed(Family::Ompi, RANKS, &command).fan_in("node");
    let job = job.launcher_options(["--kill-on-bad-exit=1"]);
    let mut running = yielding(job.on_nodes_of(&slurm, way)).start();
    running.wait_for_answers();
    wait_for_ticks(&mut running, 0..RANKS, 1);
    // As Slurm kills a step on a node; one of these would have tidied up there.
    let there =
        |process: &&Process| variable(process, "SLURMD_NODENAME").is_some_and(|name| name == "n1");
    marked(running.mark()).iter().filter(there).for_each(kill);
    let ended = running.end();
    assert_ne!(ended.code(), 0);
    assert!(is_left(), "nothing is left: this test shows nothing");

    let command = program(Family::Ompi, "init_finalize", ["0"]);
    let job = Job::observed(Family::Ompi, RANKS, &command).fan_in("node");
    let next = yielding(job.on_nodes_of(&slurm, way)).run();
    assert_eq!(next.code(), 0, "{:?}", next.our_lines());
    next.assert_nothing_left();
}

/// A process of the program on the third node, and its rank.
fn victim(running: &Running, way: Way) -> (Process, u32) {
    let there = |process: &Process| {
        variable(process, "SLURMD_NODENAME").is_some_and(|name| name == THIRD.0)
    };
    let found = running
        .named(running.program_name())
        .into_iter()
        .find(there);
    let process = found.expect("a rank on the third node");
    let number = |name: &str| -> Option<u32> { variable(&process, name)?.parse().ok() };
    // Slurm's and Hydra's numbers count the tool processes of the nodes before.
    let rank = match (running.family(), way) {
        (Family::Ompi, Way::Mpiexec(_)) => number("OMPI_COMM_WORLD_RANK"),
        (_, Way::Mpiexec(_)) => number("PMI_RANK").map(|world| world - THIRD.1),
        (_, Way::Srun(_)) => number("SLURM_PROCID").map(|world| world - THIRD.1),
    };
    (process, rank.expect("its number"))
}

/// Nodes that differ, and processes in other orders than one node after the other.
#[test]
fn nodes_and_orders_of_sites_are_as_bare() {
    let Some(slurm) = slurm() else { return };
    scenario::all(&slurm);
}
