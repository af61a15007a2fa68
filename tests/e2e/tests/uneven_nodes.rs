//! One extra process per node, by hand, whatever the launcher put where: nodes of different sizes,
//! in blocks and dealt out.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::cluster::hosts;
use invivo_e2e::job::{Ended, Job, Running};
use invivo_e2e::logs::clock_log::{ticks, wait_for_ticks};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use std::ffi::OsString;
use std::time::Duration;

/// Processes of the hosts, their tool processes among them.
const PROCESSES: [u32; 2] = [3, 2];
/// Ranks: two and one.
const RANKS: u32 = 3;
/// The host of each rank, where processes are put there one host after the other, and in turns.
const ORDERS: [(bool, [u32; RANKS as usize]); 2] = [(false, [1, 1, 2]), (true, [1, 2, 1])];

fn job(family: Family, is_dealt: bool, command: &[OsString]) -> Job {
    let job = Job::observed(family, RANKS, command).on_uneven_hosts(PROCESSES);
    // Open MPI takes no variable along by itself, and clients look for this job.
    let job = match family.is_open_mpi() {
        true => job.launcher_options(["-x", "INVIVO_JOB"]),
        false => job,
    };
    match is_dealt {
        true => job.dealt(),
        false => job,
    }
}

fn nothing_left(family: Family, ended: &Ended) {
    ended.assert_nothing_left();
    for host in 0..hosts::HOSTS {
        let left = ended.hosts().expect("hosts").runtime_files(host);
        assert!(
            left.is_empty(),
            "{family:?}: left on {}: {left:?}",
            hosts::name(host)
        );
    }
}

/// Ranks are what is left besides one process of each node, in the launcher's order.
#[test]
fn ranks_are_what_is_left_in_the_launchers_order() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        for (is_dealt, host_of) in ORDERS {
            let observed = job(family, is_dealt, &program(family, "host_names", [])).run();
            assert_eq!(observed.code(), 0, "{family:?}, dealt: {is_dealt}");
            let on = host_of.iter().enumerate().map(|(rank, host)| {
                let here = host_of.iter().filter(|other| *other == host).count();
                format!(
                    "rank {rank} of {RANKS} is one of {here} on node{host}, and is told {here}\n"
                )
            });
            let on: Vec<String> = on.collect();
            assert_eq!(observed.stdout(), on, "{family:?}, dealt: {is_dealt}");
            let (report, own) = (observed.report(), observed.own_counts());
            assert_eq!((report.job.places, report.job.nodes), (2, 0), "{family:?}");
            checks::complete(&report, RANKS);
            checks::same_calls(&report, &own.calls);
            nothing_left(family, &observed);
        }
    }
}

/// Every message between ranks of the two hosts finds its other end, wherever they are.
#[test]
fn messages_are_matched_across_dealt_out_nodes() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        for (is_dealt, _) in ORDERS {
            let command = program(family, "message_loop", []);
            // A call that is dropped, where cores are few, has no other end.
            let job = job(family, is_dealt, &command).options([
                "--analyses",
                "all",
                "--back-pressure",
                "block",
            ]);
            let mut running = job.start();
            running.wait_for_answers();
            // Sends that begin before the time of the job is known wait, and later ones go at once.
            running.until("messages to be matched", |running: &Running| {
                let answer = running.client().try_json(&["messages"])?;
                (number(&answer, "/matched/messages") > 1000).then_some(())
            });
            running.tell("stop");
            let ended = running.end();
            assert_eq!(ended.code(), 0, "{family:?}: every value is right");
            let (report, own) = (ended.report(), ended.own_counts());
            checks::complete(&report, RANKS);
            checks::same_calls(&report, &own.calls);
            nothing_left(family, &ended);
        }
    }
}

/// A pause holds on all hosts.
#[test]
fn a_pause_holds_on_all_hosts() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        for (is_dealt, _) in ORDERS {
            let mut running = job(family, is_dealt, &program(family, "compute", [])).start();
            assert_eq!(running.processes(), RANKS + 2);
            running.wait_for_answers();
            wait_for_ticks(&mut running, 0..RANKS, 5);
            let client = running.client();
            client.pause(RANKS, "1m");
            std::thread::sleep(Duration::from_millis(300));
            let standing = ticks(&running);
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!(standing, ticks(&running), "{family:?}: they stand");
            client.resume(RANKS);
            running.tell("stop");
            let ended = running.end();
            checks::conserved(&ended.report(), RANKS);
            nothing_left(family, &ended);
        }
    }
}

/// A rank of the host without the root that dies is named, by its number in the application.
#[test]
#[ignore = "long"]
fn a_killed_rank_is_named() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        for (is_dealt, _) in ORDERS {
            let command = program(family, "killed_rank", ["50", "11"]);
            let ended = job(family, is_dealt, &command).run();
            assert_ne!(ended.code(), 0);
            let report = ended.report();
            let dead = report.ended.iter().find(|ended| ended.rank == 1);
            let dead = dead.unwrap_or_else(|| panic!("{family:?}: {:?}", report.ended));
            assert_eq!(dead.signal, Some(11), "{family:?}, dealt: {is_dealt}");
        }
    }
}

/// A node with one process has no room for a rank and the tool process.
#[test]
fn a_node_of_one_process_is_refused() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let command = program(family, "host_names", []);
        let refused = Job::observed(family, 2, &command)
            .on_uneven_hosts([3, 1])
            .run();
        assert_ne!(refused.code(), 0);
        let said = refused.our_lines();
        let names = |line: &String| line.contains("a node was given one process of the job's 4");
        assert!(said.iter().any(names), "{family:?}: {said:?}");
    }
}
