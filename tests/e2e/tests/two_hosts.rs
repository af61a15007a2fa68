//! One job over two hosts, made of namespaces: the tree and commands span both.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::cluster::hosts;
use invivo_e2e::interval::{Edge, Interval, Straddling, table};
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::CallLog;
use invivo_e2e::logs::clock_log::now_ns;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use std::time::Duration;

/// Ranks of the jobs: two on each host.
const RANKS: u32 = 4;
/// The largest error that may be stated for hosts of one kernel, on a busy machine.
const CLOCK_ERROR_NS_MAX: u64 = 20_000_000;

/// A bare job spans the hosts, without which the other tests would mean nothing; and a program
/// finds the same hosts under Invivo.
#[test]
fn a_program_finds_its_hosts() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let command = program(family, "host_names", []);
        let bare = Job::bare(family, RANKS, &command).on_hosts().run();
        assert_eq!(bare.code(), 0);

        let on: Vec<String> = (0..RANKS)
            .map(|rank| {
                format!(
                    "rank {rank} of 4 is one of 2 on node{}, and is told 2\n",
                    rank / 2 + 1
                )
            })
            .collect();
        assert_eq!(bare.stdout(), on, "{family:?}");

        // The number of hosts is not given: it follows from the launcher's numbers.
        let observed = Job::observed(family, RANKS, &command).on_hosts().run();
        assert_eq!(observed.code(), 0);
        assert_eq!(observed.stdout(), on, "{family:?}");
        let (report, own) = (observed.report(), observed.own_counts());
        assert_eq!((report.job.places, report.job.nodes), (2, 1), "{family:?}");
        checks::complete(&report, RANKS);
        checks::same_calls(&report, &own.calls);
        observed.assert_nothing_left();
    }
}

/// Commands reach both hosts, and cuts lie at the same moment on both.
#[test]
fn commands_and_cuts_span_the_hosts() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let mut running = Job::run_by_invivo(family, RANKS, &program(family, "logged_rounds", []))
            .fan_in("1,2")
            .options(["--listen", "node2:0"])
            .on_hosts()
            .start();
        // Each host: two ranks, two places, a node; and the root on the last.
        assert_eq!(running.processes(), 2 * (2 + 2 + 1) + 1);
        running.wait_for_answers();
        running.wait_for_notes("begun");
        let client = running.client();

        // From the first host, which the root is not on, the gateway is reached with TLS.
        let paused = now_ns();
        running.client_on(0).pause(RANKS, "1m");
        let all_paused = now_ns();
        std::thread::sleep(Duration::from_millis(700));
        let resumed = now_ns();
        client.resume(RANKS);

        let entries = client.json_stream(&["audit"]);
        let peers: Vec<&str> = entries
            .iter()
            .filter_map(|entry| entry["peer"].as_str())
            .collect();
        assert!(
            peers.iter().any(|peer| peer.starts_with("10.203.77.1")) && peers.contains(&"unix"),
            "{family:?}: one command over TLS, one over the socket: {entries:?}"
        );

        let reply = client.all_do(RANKS, &["record", "--for", "1s"]);
        let error_ns = number(&reply, "/from/error_ns");
        // The hosts are of one kernel, whose clock they share: there nothing need be measured.
        assert!(error_ns < CLOCK_ERROR_NS_MAX, "{family:?}: {reply}");

        let status = client.json(&["status"]);
        let error_ns = number(&status, "/status/recording/clock_error_ns");
        assert!(error_ns < CLOCK_ERROR_NS_MAX, "{status}");

        let answer = running.until("the window to be taken", |job| {
            let answer = job.client().try_json(&["functions", "--per-rank"])?;
            let open = number(&answer, "/coverage/ledger/open")
                + number(&answer, "/coverage/ledger/in_flight");
            (open == 0).then_some(answer)
        });
        // Each host has sockets of its own, below its own `/tmp`.
        for host in 0..hosts::HOSTS {
            let files = running.hosts().expect("hosts").runtime_files(host);
            assert!(
                !files.is_empty(),
                "{family:?}: sockets on {}",
                hosts::name(host)
            );
        }

        running.tell("stop");
        let ended = running.end();
        assert_eq!(ended.code(), 0);

        let logs = CallLog::read_all(&ended.logs(), RANKS);
        let interval = Interval {
            from: Edge::of(&reply, "/from", Straddling::Clipped),
            to: Some(Edge::of(&reply, "/to", Straddling::Clipped)),
        };
        interval.assert_matches(&table(&answer), &logs);
        // The program's own clock: no call begins between the two moments.
        for (rank, log) in logs.iter().enumerate() {
            let began = log
                .calls
                .iter()
                .filter(|call| call.begin_ns > all_paused && call.begin_ns < resumed);
            assert_eq!(
                began.count(),
                0,
                "{family:?}: rank {rank} went on during the pause"
            );
            assert!(
                log.calls.iter().any(|call| call.begin_ns > paused),
                "{family:?}: and went on"
            );
        }

        checks::conserved(&ended.report(), RANKS);
        ended.assert_nothing_left();
        for host in 0..hosts::HOSTS {
            let left = ended.hosts().expect("hosts").runtime_files(host);
            assert!(
                left.is_empty(),
                "{family:?}: left behind on {}: {left:?}",
                hosts::name(host)
            );
        }
    }
}
