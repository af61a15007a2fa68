//! Samples are in the buffers one by one: among the calls of their time, where the program was; and
//! what is saved and exported has each of them.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{plain_name, shares};
use invivo_e2e::results::otf2_print::printed;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// As many as there are processors.
const RANKS: u32 = 2;
/// No multiple of the kernel's own clock.
const HERTZ: &str = "997";
/// A sample so close to the begin or the end of a call may be on the other side: the wrapper is
/// no part of the library.
const EDGE_NS: u64 = 5_000;

/// What a rank's buffer has of some seconds.
#[derive(Default)]
struct Kept {
    /// Begin, end and name of each call.
    calls: Vec<(u64, u64, String)>,
    /// When each sample was taken, its ordinal, and its functions, the innermost last.
    samples: Vec<(u64, u64, Vec<String>)>,
}

/// The functions of each context of a page.
fn paths(page: &Value) -> BTreeMap<u64, Vec<String>> {
    let mut paths: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for context in page["contexts"].as_array().expect("contexts") {
        let parent = paths.get(&number(context, "/parent")).cloned();
        let mut path = parent.unwrap_or_default();
        let function = context["function"].as_str().expect("a name");
        // The kernel, and code that its file does not name.
        let function = match function {
            "" => context["module"].as_str().expect("a file"),
            function => function,
        };
        path.push(plain_name(function).to_owned());
        paths.insert(number(context, "/number"), path);
    }
    paths
}

fn kept(job: &Running, rank: u32, last: &str) -> Kept {
    kept_in(job, &[], rank, last)
}

/// The same of a saved observation, behind the words that open it.
fn kept_in(job: &Running, open: &[&str], rank: u32, last: &str) -> Kept {
    let rank = rank.to_string();
    let words = [open, &["records", &rank, "--last", last, "--json"]].concat();
    let output = job.client().run(&words);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut kept = Kept::default();
    for line in text.lines() {
        let page: Value = serde_json::from_str(line).expect("a page");
        let paths = paths(&page);
        for call in page["records"].as_array().expect("records") {
            let end = number(call, "/end_ns");
            let function = call["function"].as_str().expect("a name").to_owned();
            let begin = end - number(call, "/duration_ns");
            kept.calls.push((begin, end, function));
        }
        for sample in page["samples"].as_array().expect("samples") {
            let path = paths.get(&number(sample, "/context"));
            let path = path.cloned().unwrap_or_default();
            let (at, ordinal) = (number(sample, "/at_ns"), number(sample, "/ordinal"));
            kept.samples.push((at, ordinal, path));
        }
    }
    kept
}

/// Waits until so many samples are in all buffers together.
fn until_kept(job: &mut Running, samples: u64) {
    job.until("samples in the buffers", |job| {
        let buffers = job.client().try_json(&["buffers"])?;
        (buffers["samples"]["kept"].as_u64()? >= samples).then_some(())
    });
}

/// Samples within a call are in its function, and those between calls are in none.
fn agree_with_calls(what: &str, kept: &Kept) {
    let (mut right, mut wrong) = (0, Vec::new());
    for (at, _, path) in &kept.samples {
        let behind = kept.calls.partition_point(|(_, end, _)| end < at);
        let within = kept.calls.get(behind).filter(|(begin, ..)| begin <= at);
        let edges = kept.calls[behind.saturating_sub(1)..].iter().take(2);
        let mut edges = edges.flat_map(|(begin, end, _)| [*begin, *end]);
        let is_in_time = |(_, end, _): &&(u64, u64, String)| end > at;
        // Behind the last call nobody knows yet whether there is one.
        if edges.any(|edge| edge.abs_diff(*at) < EDGE_NS)
            || !kept.calls.last().is_some_and(|last| is_in_time(&last))
        {
            continue;
        }
        let expected = within.map(|(_, _, function)| function.as_str());
        let told = path.iter().find(|function| function.starts_with("MPI_"));
        match told.map(String::as_str) == expected {
            true => right += 1,
            false => wrong.push((at, expected, path)),
        }
    }
    println!(
        "{what}: {right} samples where their time says, {} not",
        wrong.len()
    );
    assert!(right > 500, "{what}: {right}");
    assert!(
        wrong.len() * 50 <= right,
        "{what}: {right}, {:?}",
        &wrong[..wrong.len().min(9)]
    );
}

/// The part of samples below a function, in per cent.
fn share(kept: &Kept, function: &str) -> f64 {
    let has = |(_, _, path): &&(u64, u64, Vec<String>)| path.iter().any(|name| name == function);
    100.0 * kept.samples.iter().filter(has).count() as f64 / kept.samples.len() as f64
}

fn samples_are_kept(family: Family) {
    let (_, command) = shares(family).swap_remove(0);
    let mut job = Job::observed(family, RANKS, &command).start();
    job.wait_for_answers();
    job.client().json(&["sampling", HERTZ]);
    until_kept(&mut job, 4_000);
    for rank in 0..RANKS {
        let what = format!("{family:?}, rank {rank}");
        let profile = job.client().json(&["profile", "--rank", &rank.to_string()]);
        let kept = kept(&job, rank, "60s");
        assert!(kept.samples.is_sorted_by_key(|(at, ..)| *at), "{what}");
        let steps = kept.samples.windows(2).map(|two| two[1].1 - two[0].1);
        let uneven = steps.filter(|step| *step != 1).count();
        assert!(uneven * 100 <= kept.samples.len(), "{what}: {uneven} gaps");
        agree_with_calls(&what, &kept);
        let functions = profile["functions"].as_array().expect("functions");
        for part in ["heavy", "middle", "light"] {
            let of = functions.iter().find(|of| of["function"] == part);
            let of = of.unwrap_or_else(|| panic!("no {part}: {profile}"));
            let told = 100.0 * number(of, "/ns") as f64 / number(&profile, "/cpu_ns") as f64;
            let seen = share(&kept, part);
            assert!((told - seen).abs() < 4.0, "{what}: {part}: {told} {seen}");
        }
    }
    is_as_kept(&job);
    let buffers = job.client().json(&["buffers"]);
    let books = &buffers["samples"];
    let sum: u64 = ["kept", "reduced", "dropped", "reset"]
        .iter()
        .map(|part| number(books, &format!("/{part}")))
        .sum();
    assert_eq!(number(books, "/stored"), sum, "{buffers}");
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

/// The profile of a time that is over is made of the samples that buffers keep of it.
fn is_as_kept(job: &Running) {
    let status = job.client().json(&["status"]);
    let observed_ns = number(&status, "/status/observed_ns");
    let begin_ns = number(&status, "/status/recording/now_ns") - observed_ns;
    // Samples come up to a second late.
    let end_ms = observed_ns / 1_000_000 - 1_500;
    let from_ms = end_ms - 500;
    let interval = format!("{from_ms}ms..{end_ms}ms");
    let ns = begin_ns + from_ms * 1_000_000..begin_ns + end_ms * 1_000_000;
    for rank in 0..RANKS {
        let of_rank = rank.to_string();
        let line = [
            "profile",
            "--interval",
            &interval,
            "--inside",
            "--rank",
            &of_rank,
        ];
        let profile = job.client().json(&line);
        let all = kept_at(job, rank, &ns);
        let samples = number(&profile, "/samples");
        // Job time is known better and better.
        assert!(
            samples.abs_diff(all.len() as u64) <= 2,
            "{samples}, {}",
            all.len()
        );
        assert!(samples > 100, "{profile}");
        let elapsed_ns = number(&profile, "/elapsed_ns");
        assert!(elapsed_ns.abs_diff(500_000_000) < 100_000, "{profile}");
        let of_sample = number(&profile, "/cpu_ns") / samples;
        let period_ns = 1_000_000_000 / HERTZ.parse::<u64>().expect("a number");
        assert!(of_sample.abs_diff(period_ns) < 1_000, "{of_sample}");
        for function in ["heavy", "middle", "light"] {
            let has = |path: &&Vec<String>| path.iter().any(|name| name == function);
            let wanted = all.iter().filter(has).count() as u64;
            let rows = profile["functions"].as_array().expect("functions");
            let row = rows
                .iter()
                .find(|row| row["function"].as_str().map(plain_name) == Some(function));
            let told = row.map_or(0, |row| number(row, "/ns")) / of_sample;
            assert!(told.abs_diff(wanted) <= 2, "{function}: {told}, {wanted}");
        }
    }
    let later = job
        .client()
        .run(&["profile", "--interval", "0.001s..0.002s"]);
    let said = String::from_utf8_lossy(&later.stderr).into_owned();
    assert!(
        !later.status.success() && said.contains("not sampled in this time"),
        "{said}"
    );
}

/// The functions of a rank's samples of this job time.
fn kept_at(job: &Running, rank: u32, ns: &std::ops::Range<u64>) -> Vec<Vec<String>> {
    let samples = kept(job, rank, "60s").samples.into_iter();
    let of_time = samples.filter(|(at, ..)| ns.contains(at));
    of_time.map(|(_, _, path)| path).collect()
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a name of letters")
}

/// What is saved of the samples, and exported in each form, is what the buffers have.
#[test]
fn samples_are_saved_and_exported() {
    for family in Family::ALL {
        let (_, command) = shares(family).swap_remove(0);
        let mut job = Job::observed(family, RANKS, &command).start();
        job.wait_for_answers();
        job.client().json(&["sampling", HERTZ]);
        until_kept(&mut job, 2_000);
        job.client().json(&["sampling", "off"]);
        let dir = job.directory().join("saved");
        std::thread::sleep(Duration::from_secs(2));
        job.client().json(&["save", shown(&dir)]);
        let live: Vec<Kept> = (0..RANKS).map(|rank| kept(&job, rank, "60s")).collect();
        is_exported(&format!("{family:?}"), &job, &dir, &live);
        let line = ["profile", "--since", "60s", "--inside"];
        let (before, after) = (job.client().json(&line), {
            let line = [&["open", shown(&dir), "--"], &["profile", "--inside"][..]].concat();
            job.client().json(&line)
        });
        for field in ["samples", "cpu_ns", "frequency_max", "nodes", "functions"] {
            assert_eq!(before[field], after[field], "{family:?}: {field}");
        }
        // From disk the same question has the same answer.
        for (rank, live) in (0..).zip(&live) {
            let saved = kept_in(&job, &["open", shown(&dir), "--"], rank, "24h");
            assert_eq!(saved.samples.len(), live.samples.len(), "{family:?}");
            let paths = saved.samples.iter().zip(&live.samples);
            assert!(
                paths
                    .clone()
                    .all(|(saved, live)| saved.1 == live.1 && saved.2 == live.2)
            );
            let off = paths.map(|(saved, live)| saved.0.abs_diff(live.0)).max();
            assert!(off.is_some_and(|off| off < 1_000_000), "{off:?} ns apart");
        }

        job.tell("stop");
        assert_eq!(job.end().code(), 0);
    }
}

fn is_exported(what: &str, job: &Running, dir: &Path, live: &[Kept]) {
    let all: usize = live.iter().map(|kept| kept.samples.len()).sum();
    let export = |form: &str, name: &str| {
        let out = job.directory().join(name);
        let said = job
            .client()
            .json(&["export", shown(dir), "--to", form, shown(&out)]);
        assert_eq!(number(&said, "/samples"), all as u64, "{what}: {said}");
        out
    };
    export("csv", "calls.csv");
    let table =
        std::fs::read_to_string(job.directory().join("calls.samples.csv")).expect("a table");
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let column = |name| {
        head.iter()
            .position(|known| *known == name)
            .expect("a column")
    };
    let (rank, path) = (column("rank"), column("path"));
    let mut of_ranks = vec![Vec::new(); live.len()];
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let rank: usize = fields[rank].parse().expect("a rank");
        of_ranks[rank].push(fields[path].trim_matches('"').to_owned());
    }
    for (paths, kept) in of_ranks.iter().zip(live) {
        let innermost = |path: &str| plain_name(path.rsplit(';').next().unwrap_or("")).to_owned();
        let told: Vec<String> = paths.iter().map(|path| innermost(path)).collect();
        assert_eq!(told.len(), kept.samples.len(), "{what}");
        let same = told.iter().zip(&kept.samples);
        let same =
            same.filter(|(told, (_, _, path))| path.last().is_some_and(|last| last == *told));
        assert!(
            same.count() * 20 >= told.len() * 19,
            "{what}: {:?}",
            &told[..20]
        );
    }

    let archive = export("otf2", "otf2");
    let (mut samples, mut last) = (BTreeMap::new(), BTreeMap::new());
    for line in printed(&archive, "--timestamps=plain") {
        let mut words = line.split_whitespace();
        let (Some(event), Some(rank), Some(at)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let (Ok(rank), Ok(at)) = (rank.parse::<usize>(), at.parse::<u64>()) else {
            continue;
        };
        let before = last.insert(rank, at).unwrap_or(0);
        assert!(before <= at, "{what}: {line}");
        if event == "CALLING_CONTEXT_SAMPLE" {
            *samples.entry(rank).or_insert(0) += 1;
        }
    }
    for (rank, kept) in live.iter().enumerate() {
        assert_eq!(
            samples.get(&rank),
            Some(&kept.samples.len()),
            "{what}: {samples:?}"
        );
    }
    let definitions = printed(&archive, "--show-global-defs");
    let contexts = definitions
        .iter()
        .filter(|line| line.starts_with("CALLING_CONTEXT"));
    let heavy = contexts.clone().filter(|line| line.contains("\"heavy\""));
    assert!(
        heavy.count() >= 1,
        "{what}: {:?}",
        contexts.collect::<Vec<_>>()
    );
    export("perfetto", "trace.pftrace");
}

#[test]
fn samples_are_kept_among_calls_on_open_mpi() {
    samples_are_kept(Family::Ompi);
}

#[test]
fn samples_are_kept_among_calls_on_mpich() {
    samples_are_kept(Family::Mpich);
}

/// The longest that a buffer takes to be full twice.
const LIMIT: Duration = Duration::from_secs(300);
/// The levels of samples that a buffer of these sizes sorts into.
const LEVELS: f64 = 16.0;
const BIN_BYTES: f64 = 1024.0;

/// How many records of a kind a bin takes, by what all buffers hold: the last bin of each is half
/// full, as a rule.
fn in_a_bin(buffers: &Value, holds: &str) -> f64 {
    let levels = buffers["levels"].as_array().expect("levels").iter();
    let mut of_kind = levels.filter(|level| level["holds"] == holds);
    let level = of_kind
        .next()
        .unwrap_or_else(|| panic!("no {holds}: {buffers}"));
    let halves = f64::from(RANKS) / 2.0;
    number(level, "/kept") as f64 / (number(level, "/bins") as f64 - halves)
}

/// Where the buffer is full, every second sample goes and the rank is sampled half as often: what
/// is left is evenly spaced, from the first one on; and it is full when bins say so. (OTFX: level k
/// holds each 2^(k+1)th sample, so that it goes with half of all.) The buffer has so many bins,
/// and the model holds within this share.
fn samples_are_thinned_evenly(buffer: &str, bins: f64, within: f64) {
    let (_, command) = shares(Family::Ompi).swap_remove(0);
    let job = Job::run_by_invivo(Family::Ompi, RANKS, &command);
    let options = [
        "--sampling=10kHz",
        "--strategy",
        "samples",
        "--buffer",
        buffer,
    ];
    let mut job = job.options(options).limit(LIMIT).start();
    job.wait_for_answers();
    let halved = |job: &mut Running, least: u64| {
        job.until("halvings", |job| {
            let buffers = job.client().try_json(&["buffers"])?;
            let of = &buffers["thinned"];
            (of["least"].as_u64()? >= least && of["untold"] == 0).then_some(buffers)
        })
    };
    halved(&mut job, 2);
    // With all that is told of it while it goes on.
    std::thread::sleep(Duration::from_secs(1));
    let profile = job.client().json(&["profile"]);
    let slowest = number(&profile, "/frequency_min");
    assert!([2_500, 1_250].contains(&slowest), "{profile}");
    let buffers = job.client().json(&["buffers"]);
    let words = ["records", "0", "--last", "300s", "--json"];
    let page = job.client().run(&words);
    let kept = kept(&job, 0, "300s");
    job.tell("stop");
    assert_eq!(job.end().code(), 0);

    let first = String::from_utf8(page.stdout).expect("text");
    let first: Value = first
        .lines()
        .next()
        .map(serde_json::from_str)
        .expect("a page")
        .expect("JSON");
    let losses = first["losses"].as_array().expect("losses").iter();
    let room = losses.filter(|loss| loss["reason"] == "made room");
    let room: BTreeMap<u64, &Value> = room
        .map(|loss| {
            let level = loss["level"].as_str().expect("a level");
            let each = level.strip_prefix("one sample in ").expect("of samples");
            (each.parse().expect("a number"), loss)
        })
        .collect();
    assert!(room.len() >= 2, "{first}");

    let step = 1 << room.len();
    let ordinals: Vec<u64> = kept
        .samples
        .iter()
        .map(|(_, ordinal, _)| *ordinal)
        .collect();
    assert!(ordinals.iter().all(|ordinal| ordinal % step == 0), "{step}");
    assert!(ordinals[0] <= 4 * step, "{ordinals:?}");
    let uneven = ordinals.windows(2).filter(|two| two[1] - two[0] != step);
    let uneven = uneven.count();
    println!(
        "{} samples at each {step}th interval, {uneven} gaps",
        ordinals.len()
    );
    assert!(
        uneven * 100 <= ordinals.len(),
        "{uneven} of {}",
        ordinals.len()
    );

    let calls_in_one = in_a_bin(&buffers, "all else");
    // By the bytes that both kinds take together.
    let of_calls = number(&buffers, "/kept") as f64 / calls_in_one * BIN_BYTES;
    let of_samples = number(&buffers, "/bytes_used") as f64 - of_calls;
    let samples_in_one = BIN_BYTES * number(&buffers, "/samples/kept") as f64 / of_samples;
    for (halvings, (each, loss)) in (0u32..).zip(room) {
        assert_eq!(each, 2 << halvings);
        let full_ns = number(loss, "/last_ns");
        let calls = kept.calls.partition_point(|(_, end, _)| *end < full_ns) as f64;
        let open = (LEVELS - f64::from(halvings)) / 2.0;
        let expected = samples_in_one * (bins - open - calls / calls_in_one);
        let held = 2.0 * number(loss, "/records") as f64;
        println!(
            "halving {}: at {held} samples, by the model {expected:.0}",
            halvings + 1
        );
        assert!(
            (held / expected - 1.0).abs() < within,
            "{held} {expected}: {buffers}"
        );
    }
}

#[test]
#[ignore = "long"]
fn samples_are_thinned_evenly_where_a_buffer_is_full() {
    samples_are_thinned_evenly("256KiB", 256.0, 0.03);
}

#[test]
#[ignore = "long"]
fn samples_of_a_mebibyte_are_thinned_evenly() {
    samples_are_thinned_evenly("1MiB", 1024.0, 0.02);
}
