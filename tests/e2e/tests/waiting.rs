//! Ranks wait as in a run without us: tool processes do not make them yield the processor.

use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;

/// Slots that the launcher is given, whatever the machine has.
const SLOTS: [&str; 2] = ["--host", "localhost:2"];
/// How a user says whether ranks yield. Tests set it, too, so that it is set here each time.
const SAID: &str = "OMPI_MCA_mpi_yield_when_idle";

/// How the ranks wait, bare and observed: one line for each.
fn waits(family: Family, ranks: u32, yields: Option<&str>) -> [Vec<String>; 2] {
    let command = program(family, "waiting", []);
    [Job::bare, Job::observed].map(|job| {
        let job = job(family, ranks, &command).launcher_options(SLOTS);
        let ended = match yields {
            Some(yields) => job.env(SAID, yields),
            None => job.behind(&format!("unset {SAID}; exec \"$@\"")),
        }
        .run();
        assert_eq!(ended.code(), 0, "{family:?}, {ranks} ranks");
        ended.stdout()
    })
}

fn all(ranks: u32, how: &str) -> Vec<String> {
    let line = |rank| format!("rank {rank} {how}\n");
    (0..ranks).map(line).collect()
}

fn ranks_wait_as_bare(family: Family) {
    for (ranks, how) in [(2, "spins"), (3, "yields")] {
        let [bare, observed] = waits(family, ranks, None);
        assert_eq!(bare, all(ranks, how), "{family:?}, bare");
        assert_eq!(observed, bare, "{family:?}");
    }
}

#[test]
fn ranks_wait_as_they_would_without_tool_processes() {
    ranks_wait_as_bare(Family::Ompi);
}

#[test]
#[ignore = "long: as on Open MPI 4"]
fn ranks_of_open_mpi_5_wait_as_they_would() {
    ranks_wait_as_bare(Family::Ompi5);
}

#[test]
#[ignore = "long: much like the other"]
fn what_the_user_says_about_yielding_holds() {
    for family in [Family::Ompi, Family::Ompi5] {
        for (said, how) in [("1", "yields"), ("0", "spins")] {
            let [bare, observed] = waits(family, 2, Some(said));
            assert_eq!(bare, all(2, how), "{family:?}, bare");
            assert_eq!(observed, bare, "{family:?}");
        }
    }
}
