//! Recording on and off, reset and windows: tables have exactly the calls between the two commands.
//!
//! The program logs when each of its MPI calls began and ended.

use invivo_e2e::checks;
use invivo_e2e::clients::{Client, entered_and_placed, number};
use invivo_e2e::interval::{Edge, Interval, Straddling, Table, table};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::call_log::CallLog;
use invivo_e2e::logs::clock_log::now_ns;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Functions that the program calls in its first half only.
const FIRST_HALF: [&str; 2] = ["MPI_Scan", "MPI_Ssend"];
/// The longest time from a call to its record in a table: 100 ms and what a busy machine adds.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);

/// Ranks and fan-in: two tool places each. Fewer ranks on MPICH, which spins while it waits.
fn size(family: Family) -> (u32, &'static str) {
    match family {
        Family::Ompi | Family::Ompi5 => (3, "2"),
        _ => (2, "1"),
    }
}

/// A running job, and the answers that are compared with its logs in the end.
struct Steered {
    running: Running,
    client: Client,
    ranks: u32,
    /// Tables with the intervals out of which they were cut.
    cut_out: Vec<(&'static str, Interval, Table)>,
    /// Times in which nothing was recorded of a busy program.
    not_recorded: Vec<(u64, u64)>,
}

/// Counts of records and packets, which do not change while recording is off.
#[derive(Debug, PartialEq, Eq)]
struct RecordCounts {
    entered: u64,
    packets_mpi: u64,
    packets_shm: u64,
    payload_bytes: u64,
}

impl Steered {
    fn record_counts(&self) -> RecordCounts {
        let status = self.client.json(&["status"]);
        let of = |name: &str| number(&status, &format!("/coverage/{name}"));
        RecordCounts {
            entered: of("ledger/entered"),
            packets_mpi: of("packets_mpi"),
            packets_shm: of("packets_shm"),
            payload_bytes: of("payload_bytes"),
        }
    }

    /// Waits until no record is in flight, with recording off. Returns the table by rank.
    fn settled(&self) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.client.json(&["functions", "--per-rank"]);
            let part = |name: &str| number(&answer, &format!("/coverage/ledger/{name}"));
            if part("in_flight") == 0 && part("open") == 0 {
                // With nothing under way both sides of the ledger must be equal.
                assert_conserved(&answer);
                return answer;
            }
            assert!(
                begun.elapsed() < SETTLED_WITHIN,
                "records are still on their way: {answer}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn assert_recording(&self, on: u32) -> Value {
        let status = self.client.json(&["status"]);
        let recording = |name: &str| number(&status, &format!("/status/recording/{name}"));
        assert_eq!(
            (recording("on"), recording("off")),
            (u64::from(on), u64::from(self.ranks - on)),
            "{status}"
        );
        status
    }

    /// Checks that nothing is recorded for a second, though the program works.
    fn assert_not_recorded(&mut self) {
        self.assert_recording(0);

        let (from, before) = (now_ns(), self.record_counts());
        std::thread::sleep(Duration::from_secs(1));

        assert_eq!(
            before,
            self.record_counts(),
            "nothing is recorded while recording is off"
        );
        self.not_recorded.push((from, now_ns()));
    }

    /// No rank executes a statement behind its `MPI_Init` until the job is resumed.
    fn held_behind_init(&mut self) {
        let reply = self.client.all_do(self.ranks, &["hold"]);

        let status = self.client.json(&["status"]);
        assert_eq!(
            number(&status, "/status/ranks/held"),
            u64::from(self.ranks),
            "{status}"
        );
        // Long enough for a rank that is not held to go on.
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(self.running.notes("begun"), 0, "a rank went on: {reply}");

        self.client.resume(self.ranks);
        self.running.wait_for_notes("begun");
    }

    /// Recording is off at the start; when it is switched on, every call from there on is recorded,
    /// until it is switched off.
    fn recording_off_and_on(&mut self) {
        assert_eq!(
            self.record_counts().entered,
            0,
            "nothing was recorded since the start"
        );
        self.assert_not_recorded();

        let on = self.client.all_do(self.ranks, &["record", "on"]);
        self.assert_recording(self.ranks);
        std::thread::sleep(Duration::from_secs(1));
        let off = self.client.all_do(self.ranks, &["record", "off"]);
        let answer = self.settled();
        // The end is an edge at which calls count as a whole: they had begun while recording was
        // on.
        let interval = Interval {
            from: Edge::of(&on, "/from", Straddling::Clipped),
            to: Some(Edge::of(&off, "/from", Straddling::Whole)),
        };
        self.cut_out.push(("on and off", interval, table(&answer)));
        self.assert_not_recorded();

        let before = self.record_counts();
        self.client.all_do(self.ranks, &["record", "on"]);
        let client = self.client.clone();
        self.running.until("more calls", move |_| {
            let status = client.json(&["status"]);
            (number(&status, "/coverage/ledger/entered") > before.entered + 100).then_some(())
        });
    }

    /// After a reset no table has anything from before, now and later.
    fn reset(&mut self) {
        let names = |answer: &Value| {
            let rows = answer["rows"].as_array().expect("rows").clone();
            let names = rows
                .iter()
                .filter_map(|row| row["function"].as_str().map(str::to_owned));
            names.collect::<Vec<String>>()
        };

        let before = names(&self.client.json(&["functions"]));
        for function in FIRST_HALF {
            assert!(
                before.iter().any(|name| name == function),
                "{function} is not in {before:?}"
            );
        }

        self.running.tell("second");
        self.running.wait_for_notes("second");
        let reset = self.client.all_do(self.ranks, &["reset"]);
        // Several times: records that were under way at the reset arrive later.
        for _ in 0..5 {
            let after = names(&self.client.json(&["functions"]));
            for function in FIRST_HALF {
                assert!(
                    !after.iter().any(|name| name == function),
                    "{function} is from before the reset"
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }

        let off = self.client.all_do(self.ranks, &["record", "off"]);
        let answer = self.settled();
        assert!(number(&answer, "/coverage/ledger/reset") > 0, "{answer}");
        self.buffers_begin_at(&reset);
        self.matrix_is_that_of(&answer);

        let interval = Interval {
            from: Edge::of(&reset, "/from", Straddling::Clipped),
            to: Some(Edge::of(&off, "/from", Straddling::Whole)),
        };
        self.cut_out.push(("reset", interval, table(&answer)));
    }

    /// The buffers have no call that ended before a reset.
    fn buffers_begin_at(&self, reset: &Value) {
        let from = |name: &str| number(reset, &format!("/from/{name}"));

        let earliest_ns = from("earliest_ns") - from("error_ns");
        for rank in 0..self.ranks {
            let pages = self.client.json_stream(&["records", &rank.to_string()]);
            let of_page = |page: &Value| page["records"].as_array().cloned().unwrap_or_default();
            let records: Vec<Value> = pages.iter().flat_map(of_page).collect();
            assert!(!records.is_empty(), "rank {rank} has no records");
            for record in &records {
                assert!(
                    number(record, "/end_ns") >= earliest_ns,
                    "rank {rank} has a record from before {earliest_ns}: {record}"
                );
            }
        }
    }

    /// The communication matrix fits the calls in this table, of the program's second half:
    /// messages go around in a ring.
    fn matrix_is_that_of(&self, table: &Value) {
        let rows = table["rank_rows"].as_array().expect("rows by rank");
        let sum = |rank: u32, functions: &[&str], what: &str| -> u64 {
            let of_rank = rows.iter().filter(|row| {
                number(row, "/rank") == u64::from(rank)
                    && functions
                        .iter()
                        .any(|function| row["function"] == *function)
            });
            of_rank.map(|row| number(row, &format!("/{what}"))).sum()
        };

        let receiving = ["MPI_Irecv", "MPI_Waitall"];
        let matrix = self.client.json(&["matrix"]);
        let cells = matrix["cells"].as_array().expect("cells");
        assert_eq!(number(&matrix, "/block_ranks"), 1, "{matrix}");
        assert_eq!(cells.len(), self.ranks as usize, "a ring: {matrix}");
        for cell in cells {
            let (source, destination) = (
                number(cell, "/source") as u32,
                number(cell, "/destination") as u32,
            );
            assert_eq!(destination, (source + 1) % self.ranks, "{cell}");
            let of = |name: &str| number(cell, &format!("/{name}"));
            // The sender's calls and the receiver's bytes: two ranks counted each cell.
            assert_eq!(
                (of("sent/messages"), of("sent/bytes"), of("received/bytes")),
                (
                    sum(source, &["MPI_Isend"], "calls"),
                    sum(source, &["MPI_Isend"], "bytes_out"),
                    sum(destination, &receiving, "bytes_in")
                ),
                "{cell}"
            );
            // One message for each call, but for a call at an edge whose request was outside.
            let waits = sum(destination, &["MPI_Waitall"], "calls");
            assert!(
                of("received/messages").abs_diff(waits) <= 1,
                "{waits} waits: {cell}"
            );
        }
    }

    /// A window has exactly the calls that lie in it; while it is open, a reset is refused.
    fn window(&mut self) {
        let client = self.client.clone();
        let recorded = std::thread::spawn(move || client.json(&["record", "--for", "4s"]));
        // In the midst of the window.
        let begun = Instant::now();
        while self.client.json(&["status"])["status"]["recording"]["window"]["complete"] != 0 {
            assert!(begun.elapsed() < Duration::from_secs(4), "no window");
        }
        let refused = self.client.run(&["reset", "--json"]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let said = [refused.stdout, refused.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("window"), "{said}");

        let reply = recorded.join().expect("the window was recorded");
        assert_eq!(number(&reply, "/done"), u64::from(self.ranks), "{reply}");

        // A place that gets the command late begins late, and says so in its answer.
        let length = number(&reply, "/to/latest_ns") - number(&reply, "/from/earliest_ns");
        assert!(length > 3_000_000_000 && length <= 4_000_000_000, "{reply}");
        assert!(
            number(&reply, "/complete_ns") >= number(&reply, "/to/latest_ns"),
            "{reply}"
        );

        let status = self.assert_recording(0);
        assert_eq!(
            number(&status, "/status/recording/window/complete"),
            u64::from(self.ranks),
            "{status}"
        );

        let answer = self.settled();
        let interval = Interval {
            from: Edge::of(&reply, "/from", Straddling::Clipped),
            to: Some(Edge::of(&reply, "/to", Straddling::Clipped)),
        };

        let table = table(&answer);
        let calls: u64 = table.values().map(|row| row.calls).sum();
        let clipped: u64 = table.values().map(|row| row.clipped).sum();
        // A call that was open at the end of the window is clipped there, and counted when it has
        // ended, which may be after this answer.
        assert_eq!(number(&reply, "/clipped"), clipped, "{reply}");
        let (counted, open) = (number(&reply, "/calls"), number(&reply, "/open"));
        assert!(
            counted <= calls && calls <= counted + open,
            "{calls} calls in the end: {reply}"
        );
        self.cut_out.push(("window", interval, table));
    }

    /// Ends the program, and compares the answers that it gave while it ran with its own logs.
    fn end(self) {
        self.running.tell("stop");
        let ended = self.running.end();
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong, computed\n"));

        let logs = CallLog::read_all(&ended.logs(), self.ranks);
        for (what, interval, table) in &self.cut_out {
            eprintln!("comparing: {what}");
            interval.assert_matches(table, &logs);
        }
        // Without calls in that time the comparison would prove nothing.
        for (from, to) in self.not_recorded {
            let busy = |log: &CallLog| {
                log.calls
                    .iter()
                    .filter(|call| call.begin_ns > from && call.end_ns < to)
                    .count()
            };
            assert!(
                logs.iter().all(|log| busy(log) > 100),
                "the program was at rest itself"
            );
        }
        // Recording was off from the window on: the report is the window's.
        let report = ended.report();
        checks::conserved(&report, self.ranks);
        let (_, _, window) = self.cut_out.last().expect("the window");
        let window: Vec<_> = window
            .iter()
            .map(|(key, row)| (key.clone(), row.calls))
            .collect();
        assert_eq!(report.calls().into_iter().collect::<Vec<_>>(), window);
        ended.assert_nothing_left();
    }
}

fn assert_conserved(answer: &Value) {
    let (entered, placed) = entered_and_placed(answer);
    assert_eq!(entered, placed, "{answer}");
    assert_eq!(
        number(answer, "/coverage/ledger/dropped/no_packet"),
        0,
        "nothing may be missing in comparisons: {answer}"
    );
}

fn commands_cut_exactly(family: Family) {
    let (ranks, fan_in) = size(family);
    let running = Job::run_by_invivo(family, ranks, &program(family, "logged_rounds", []))
        .fan_in(fan_in)
        .options(["--hold", "--recording", "off"])
        .start();
    let client = running.client();
    let mut steered = Steered {
        running,
        client,
        ranks,
        cut_out: Vec::new(),
        not_recorded: Vec::new(),
    };
    steered.running.wait_for_answers();
    steered.held_behind_init();
    steered.recording_off_and_on();
    steered.reset();
    steered.window();
    steered.end();
}

#[test]
fn commands_cut_exactly_on_open_mpi() {
    commands_cut_exactly(Family::Ompi);
}

#[test]
fn commands_cut_exactly_on_mpich() {
    commands_cut_exactly(Family::Mpich);
}
