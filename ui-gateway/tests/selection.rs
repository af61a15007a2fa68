//! What is recorded: the rules on their way to the root, and how they stand.

use crate::scripted_root::{ScriptedRoot, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::Ask;
use invivo_proto::control::order::Order;
use invivo_proto::control::selection::{Fits, PATTERN_BYTES_MAX, RULES_MAX, Rule, Selection};
use invivo_proto::ids::CommandId;
use invivo_proto::mpi::Group;
use tonic::Code;

async fn known_job() -> (JobDir, ScriptedRoot, crate::support::Gateway) {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    (job, root, gateway)
}

fn request(rules: &[(bool, &str)]) -> v1::SetSelectionRequest {
    let rules = rules.iter().map(|(include, fits)| v1::SelectionRule {
        include: *include,
        fits: (*fits).to_owned(),
    });
    v1::SetSelectionRequest {
        command_id: 7,
        replace: true,
        rules: rules.collect(),
    }
}

#[tokio::test]
async fn rules_reach_the_root_and_their_cut_comes_back() {
    let (job, root, _gateway) = known_job().await;
    let mut client = job.controller();
    let all = [
        (false, "tiny_*"),
        (true, "m::solve"),
        (false, "source:*.f90"),
        (false, "module:libm*"),
        (false, "group:coll"),
        (false, "shorter:1us@500"),
    ];
    let reply = client.set_selection(request(&all)).await;
    let reply = reply.expect("selected").into_inner();
    assert_eq!((reply.command_id, reply.done), (7, 4));
    assert_eq!(reply.from.map(|cut| cut.earliest_ns), Some(10_000));

    let fits = [
        Fits::Name("tiny_*".into()),
        Fits::Name("m::solve".into()),
        Fits::Source("*.f90".into()),
        Fits::Module("libm*".into()),
        Fits::Group(Group::Collective),
        Fits::Short {
            visits: 500,
            mean_ns: 1_000,
        },
    ];
    let rules = all.iter().zip(fits).map(|((include, _), fits)| Rule {
        include: *include,
        fits,
    });
    let ask = Ask::Command {
        id: CommandId(7),
        order: Order::Select(Selection {
            replaces: true,
            rules: rules.collect(),
        }),
    };
    assert_eq!(root.times(&ask), 1, "{:?}", root.asked());
}

#[tokio::test]
async fn bad_rules_are_refused_before_they_reach_the_root() {
    let (job, root, _gateway) = known_job().await;
    let mut client = job.controller();
    let long = "x".repeat(PATTERN_BYTES_MAX + 1);
    let many = vec![(false, "a"); RULES_MAX + 1];
    let one = |fits| vec![(false, fits)];
    for (rules, sentence) in [
        (one(""), "a pattern is empty"),
        (one("source:"), "a pattern is empty"),
        (one(&long), "a pattern of 257 bytes: at most 256"),
        (one("group:all"), "\"all\" is no group of MPI functions"),
        (one("shorter:2s"), "a time of at most a second"),
        (one("shorter:1us@often"), "shorter:1us@often: give a time"),
        (many, "65 rules: at most 64 are in force"),
    ] {
        let refused = client.set_selection(request(&rules)).await;
        let refused = refused.expect_err(sentence);
        assert_eq!(refused.code(), Code::InvalidArgument, "{sentence}");
        assert!(refused.message().contains(sentence), "{refused}");
    }
    let commands = |ask: &Ask| matches!(ask, Ask::Command { .. });
    assert!(!root.asked().iter().any(commands));
}

#[tokio::test]
async fn viewers_see_rules_and_functions_and_change_nothing() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let reply = client.selection(v1::SelectionRequest {}).await;
    let reply = reply.expect("a selection").into_inner();
    let rules: Vec<_> = (reply.rules.iter())
        .map(|status| {
            let rule = status.rule.as_ref().expect("a rule");
            (rule.include, rule.fits.as_str(), status.regions)
        })
        .collect();
    assert_eq!(
        rules,
        [
            (false, "MPI_*", 0),
            (true, "group:coll", 0),
            (false, "tiny_*", 8)
        ]
    );
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    for (name, off, kept) in [
        ("MPI_Test", true, false),
        ("MPI_Put", true, false),
        ("MPI_Send", false, true),
        ("MPI_Init", false, true),
        ("MPI_Allreduce", false, false),
        // It is never recorded.
        ("MPI_Comm_rank", false, false),
    ] {
        assert_eq!(has(&reply.functions_off, name), off, "{name}");
        assert_eq!(has(&reply.functions_kept, name), kept, "{name}");
    }
    assert_eq!(
        (reply.regions_on, reply.regions_off, reply.regions_undecided),
        (12, 8, 4)
    );
    assert_eq!(
        (reply.calls_off, reply.since_ns, reply.ranks_differing),
        (40, 5_000_000_000, 1)
    );
    assert_eq!(reply.coverage.expect("coverage").ranks, 4);

    let refused = client.set_selection(request(&[(false, "a")])).await;
    let refused = refused.expect_err("it may only look");
    assert_eq!(refused.code(), Code::PermissionDenied);
}
