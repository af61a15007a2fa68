//! `invivo export --to otf2 --matched`: of a part of a run, in which messages and collectives are
//! cut by both edges, only what is whole is in the archive, and nothing else is missing.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use invivo_e2e::results::otf2_print::{behind, leading, printed, reference};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const RANKS: u32 = 4;

/// A sender, a receiver, a communicator and a tag.
type Channel = (u32, u32, u32, String);

/// What an archive has of communication.
#[derive(Default)]
struct Found {
    /// Sends and receives.
    messages: BTreeMap<Channel, [u64; 2]>,
    /// Requests of a location by their numbers: those that were posted, and those that completed.
    requests: [BTreeSet<(u32, String)>; 2],
    /// Collectives of each communicator, by location.
    collectives: BTreeMap<u32, BTreeMap<u32, u64>>,
    calls: u64,
    leaves: u64,
}

fn found(archive: &Path) -> Found {
    let mut found = Found::default();
    for line in printed(archive, "--timestamps=plain").iter() {
        let mut words = line.split_whitespace();
        let (Some(event), Some(rank)) = (words.next(), words.next()) else {
            continue;
        };
        let Ok(rank) = rank.parse::<u32>() else {
            continue;
        };
        let communicator = || reference(behind(line, "Communicator"));
        // `1 ("Master thread" <1>)`.
        let peer = |word: &str| reference(behind(line, word).trim_end_matches(')'));
        let tag = || behind(line, "Tag").to_owned();
        match event {
            "ENTER" => found.calls += 1,
            "LEAVE" => found.leaves += 1,
            "MPI_SEND" | "MPI_ISEND" => {
                let channel = (rank, peer("Receiver"), communicator(), tag());
                found.messages.entry(channel).or_default()[0] += 1;
            }
            "MPI_RECV" | "MPI_IRECV" => {
                let channel = (peer("Sender"), rank, communicator(), tag());
                found.messages.entry(channel).or_default()[1] += 1;
            }
            "MPI_COLLECTIVE_END" => {
                let of = found.collectives.entry(communicator()).or_default();
                *of.entry(rank).or_default() += 1;
            }
            _ => {}
        }
        let side = match event {
            "MPI_ISEND" | "MPI_IRECV_REQUEST" => 0,
            "MPI_ISEND_COMPLETE" | "MPI_IRECV" => 1,
            _ => continue,
        };
        let request = leading(behind(line, "Request")).to_owned();
        assert!(
            found.requests[side].insert((rank, request)),
            "twice: {line}"
        );
    }
    found
}

impl Found {
    /// Channels of which one side has more, requests of which one end is not there, and
    /// communicators of which a member has more collectives.
    fn cut(&self) -> (u64, u64, u64) {
        let messages = self.messages.values();
        let messages = messages
            .map(|[sent, received]| sent.abs_diff(*received))
            .sum();
        let [posted, completed] = &self.requests;
        let requests = posted.symmetric_difference(completed).count() as u64;
        let uneven = |of: &&BTreeMap<u32, u64>| {
            let (most, least) = (of.values().max(), of.values().min());
            most != least
        };
        let collectives = self.collectives.values().filter(uneven).count() as u64;
        (messages, requests, collectives)
    }

    fn sides(&self) -> u64 {
        self.messages.values().flatten().sum()
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a name of letters")
}

fn export(job: &Running, dir: &Path, options: &[&str]) -> (Value, PathBuf) {
    let archive = dir.with_extension(format!("otf2{}", options.len()));
    let words = ["export", shown(dir), "--to", "otf2", shown(&archive)];
    (job.client().json(&[&words, options].concat()), archive)
}

fn only_whole_ones_are_there(family: Family) {
    let job = Job::observed(family, RANKS, &program(family, "told_rounds", []));
    let mut running = job.start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    std::thread::sleep(std::time::Duration::from_secs(1));
    let mut left_out = 0;
    for nth in 0..4 {
        let dir = running.directory().join(format!("part{nth}.obs"));
        running
            .client()
            .json(&["save", shown(&dir), "--since", "300ms"]);
        let (whole, all) = export(&running, &dir, &[]);
        let (said, matched) = export(&running, &dir, &["--matched"]);
        let (all, matched) = (found(&all), found(&matched));
        assert_eq!(matched.cut(), (0, 0, 0), "{family:?}: {said}");
        assert_eq!((all.calls, all.leaves), (all.leaves, matched.calls));
        assert_eq!(matched.calls, matched.leaves);
        assert_eq!(number(&whole, "/unmatched"), 0, "{whole}");
        assert!(matched.sides() > 100, "{said}");
        // What is left out was cut: some rounds at either edge, of hundreds.
        let missing = all.sides() - matched.sides();
        assert!(missing <= all.sides() / 10, "{missing} of {}", all.sides());
        left_out += number(&said, "/unmatched");
    }
    assert!(left_out > 0, "no edge has cut anything");
    running.tell("enough");
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

#[test]
fn a_part_of_a_run_on_open_mpi() {
    only_whole_ones_are_there(Family::Ompi);
}

#[test]
fn a_part_of_a_run_on_mpich() {
    only_whole_ones_are_there(Family::Mpich);
}
