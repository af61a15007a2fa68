//! A real application: Debian's LAMMPS with its example `melt`.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Counter, counter};
use std::ffi::OsString;
use std::path::Path;

const INPUT: &str = "/usr/share/lammps/examples/melt/in.melt";
const RANKS: u32 = 4;

fn command() -> Vec<OsString> {
    assert!(
        Path::new(INPUT).exists(),
        "{INPUT} is missing: apt-get install lammps lammps-examples"
    );
    ["lmp", "-in", INPUT, "-log", "none"]
        .map(OsString::from)
        .to_vec()
}

/// The table of energies and pressures, from its head to the line with the time of the loop.
fn thermodynamics(stdout: &str) -> Vec<&str> {
    let lines = stdout.lines().skip_while(|line| !line.starts_with("Step "));
    let table: Vec<&str> = lines
        .take_while(|line| !line.starts_with("Loop time"))
        .collect();
    assert!(table.len() > 3, "no thermodynamic output in {stdout:?}");
    table
}

/// The physics is the same to the last digit, and every call is in the report.
#[test]
fn melt_computes_the_same_and_every_call_is_recorded() {
    let bare = Job::bare(Family::Ompi, RANKS, &command()).run();
    let observed = Job::observed(Family::Ompi, RANKS, &command())
        .env("LD_PRELOAD", counter(Family::Ompi, Counter::Shallow))
        .run();

    assert_eq!((bare.code(), observed.code()), (0, 0));
    assert_eq!(
        thermodynamics(&bare.stdout()[0]),
        thermodynamics(&observed.stdout()[0])
    );
    assert_eq!(bare.stderr(), observed.stderr());
    // Rank 0 prints times; the others print nothing that varies.
    for rank in 1..RANKS as usize {
        assert_eq!(bare.stdout()[rank], observed.stdout()[rank], "rank {rank}");
    }

    let (report, counted) = (observed.report(), observed.counter_counts());
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &counted.calls);
    let messages = |cells: &[invivo_e2e::results::report::Cell]| -> (u64, u64) {
        cells.iter().fold((0, 0), |sum, cell| {
            (sum.0 + cell.messages, sum.1 + cell.bytes)
        })
    };

    let (sent, received) = (
        messages(&report.matrix.sent),
        messages(&report.matrix.received),
    );
    assert!(sent.0 > 5000, "melt sends many messages: {sent:?}");
    assert_eq!(sent, received, "what was sent has arrived");
    assert_eq!(report.matrix.unresolved.messages, 0);
    observed.assert_nothing_left();
}
