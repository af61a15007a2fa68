//! `invivo shutdown` ends the measurement while the job goes on to its result.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::CallLog;
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{Process, cpu_time};
use invivo_e2e::programs::program;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most CPU time that a tool process uses in a second after the measurement: it checks now and
/// then whether the job has ended.
const IDLE_CPU_TIME_MAX: Duration = Duration::from_millis(50);

#[test]
fn a_job_runs_on_without_its_measurement() {
    for family in Family::ALL {
        let ranks = 2;
        let mut running = Job::run_by_invivo(family, ranks, &program(family, "logged_rounds", []))
            .fan_in("1")
            .start();
        running.wait_for_answers();
        running.wait_for_notes("begun");
        let client = running.client();
        client.all_do(ranks, &["shutdown"]);

        let report = running.directory().join("report.json");
        running.until("the report", |_| report.exists().then_some(()));
        running.until("the job to be off the list", |job| {
            (!job.connect_file().exists()).then_some(())
        });
        assert!(running.runs(), "{family:?}: the job goes on");

        let tools: Vec<Process> = ["tool-place", "analysis-node"]
            .into_iter()
            .flat_map(|name| running.named(name))
            .collect();
        assert_eq!(tools.len(), 3, "{tools:?}");
        // It is ended behind the list's entry.
        running.until("no client to be able to connect any more", |job| {
            job.named("ui-gateway").is_empty().then_some(())
        });

        let before: Vec<Duration> = tools.iter().map(cpu_time).collect();
        std::thread::sleep(Duration::from_secs(1));
        for (tool, before) in tools.iter().zip(before) {
            let used = cpu_time(tool).saturating_sub(before);
            assert!(
                used <= IDLE_CPU_TIME_MAX,
                "{family:?}: {tool:?} used {used:?} in a second"
            );
        }

        running.tell("stop");
        let ended = running.end();
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong, computed\n"));

        let lines = ended.our_lines();
        assert!(
            lines.len() == 1 && lines[0].contains("shut down"),
            "{family:?}: one line, at the end: {lines:?}"
        );

        let report = ended.report();
        checks::conserved(&report, ranks);
        assert!(report.shut_down, "{family:?}");
        // Of every rank exactly the calls up to some moment.
        for (rank, log) in CallLog::read_all(&ended.logs(), ranks).iter().enumerate() {
            let of_rank = report
                .calls()
                .into_iter()
                .filter(|((of, _), _)| *of == rank as u32);
            let reported: BTreeMap<String, u64> = of_rank
                .map(|((_, function), calls)| (function, calls))
                .collect();
            // The calls that were reported are the first of the log: their number says where the
            // measurement ended.
            let until = reported.values().sum::<u64>() as usize;
            assert!(
                until > 0 && until < log.calls.len(),
                "{family:?}: {until} of {}",
                log.calls.len()
            );

            let mut first: BTreeMap<String, u64> = BTreeMap::new();
            for call in &log.calls[..until] {
                *first.entry(call.function.clone()).or_default() += 1;
            }
            checks::same(
                "calls of a rank until the end of its measurement",
                &first,
                &reported,
            );
        }
        ended.assert_nothing_left();
    }
}
