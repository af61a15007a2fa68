//! What ranks did over time, beside the log of a program that writes down when each of its calls
//! began and ended, and beside the function table.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::CallLog;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const RANKS: u32 = 4;
/// Rounds of some 60 ms.
const ROUNDS: usize = 80;
/// Between the program's reading of its clock and the begin or end of the call, over all calls of a
/// column: some time slices where the machine is busy.
const READING_NS: u64 = 60_000_000;
/// Of a shorter time a share says little.
const MILLISECONDS_10: u64 = 10_000_000;
/// What sums of rounded numbers may be apart.
const ROUNDING_NS: u64 = 10_000;

/// The cells by rank and column.
fn cells(grid: &Value) -> BTreeMap<(u32, usize), Value> {
    let rows = grid["rows"].as_array().expect("rows");
    let mut cells = BTreeMap::new();
    for row in rows {
        let rank = number(row, "/row") as u32;
        let of_row = row["cells"].as_array().expect("cells").iter().cloned();
        cells.extend(
            of_row
                .enumerate()
                .map(|(column, cell)| ((rank, column), cell)),
        );
    }
    cells
}

/// The sums of each rank over all columns.
fn sums(grid: &Value) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for ((rank, _), cell) in cells(grid) {
        *sums.entry(rank).or_default() += number(&cell, "/sum");
    }
    sums
}

/// The same from the function table: calls, time without the initialisation, bytes.
fn by_functions(functions: &Value) -> BTreeMap<u32, [u64; 3]> {
    let mut sums: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
    for row in functions["rank_rows"].as_array().expect("rows by rank") {
        let sum = sums.entry(number(row, "/rank") as u32).or_default();
        sum[0] += number(row, "/calls");
        let is_initialisation = row["function"]
            .as_str()
            .expect("a name")
            .starts_with("MPI_Init");
        sum[1] += if is_initialisation {
            0
        } else {
            number(row, "/time_ns")
        };
        sum[2] += number(row, "/bytes_out");
    }
    sums
}

fn grids_tell_what_the_program_wrote_down(family: Family) {
    let command = program(family, "late_sender", [&ROUNDS.to_string()]);
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_notes("done");
    let logs = CallLog::read_all(&running.logs(), RANKS);
    let client = running.client();

    // All is in once the function table stands still.
    let calls: u64 = logs.iter().map(|log| log.calls.len() as u64).sum();
    let functions = running.until("all calls to be counted", |job| {
        let answer = job.client().try_json(&["functions", "--per-rank"])?;
        let sums = by_functions(&answer);
        let is_all = sums.values().map(|sum| sum[0]).sum::<u64>() >= calls;
        let left = |what| number(&answer, &format!("/coverage/ledger/{what}"));
        (is_all && left("open") + left("in_flight") == 0).then_some(answer)
    });
    let ask = |metric: &str| client.json(&["heatmap", "--metric", metric, "--columns", "24"]);
    let (mpi, counted, bytes) = (ask("mpi"), ask("calls"), ask("bytes"));
    for (rank, [of_calls, _, of_bytes]) in by_functions(&functions) {
        assert_eq!(sums(&counted)[&rank], of_calls, "rank {rank}: {counted}");
        assert_eq!(sums(&bytes)[&rank], of_bytes, "rank {rank}: {bytes}");
    }

    let (begin_ns, width_ns) = (number(&mpi, "/begin_ns"), number(&mpi, "/width_ns"));
    let first_ns = begin_ns.saturating_add_signed(mpi["from_ns"].as_i64().expect("a time"));
    let last_ns = logs
        .iter()
        .flat_map(|log| &log.calls)
        .map(|call| call.end_ns)
        .max()
        .expect("calls");
    let mut compared = 0;
    for ((rank, column), cell) in cells(&mpi) {
        let from_ns = first_ns + column as u64 * width_ns;
        let to_ns = from_ns + width_ns;
        // What follows the log waits until it has been looked at.
        if to_ns > last_ns || number(&cell, "/recorded_ns") + ROUNDING_NS < width_ns {
            continue;
        }
        let overlap = |begin: u64, end: u64| end.min(to_ns).saturating_sub(begin.max(from_ns));
        let logged: u64 = logs[rank as usize]
            .calls
            .iter()
            .map(|call| overlap(call.begin_ns, call.end_ns))
            .sum();
        let told = number(&cell, "/sum");
        assert!(
            told.abs_diff(logged) <= READING_NS,
            "rank {rank}, column {column} of {width_ns} ns: {told} ns, logged {logged} ns"
        );
        assert!(
            told <= width_ns + ROUNDING_NS,
            "rank {rank}, column {column}: {cell}"
        );
        compared += 1;
    }
    assert!(compared >= RANKS as usize * 6, "{compared} cells of {mpi}");

    let picture = String::from_utf8_lossy(&client.run(&["heatmap"]).stdout).into_owned();
    assert!(picture.contains("time in MPI, as a share"), "{picture}");
    let refused = client.run(&["heatmap", "--interval", "9000s.."]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && why.contains("is empty"),
        "{why}"
    );

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
fn grids_tell_what_the_program_wrote_down_on_open_mpi() {
    grids_tell_what_the_program_wrote_down(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn grids_tell_what_the_program_wrote_down_on_mpich() {
    grids_tell_what_the_program_wrote_down(Family::Mpich);
}

/// Records of the last tenth of a second are under way: what is not known yet is not computing.
#[test]
fn the_newest_column_is_as_the_others() {
    let command = program(Family::Ompi, "message_loop", []);
    let mut running = Job::observed(Family::Ompi, RANKS, &command).start();
    running.wait_for_answers();
    std::thread::sleep(Duration::from_secs(2));
    let (mut long, mut odd) = (0, Vec::new());
    for _ in 0..20 {
        let grid = (running.client()).json(&["heatmap", "--since", "1s", "--columns", "10"]);
        let cells = cells(&grid);
        let newest = cells.keys().map(|(_, column)| *column).max();
        for ((_, column), cell) in &cells {
            let [sum, recorded] = ["/sum", "/recorded_ns"].map(|field| number(cell, field));
            if Some(*column) == newest && recorded > MILLISECONDS_10 {
                long += 1;
                // It does nothing but communicate.
                if 3 * sum < recorded {
                    odd.push(cell.clone());
                }
            }
        }
    }
    // A rank that had no processor between two calls.
    assert!(
        long > 0 && odd.len() * 4 < long,
        "{} of {long}: {odd:?}",
        odd.len()
    );
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}
