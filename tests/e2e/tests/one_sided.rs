//! Bytes and targets of one-sided calls, of calls of files, and of probes.

use invivo_e2e::checks;
use invivo_e2e::clients::Client;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::collections::BTreeMap;

const RANKS: u32 = 2;

/// What each rank moves, as the program's source says it: function, bytes out, bytes in.
const MOVED: [(&str, u64, u64); 14] = [
    // One of two goes to MPI_PROC_NULL.
    ("MPI_Put", 100, 0),
    ("MPI_Get", 0, 30 * 4),
    ("MPI_Accumulate", 7 * 8, 0),
    ("MPI_Get_accumulate", 3 * 8, 3 * 8),
    ("MPI_Fetch_and_op", 8, 8),
    ("MPI_Compare_and_swap", 8, 8),
    ("MPI_Rput", 60, 0),
    ("MPI_File_write_at", 300, 0),
    // The file ends before what is asked for does.
    ("MPI_File_read_at", 0, 40),
    ("MPI_File_read_at_all", 0, 150),
    ("MPI_Probe", 0, 0),
    ("MPI_Recv", 0, 11),
    ("MPI_Mprobe", 0, 0),
    ("MPI_Mrecv", 0, 12),
];

/// Functions whose calls name the other rank, each as a rank of the reversed communicator.
const TARGETED: [&str; 8] = [
    "MPI_Get",
    "MPI_Accumulate",
    "MPI_Get_accumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
    "MPI_Win_flush",
    "MPI_Probe",
    "MPI_Mprobe",
];

/// The ranks of the job that a rank's calls name, by function.
fn peers(client: &Client) -> BTreeMap<(u64, String), Vec<Option<u64>>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let pages = client.json_stream(&["timeline", "--seconds", "3600"]);
    for piece in pages
        .iter()
        .flat_map(|page| page["pieces"].as_array())
        .flatten()
    {
        let rank = piece["location"]["rank"].as_u64().unwrap_or(0);
        let known: BTreeMap<(Option<u64>, Option<i64>), Option<u64>> = piece["peers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|peer| {
                (
                    (peer["comm"].as_u64(), peer["peer"].as_i64()),
                    peer["rank"].as_u64(),
                )
            })
            .collect();
        for call in piece["calls"].as_array().into_iter().flatten() {
            let facts: &Value = &call["facts"];
            let name = call["function"].as_str().unwrap_or_default().to_owned();
            let peer = known.get(&(facts["comm"].as_u64(), facts["peer"].as_i64()));
            found
                .entry((rank, name))
                .or_default()
                .push(peer.copied().flatten());
        }
    }
    found
}

/// The function table has the bytes that the program moved, and calls name the ranks that they were
/// about.
#[test]
fn one_sided_calls_files_and_probes_tell_what_they_moved() {
    for family in Family::ALL {
        let command = program(family, "one_sided", []);
        let mut running = Job::observed(family, RANKS, &command).start();
        running.wait_for_answers();
        running.wait_for_notes("done");
        // What is younger than the latency bound may not have been read yet.
        let peers = running.until("the last call", |job| {
            let peers = peers(&job.client());
            let is_there = |rank| peers.contains_key(&(rank, "MPI_File_close".to_owned()));
            (0..u64::from(RANKS)).all(is_there).then_some(peers)
        });
        // A page waits for the members of a new communicator.
        for rank in 0..u64::from(RANKS) {
            for function in TARGETED {
                assert_eq!(
                    peers.get(&(rank, function.to_owned())),
                    Some(&vec![Some(1 - rank)]),
                    "{family:?}: {function} of rank {rank}"
                );
            }
        }

        running.tell("end");
        let ended = running.end();
        assert_eq!(ended.code(), 0, "{family:?}");
        ended.assert_nothing_left();
        let report = ended.report();
        checks::complete(&report, RANKS);
        checks::same_calls_where_counted(&report, &ended.own_counts().calls);
        for rank in 0..RANKS {
            for (function, bytes_out, bytes_in) in MOVED {
                let of = report
                    .functions
                    .iter()
                    .find(|row| row.rank == Some(rank) && row.function == function);
                let found = of.map(|row| (row.bytes_out, row.bytes_in));
                assert_eq!(
                    found,
                    Some((bytes_out, bytes_in)),
                    "{family:?}: {function} of rank {rank}"
                );
            }
        }
    }
}
