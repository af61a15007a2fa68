//! One job over two hosts, made of namespaces: every host has ranks, tool place and supervisors of its own, the tree spans
//! both, and so do commands.

use invivo_e2e::apps::program;
use invivo_e2e::checks;
use invivo_e2e::client::number;
use invivo_e2e::family::Family;
use invivo_e2e::hosts;
use invivo_e2e::job::Job;

/// Hosts made of namespaces run MPI by themselves: without this nothing below would mean anything.
#[test]
fn a_bare_job_spans_the_hosts() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let bare = Job::bare(family, 4, &program(family, "where", []))
            .on_hosts()
            .run();
        assert_eq!(bare.code(), 0);
        let on: Vec<String> = (0..4)
            .map(|rank| format!("rank {rank} of 4 is one of 2 on node{}\n", rank / 2 + 1))
            .collect();
        assert_eq!(bare.stdout(), on, "{family:?}");
    }
}
