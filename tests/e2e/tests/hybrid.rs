//! Ranks with several threads of OpenMP: `invivo explain` says of threads that are idle, or that
//! have no processor.

use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::hybrid;
use serde_json::Value;
use std::ffi::OsString;

/// What is measured from the start.
const MEASURED: &str = "usual@50ms";
/// How often it may look: what is found now and then is what other work on the machine does.
const LOOKS: usize = 4;

/// Lets ranks run on all processors, or on one, whatever their launcher binds them to: Open MPI's
/// binds one or two ranks to a core each.
const ON_ALL: &str = "exec taskset -c \"$(cat /sys/devices/system/cpu/online)\" \"$@\"";
const ON_ONE: &str = "first=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
exec taskset -c \"$first\" \"$@\"";

fn start(family: Family, ranks: u32, processors: &str) -> Running {
    let mut command: Vec<OsString> = ["sh", "-c", processors, "sh"].map(OsString::from).into();
    command.extend(hybrid(family));
    let job = Job::run_by_invivo(family, ranks, &command);
    let mut running = job.options(["--metrics", MEASURED]).start();
    running.wait_for_answers();
    running
}

/// What is said, at first or where it is this.
fn told(running: &Running, is_it: impl Fn(&Value) -> bool) -> Value {
    let look = || {
        let told = running.client().json(&["explain", "--for", "2s"]);
        println!("{}", told["sentence"]);
        told
    };
    let of_looks = (1..LOOKS).map(|_| look());
    let told = of_looks.into_iter().find(&is_it).unwrap_or_else(look);
    assert!(is_it(&told), "{told}");
    told
}

fn has(told: &Value, words: &[&str]) -> bool {
    let sentence = told["sentence"].as_str().expect("a sentence");
    words.iter().all(|word| sentence.contains(word))
}

fn part(told: &Value, name: &str) -> f64 {
    told["outside_mpi"][name].as_f64().unwrap_or(f64::NAN)
}

/// Of each rank in the last two seconds: the least and the most.
fn values(running: &Running, metric: &str) -> (u64, u64) {
    let grid = running
        .client()
        .json(&["heatmap", "--metric", metric, "--since", "2s"]);
    let totals = grid["rows"].as_array().expect("rows").iter();
    let totals: Vec<&Value> = totals.map(|row| &row["total"]).collect();
    let of = |name: &str| -> Vec<u64> {
        let values = totals.iter().filter_map(|total| total[name].as_u64());
        values.collect()
    };
    let (least, most) = (of("min"), of("max"));
    let least = least.into_iter().min().expect("a row");
    (least, most.into_iter().max().expect("a row"))
}

fn idle_threads_are_told(family: Family) {
    let running = start(family, 1, ON_ALL);
    // Both threads compute. What else runs on the machine takes processors, too, and is told.
    running.go_on("both");
    told(&running, |told| {
        let (none, others) = ("none".into(), "no_processor".into());
        [&none, &others].contains(&&told["limit"])
            && !has(told, &["in the mean"])
            && part(told, "active_threads") == 2.0
            && part(told, "idle_threads_share") < 0.2
    });

    running.go_on("serial");
    told(&running, |told| {
        told["limit"] == "idle_threads"
            && has(
                told,
                &[
                    "The ranks compute for ",
                    "their threads, 2 of each, were idle for ",
                ],
            )
            && (0.3..0.55).contains(&part(told, "idle_threads_share"))
    });
    running.tell("stop");
    assert_eq!(running.end().code(), 0);

    let running = start(family, 2, ON_ALL);
    running.go_on("one_serial");
    told(&running, |told| {
        told["limit"] == "load_balance"
            && told["rank"] == 1
            && has(
                told,
                &["though ", "it has 1 active thread, and the others 2"],
            )
    });
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// As launchers bind a rank where they are not told of its threads.
fn threads_on_one_processor_are_told(family: Family) {
    let running = start(family, 1, ON_ONE);
    running.go_on("both");
    told(&running, |told| {
        let words = [
            "The ranks compute for ",
            "their threads could run they had no processor",
            "(a rank has 2 threads on 1 processor, in the mean)",
        ];
        told["limit"] == "no_processor"
            && has(told, &words)
            && (0.4..0.7).contains(&part(told, "run_delay_share"))
    });
    assert_eq!(values(&running, "processors"), (1, 1));
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

#[test]
fn idle_threads_on_open_mpi() {
    idle_threads_are_told(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn idle_threads_on_mpich() {
    idle_threads_are_told(Family::Mpich);
}

#[test]
fn threads_on_one_processor() {
    Family::ALL
        .into_iter()
        .for_each(threads_on_one_processor_are_told);
}
