//! Jobs over four nodes of a real Slurm, by `srun` and by the MPI's own launcher in an allocation.

mod death;
mod scenario;

use invivo_e2e::checks;
use invivo_e2e::cluster::slurm::{Slurm, Way, possible};
use invivo_e2e::job::Job;
use invivo_e2e::logs::clock_log::wait_for_ticks;
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{Process, kill, marked, signal, variable};
use invivo_e2e::programs::{Conversation, late_to_fence, program, program_as};
use rustix::process::Signal;

/// Nodes of the Slurm, and ranks of its jobs: two on each.
const NODES: u32 = 4;
const RANKS: u32 = 8;
/// Ranks of the first of two programs: both have some on the second node.
const OF_FIRST: u32 = 3;

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
#[ignore = "long"]
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
        let job = Job::run_by_invivo(family, RANKS, &command);
        let job = job.fan_in("node").on_nodes_of(&slurm, way);
        death::after_a_pause(yielding(job), &format!("{family:?}, {way:?}"));
    }
}

/// One job of a C and a Fortran program, by hand and by `invivo run`.
#[test]
#[ignore = "half a minute; as one program"]
fn two_programs_are_one_job_on_all_nodes() {
    let Some(slurm) = slurm() else { return };
    let each = RANKS / NODES;
    for ((family, bare_way), (_, way)) in ways(each).into_iter().zip(ways(each + 1)) {
        let what = format!("{family:?}, {way:?}");
        let [c, fortran] =
            [Conversation::C, Conversation::FortranMpi].map(|language| language.command(family));
        let two = |job: Job, way| {
            let job = job.fan_in("node").and(RANKS - OF_FIRST, &fortran);
            yielding(job.on_nodes_of(&slurm, way))
        };
        let bare = two(Job::bare(family, OF_FIRST, &c), bare_way);
        let bare = scenario::evenly(bare, bare_way, each, 0).run();
        assert_eq!(bare.code(), 0, "{what}: the bare run");
        let by_hand = two(Job::observed(family, OF_FIRST, &c), way);
        let by_invivo = two(Job::run_by_invivo(family, OF_FIRST, &c), way);
        for job in [scenario::evenly(by_hand, way, each, 1), by_invivo] {
            let observed = job.run();
            assert_eq!(observed.code(), 0, "{what}: {:?}", observed.our_lines());
            assert_eq!(observed.stdout(), bare.stdout(), "{what}");

            let (report, own) = (observed.report(), observed.own_counts());
            checks::complete(&report, RANKS);
            checks::same_calls(&report, &own.calls);
            checks::same_traffic(&report, &own);
            observed.assert_nothing_left();
        }
    }
}

/// A job of two programs: a pause holds on all nodes and nothing is lost by it, and the death of a
/// rank on the third one is told with its number in the job.
#[test]
#[ignore = "half a minute; as one program"]
fn two_programs_are_paused_and_lose_a_rank() {
    let Some(slurm) = slurm() else { return };
    for (family, way) in ways(RANKS / NODES + 1) {
        let what = format!("{family:?}, {way:?}");
        let job = || {
            let names = ["compute", "compute_too"];
            let [one, other] = names.map(|name| program_as(family, "compute", name, []));
            let job = Job::run_by_invivo(family, OF_FIRST, &one).and(RANKS - OF_FIRST, &other);
            yielding(job.fan_in("node").on_nodes_of(&slurm, way))
        };
        death::complete_after_a_pause(job(), &what);
        death::after_a_pause(job(), &what);
    }
}

/// Where Slurm lets processes out of `MPI_Init` before another can receive, that one dies, in a
/// bare run, too. The message says how to make the fence hold, and `invivo run` makes it.
#[test]
#[ignore = "long"]
fn a_fence_that_does_not_hold_is_told() {
    const FAMILY: Family = Family::Ompi;
    let Some(slurm) = slurm() else { return };
    let command = Conversation::C.command(FAMILY);
    let run = |job: Job| {
        let job = job.on_nodes_of(&slurm, Way::Srun("pmix"));
        let job = job.launcher_options(["--kill-on-bad-exit=1"]);
        yielding(job.env("LD_PRELOAD", late_to_fence())).run()
    };
    let tree = |job: Job| run(job.env("SLURM_PMIX_FENCE", "tree"));
    let bare = tree(Job::bare(FAMILY, RANKS, &command));
    assert_ne!(bare.code(), 0, "it holds: the message is wrong");

    let observed = tree(Job::observed(FAMILY, RANKS, &command).fan_in("node"));
    assert_ne!(observed.code(), 0);
    let said = observed.our_lines();
    // Which one is met by a message too early is up to the network.
    let cure = " died in MPI_Init";
    let line = said.iter().find(|line| line.contains(cure));
    let line = line.unwrap_or_else(|| panic!("{said:?}"));
    assert!(line.contains("SLURM_PMIX_FENCE=ring"), "{line}");

    let held = run(Job::run_by_invivo(FAMILY, RANKS, &command).fan_in("node"));
    assert_eq!(held.code(), 0, "{:?}", held.our_lines());
    checks::complete(&held.report(), RANKS);
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
    // As Slurm kills a step on a node. All stand before the first is killed: the one that is left
    // would tidy up there. Parents, which have the lower numbers, are killed last: the kernel wakes
    // those that stand in a process group that loses its last parent.
    let there =
        |process: &Process| variable(process, "SLURMD_NODENAME").is_some_and(|name| name == "n1");
    let mut processes = marked(running.mark());
    processes.retain(there);
    processes
        .iter()
        .for_each(|process| signal(process, Signal::STOP));
    processes.iter().rev().for_each(kill);
    let ended = running.end();
    assert_ne!(ended.code(), 0);
    assert!(is_left(), "nothing is left: this test shows nothing");

    let command = program(Family::Ompi, "init_finalize", ["0"]);
    let job = Job::observed(Family::Ompi, RANKS, &command).fan_in("node");
    let next = yielding(job.on_nodes_of(&slurm, way)).run();
    assert_eq!(next.code(), 0, "{:?}", next.our_lines());
    next.assert_nothing_left();
}

/// Nodes that differ, and processes in other orders than one node after the other.
#[test]
#[ignore = "most of a minute; as equal nodes"]
fn nodes_and_orders_of_sites_are_as_bare() {
    let Some(slurm) = slurm() else { return };
    scenario::each(|scenario, family, way| scenario.is_as_bare(&slurm, family, way));
}

/// On those, too, a pause holds and a death on the third node is told.
#[test]
#[ignore = "half a minute; as on equal nodes"]
fn a_pause_and_a_death_wherever_srun_puts_ranks() {
    let Some(slurm) = slurm() else { return };
    scenario::each(|scenario, family, way| {
        if matches!(way, Way::Srun(_)) {
            scenario.pauses_and_dies(&slurm, family, way);
        }
    });
}

#[test]
#[ignore = "long: by mpiexec as by srun"]
fn a_pause_and_a_death_wherever_mpiexec_puts_ranks() {
    let Some(slurm) = slurm() else { return };
    scenario::each(|scenario, family, way| {
        if matches!(way, Way::Mpiexec(_)) {
            scenario.pauses_and_dies(&slurm, family, way);
        }
    });
}
