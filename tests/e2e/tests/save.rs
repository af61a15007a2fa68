//! What the buffers hold is saved while the job runs, and exported; real otf2-print finds in it
//! what the program says of itself.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::cluster::hosts;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use invivo_e2e::remarks::not_tested;
use invivo_e2e::results::otf2_print::{behind, leading, printed, reference};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const RANKS: u32 = 4;

/// A job of rounds of communication that has begun.
fn rounds(family: Family) -> Running {
    begun(Job::observed(
        family,
        RANKS,
        &program(family, "told_rounds", []),
    ))
}

fn begun(job: Job) -> Running {
    let mut running = job.start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    running
}

/// The program goes to its end.
fn end(running: Running) {
    running.tell("enough");
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

fn text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", text(output));
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a name of letters")
}

/// What a rank says of itself, line by line.
fn told(running: &Running, rank: u32) -> Vec<String> {
    let path = running.logs().join(format!("{rank}.told"));
    let text = std::fs::read_to_string(path).expect("the program's own log");
    text.lines().map(str::to_owned).collect()
}

/// Members of each communicator, as "0,1,2,3", by its number in the archive.
fn communicators(definitions: &[String]) -> HashMap<u32, String> {
    let (mut groups, mut comms) = (HashMap::new(), HashMap::new());
    for line in definitions {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("GROUP") if line.contains("COMM_GROUP") => {
                let number: u32 = words.next().expect("its number").parse().expect("a number");
                let (_, members) = line.split_once(" Members: ").expect("members");
                // `2 ("Master thread" <2>), 0 ("Master thread" <0>)`
                let members: Vec<&str> = members.split(", ").map(leading).collect();
                groups.insert(number, members.join(","));
            }
            Some("COMM") => {
                let number: u32 = words.next().expect("its number").parse().expect("a number");
                let group = reference(behind(line, "Group"));
                if let Some(members) = groups.get(&group) {
                    comms.insert(number, members.clone());
                }
            }
            _ => {}
        }
    }
    comms
}

/// Communication of each rank in the words of the program's own log. Enters and leaves must nest,
/// and times must rise.
fn found(archive: &Path) -> Vec<Vec<String>> {
    let comms = communicators(&printed(archive, "-G"));
    let members = |line: &str| {
        let number = reference(behind(line, "Communicator"));
        comms
            .get(&number)
            .unwrap_or_else(|| panic!("no members: {line}"))
            .clone()
    };
    let mut found = vec![Vec::new(); RANKS as usize];
    let mut inside: Vec<Vec<String>> = vec![Vec::new(); RANKS as usize];
    let mut last = vec![0u64; RANKS as usize];
    for line in printed(archive, "--timestamps=plain").iter() {
        let mut words = line.split_whitespace();
        let (Some(event), Some(rank), Some(time)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (Ok(rank), Ok(time)) = (rank.parse::<usize>(), time.parse::<u64>()) else {
            continue;
        };
        assert!(time >= last[rank], "time runs backwards: {line}");
        last[rank] = time;
        let one = &mut found[rank];
        let value = |word: &str| leading(behind(line, word)).to_owned();
        let message = |peer: &str| {
            format!(
                "{} {} {} {}",
                members(line),
                value(peer),
                value("Tag"),
                value("Length")
            )
        };
        let root = || match value("Root").as_str() {
            "UNDEFINED" | "NONE" => "-1".to_owned(),
            root => root.to_owned(),
        };
        match event {
            "ENTER" => inside[rank].push(behind(line, "Region").to_owned()),
            "LEAVE" => assert_eq!(
                inside[rank].pop().as_deref(),
                Some(behind(line, "Region")),
                "{line}"
            ),
            "MPI_SEND" | "MPI_ISEND" => one.push(format!("{event} {}", message("Receiver"))),
            "MPI_RECV" | "MPI_IRECV" => one.push(format!("{event} {}", message("Sender"))),
            "MPI_IRECV_REQUEST" | "MPI_ISEND_COMPLETE" | "NON_BLOCKING_COLLECTIVE_REQUEST" => {
                one.push(format!("{event} - 0 0 0"));
            }
            "MPI_COLLECTIVE_BEGIN" => {}
            "MPI_COLLECTIVE_END" | "NON_BLOCKING_COLLECTIVE_COMPLETE" => {
                let prefix = if event == "MPI_COLLECTIVE_END" {
                    ""
                } else {
                    "NON_BLOCKING "
                };
                let bytes: [u64; 2] =
                    ["Sent", "Received"].map(|word| value(word).parse().expect("bytes"));
                let bytes = bytes[0].max(bytes[1]);
                let operation = value("Operation");
                let line = format!("{prefix}{operation} {} {} 0 {bytes}", members(line), root());
                one.push(line);
            }
            other => panic!("an event that was not asked for: {other} in {line}"),
        }
        if event.starts_with("MPI_") || event.starts_with("NON_") {
            assert!(!inside[rank].is_empty(), "outside of any function: {line}");
        }
    }
    found
}

fn save_and_export(running: &Running, name: &str, options: &[&str]) -> (Value, PathBuf) {
    let dir = running.directory().join(name);
    let saved = running
        .client()
        .json(&[&["save", shown(&dir)], options].concat());
    let archive = running.directory().join(format!("{name}.otf2"));
    let words = ["export", shown(&dir), "--to", "otf2", shown(&archive)];
    succeeds(&running.client().run(&words));
    (saved, archive)
}

/// Saved in the middle: what each rank has done until then, from its first call on. Saved when all
/// has been done: all of it.
fn is_what_the_program_did(mut running: Running) {
    let (saved, archive) = save_and_export(&running, "middle", &[]);
    assert_eq!(
        (number(&saved, "/ranks"), number(&saved, "/reduced")),
        (4, 0)
    );
    let middle = found(&archive);
    running.tell("enough");
    running.wait_for_notes("done");
    let told: Vec<Vec<String>> = (0..RANKS).map(|rank| told(&running, rank)).collect();
    for (rank, (middle, told)) in middle.iter().zip(&told).enumerate() {
        assert!(middle.len() > 200, "rank {rank}: {} events", middle.len());
        let until_then = &told[..middle.len().min(told.len())];
        assert!(
            middle == until_then,
            "rank {rank}: {:?}",
            first_other(middle, until_then)
        );
    }

    let (saved, archive) = save_and_export(&running, "all", &[]);
    assert_eq!(number(&saved, "/in_flight"), 0, "{saved}");
    for (rank, (found, told)) in found(&archive).iter().zip(&told).enumerate() {
        assert!(found == told, "rank {rank}: {:?}", first_other(found, told));
    }
    // Properties say where it comes from, and what is missing: nothing.
    let anchor = printed(&archive, "-A").join("\n");
    assert!(
        anchor.contains("INVIVO::JOB") && anchor.contains("INVIVO::CALLS_REDUCED"),
        "{anchor}"
    );

    // Some ranks, and the last moment.
    let (saved, archive) = save_and_export(&running, "part", &["--rank", "1-2"]);
    assert_eq!(number(&saved, "/ranks"), 2);
    let part = found(&archive);
    assert_eq!(
        part.iter().map(Vec::is_empty).collect::<Vec<_>>(),
        [true, false, false, true]
    );
    assert!(part[1] == told[1] && part[2] == told[2]);
    let (_, archive) = save_and_export(&running, "last", &["--since", "1ms"]);
    assert!(
        found(&archive).iter().all(Vec::is_empty),
        "nothing was done since"
    );

    // The other forms.
    let dir = running.directory().join("all");
    for form in ["csv", "perfetto"] {
        let out = running.directory().join(form);
        let words = ["export", shown(&dir), "--to", form, shown(&out)];
        succeeds(&running.client().run(&words));
        assert!(out.metadata().expect("made").len() > 1000);
        let again = running.client().run(&words);
        assert!(text(&again).contains("exists already"), "{}", text(&again));
    }
    let table = std::fs::read_to_string(running.directory().join("csv")).expect("text");
    let messages =
        |lines: &[String], event: &str| lines.iter().filter(|line| line.starts_with(event)).count();
    let sent = |line: &&str| {
        let fields: Vec<&str> = line.split(',').collect();
        fields[7] == "send" && fields[9] != "-3" || fields[7] == "post send"
    };
    let all: usize = told
        .iter()
        .map(|lines| messages(lines, "MPI_SEND ") + messages(lines, "MPI_ISEND "))
        .sum();
    assert_eq!(table.lines().filter(sent).count(), all);
    end(running);
}

/// The first line that is another, with its number.
fn first_other<'a>(found: &'a [String], told: &'a [String]) -> Option<(usize, &'a str, &'a str)> {
    let mut both = (0..found.len().max(told.len())).map(|at| {
        let line = |of: &'a [String]| of.get(at).map_or("", String::as_str);
        (at, line(found), line(told))
    });
    both.find(|(_, found, told)| found != told)
}

#[test]
fn open_mpi() {
    is_what_the_program_did(rounds(Family::Ompi));
}

#[test]
fn mpich() {
    is_what_the_program_did(rounds(Family::Mpich));
}

/// The same of two tool places on each of two hosts.
#[test]
fn two_hosts() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let job = Job::run_by_invivo(family, RANKS, &program(family, "told_rounds", []));
        is_what_the_program_did(begun(job.fan_in("1,2").on_hosts()));
    }
}

/// Names in a directory.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn refused(running: &Running, dir: &Path, why: &str) {
    let output = running.client().run(&["save", shown(dir)]);
    let said = text(&output);
    assert!(!output.status.success() && said.contains(why), "{said}");
    let lines = said.lines().count();
    assert_eq!(lines, 1, "one clear error: {said}");
}

#[test]
fn where_nothing_can_be_written_nothing_is_left() {
    let mut running = rounds(Family::Ompi);
    // More than 64 KiB of them.
    running.until("many calls", |job| {
        let status = job.client().try_json(&["status"])?;
        (number(&status, "/coverage/ledger/entered") > 40_000).then_some(())
    });
    let folder = tempfile::tempdir().expect("a folder");
    let there = folder.path().join("there");
    std::fs::create_dir(&there).expect("made");
    refused(&running, &there, "exists already");
    refused(&running, &folder.path().join("none/obs"), "No such file");
    assert_eq!(names(folder.path()), ["there"]);

    // A disk that is full: a file system of 64 KiB.
    let small = folder.path().join("small");
    std::fs::create_dir(&small).expect("made");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", shown(&small)])
        .status();
    if mounted.is_ok_and(|status| status.success()) {
        refused(&running, &small.join("obs"), "No space left");
        assert_eq!(names(&small), [""; 0]);
        let whole = folder.path().join("whole");
        succeeds(&running.client().run(&["save", shown(&whole)]));
        let archive = small.join("archive");
        let words = ["export", shown(&whole), "--to", "otf2", shown(&archive)];
        let output = running.client().run(&words);
        assert!(!output.status.success(), "{}", text(&output));
        assert_eq!(names(&small), [""; 0], "{}", text(&output));
        let unmounted = Command::new("umount").arg(&small).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    } else {
        not_tested("a full disk: no file system can be mounted here");
    }
    // No permission, also for root.
    refused(&running, Path::new("/proc/self/obs"), "cannot save to");
    end(running);
}

/// Killed at any moment: whole or absent; and the buffers are free for the next one at the latest
/// when the places have waited for long enough.
#[test]
fn a_client_that_is_killed_leaves_no_half() {
    let running = rounds(Family::Ompi);
    let folder = tempfile::tempdir().expect("a folder");
    let (mut whole, mut absent) = (0, 0);
    for attempt in 0..20 {
        let dir = folder.path().join(format!("obs{attempt}"));
        let mut client = running
            .client()
            .command(&["save", shown(&dir)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a client");
        std::thread::sleep(Duration::from_millis(2 * attempt));
        client.kill().expect("killed");
        client.wait().expect("ended");
        if dir.exists() {
            whole += 1;
            let out = folder.path().join(format!("csv{attempt}"));
            let words = ["export", shown(&dir), "--to", "csv", shown(&out)];
            succeeds(&running.client().run(&words));
        } else {
            absent += 1;
        }
    }
    assert!(absent > 0, "{whole} of 20 were whole");
    // The gateway notices that a client is gone, and lets go of what was held.
    let begun = Instant::now();
    let last = folder.path().join("last");
    while !running
        .client()
        .run(&["save", shown(&last)])
        .status
        .success()
    {
        assert!(
            begun.elapsed() < Duration::from_secs(40),
            "the next save is refused"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    end(running);
}

/// A session saves once in each round, under names of their own.
#[test]
fn a_session_saves_in_each_round() {
    let running = rounds(Family::Ompi);
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("rounds.toml");
    let name = folder.path().join("obs%n");
    let steps = format!(
        "[[step]]\nloop = 2\n[[step.step]]\nsave = {:?}\n",
        shown(&name)
    );
    std::fs::write(&script, &steps).expect("written");
    succeeds(&running.client().run(&["session", "run", shown(&script)]));
    assert_eq!(names(folder.path()), ["obs1", "obs2", "rounds.toml"]);
    let (table, second) = (folder.path().join("csv"), folder.path().join("obs2"));
    let words = ["export", shown(&second), "--to", "csv", shown(&table)];
    succeeds(&running.client().run(&words));
    // Without a number the second round would find the first one's directory.
    std::fs::write(&script, steps.replace("%n", "")).expect("written");
    let output = running.client().run(&["session", "run", shown(&script)]);
    let said = text(&output);
    assert!(!output.status.success() && said.contains("%n"), "{said}");
    end(running);
}

/// Buffers that are full all the time, saved again and again while they are written: each save is
/// an unbroken stretch of what the rank did, and at the end every call is accounted for.
#[test]
fn full_buffers_are_saved_again_and_again() {
    let command = program(Family::Ompi, "told_rounds", []);
    let mut running = Job::observed(Family::Ompi, RANKS, &command)
        .options(["--buffer", "64KiB"])
        .limit(Duration::from_secs(300))
        .start();
    running.wait_for_answers();
    running.until("buffers that have given something up", |job| {
        let buffers = job.client().try_json(&["buffers"])?;
        (number(&buffers, "/reductions") > 100).then_some(())
    });
    let mut archives = Vec::new();
    for attempt in 0..40 {
        let name = format!("full{attempt}");
        if attempt % 10 == 0 {
            let (saved, archive) = save_and_export(&running, &name, &[]);
            assert!(number(&saved, "/reduced") > 0, "{saved}");
            archives.push(archive);
        } else {
            let dir = running.directory().join(&name);
            running.client().json(&["save", shown(&dir)]);
        }
    }
    running.tell("enough");
    running.wait_for_notes("done");
    let told: Vec<Vec<String>> = (0..RANKS).map(|rank| told(&running, rank)).collect();
    for archive in &archives {
        for (rank, (found, told)) in found(archive).iter().zip(&told).enumerate() {
            assert!(
                found.len() > 500,
                "rank {rank}: {} events of a full buffer",
                found.len()
            );
            let is_stretch = told.windows(found.len()).any(|stretch| stretch == found);
            assert!(is_stretch, "rank {rank}: no stretch of what it did");
        }
    }
    end(running);
}
