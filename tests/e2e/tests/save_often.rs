//! Saves again and again while the program goes on: nothing grows, and every call is accounted for.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::resident_bytes;
use invivo_e2e::programs::program;
use std::time::Duration;

const RANKS: u32 = 4;
/// Saves before the first look: buffers, tables and allocators have their size by then.
const FIRST: u32 = 20;
const ALL: u32 = 100;
/// What a process may have more behind all of them than behind the first, in bytes: half a page of
/// a save. A leak of one page each would be eighty times two MiB.
const GROWN_MAX: u64 = 4 << 20;

fn nothing_grows(family: Family) {
    let command = program(family, "told_rounds", []);
    // Full at once, so that each save has all that a buffer of this size can hold.
    let job = Job::observed(family, RANKS, &command).options(["--buffer", "256KiB"]);
    let mut running = job.limit(Duration::from_secs(300)).start();
    running.wait_for_answers();
    running.until("buffers that have given something up", |job| {
        let buffers = job.client().try_json(&["buffers"])?;
        (number(&buffers, "/reductions") > 0).then_some(())
    });
    let processes = ["tool-place", "analysis-node", "ui-gateway"];
    let resident = |running: &Running, name: &str| resident_bytes(&running.only(name));
    let mut before = Vec::new();
    for save in 0..ALL {
        if save == FIRST {
            before = processes.map(|name| resident(&running, name)).to_vec();
        }
        let dir = running.directory().join(format!("obs{save}"));
        let name = dir.to_str().expect("letters");
        let saved = running.client().json(&["save", name]);
        assert!(number(&saved, "/kept") > 0, "{saved}");
        std::fs::remove_dir_all(&dir).expect("removed");
    }
    for (name, before) in processes.iter().zip(before) {
        let after = resident(&running, name);
        assert!(
            after < before + GROWN_MAX,
            "{family:?}: {name} has grown from {before} to {after} bytes in {} saves",
            ALL - FIRST
        );
    }
    running.tell("enough");
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
fn nothing_grows_on_open_mpi() {
    nothing_grows(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn nothing_grows_on_mpich() {
    nothing_grows(Family::Mpich);
}
