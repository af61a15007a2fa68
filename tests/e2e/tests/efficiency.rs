//! Efficiencies of programs that share their work in known ways.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

const RANKS: u32 = 4;
/// A unit of work: rounds take some 200 ms.
const UNIT_MS: &str = "40";
/// How long the rounds are looked at.
const SINCE: &str = "6s";
/// Until there is so much to look at.
const A_WHILE: Duration = Duration::from_secs(7);
/// What efficiencies may be off: two rounds of thirty that the interval cuts, and oversleeping
/// where more ranks wait than there are cores.
const TOLERANCE: f64 = 0.15;

fn of(answer: &Value, name: &str) -> f64 {
    let value = answer["efficiency"][name].as_f64();
    value.unwrap_or_else(|| panic!("no {name} in {answer}"))
}

/// The efficiencies of work that is shared in this way: in the last seconds, and in the report, of
/// the whole run.
fn shared(family: Family, kind: &str) -> [Value; 2] {
    let command = program(family, "shared_work", [kind, UNIT_MS]);
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_answers();
    sleep(A_WHILE);
    let client = running.client();
    let answer = client.json(&["efficiency", "--since", SINCE]);
    let text = String::from_utf8_lossy(&client.run(&["efficiency"]).stdout).into_owned();
    assert!(text.contains("load balance"), "{text}");
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    let report = std::fs::read(ended.directory().join("report.json")).expect("a report");
    [answer, serde_json::from_slice(&report).expect("json")]
}

fn near(answer: &Value, name: &str, expected: f64) {
    let told = of(answer, name);
    assert!(
        (told - expected).abs() <= TOLERANCE,
        "{name} {told} instead of {expected}: {}",
        answer["efficiency"]
    );
}

/// With n ranks that work 1 + 2 r units the load balance is n / (2 n - 1); with work that is done
/// by one rank after the other the parallel efficiency is 1 / n.
fn efficiencies_are_those_of_the_work(family: Family) {
    let n = f64::from(RANKS);
    for uneven in shared(family, "uneven") {
        near(&uneven, "load_balance", n / (2.0 * n - 1.0));
        near(&uneven, "communication_efficiency", 1.0);
        assert_eq!(uneven["efficiency"]["max_rank"], RANKS - 1, "{uneven}");
        assert_eq!(uneven["efficiency"]["min_rank"], 0, "{uneven}");
    }
    for serial in shared(family, "serial") {
        near(&serial, "parallel_efficiency", 1.0 / n);
        near(&serial, "load_balance", 1.0);
    }
    for even in shared(family, "even") {
        near(&even, "parallel_efficiency", 1.0);
        near(&even, "load_balance", 1.0);
    }
}

#[test]
fn efficiencies_are_those_of_the_work_on_open_mpi() {
    efficiencies_are_those_of_the_work(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn efficiencies_are_those_of_the_work_on_mpich() {
    efficiencies_are_those_of_the_work(Family::Mpich);
}
