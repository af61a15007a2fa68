//! `invivo selection`: what is shown, what the root is asked for, and what is refused.

mod support;

use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::local::Named;
use invivo_proto::control::regions::{Region, RegionStats, RegionTable};
use invivo_proto::control::selection::Selection;
use invivo_proto::control::sites::Place;
use invivo_proto::control::tree::{Order, Query};
use std::process::Stdio;
use support::User;
use support::scripted_root::{Reply, known};
use tokio::io::AsyncWriteExt;

fn changes(asked: &[Ask]) -> Vec<Selection> {
    let change = |ask: &Ask| match ask {
        Ask::Command {
            order: Order::Select(selection),
            ..
        } => Some(selection.clone()),
        _ => None,
    };
    asked.iter().filter_map(change).collect()
}

#[tokio::test]
async fn rules_are_shown_with_what_they_do() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let text = user.text(&["selection"]).await;
    for line in [
        "exclude tiny_*          8 regions\n",
        "include group:coll  151 functions\n",
        "in force since 5.00 s after the start\n",
        "regions, summed over the ranks: 12 recorded, 8 not recorded, 4 still looked up\n",
        "\nMPI functions not recorded: ",
        "\nrecorded all the same, as messages could not be followed without them: MPI_Send, ",
        "40 MPI calls not recorded since the start of the job\n",
        "other rules are in force on 1 rank; ",
        "\n\ncoverage: 4 of 4 ranks",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    let json = user.json(&["selection", "--json"]).await;
    assert_eq!(json["rules"][2]["rule"]["fits"], "tiny_*");
    assert_eq!(json["regions_undecided"], 4);
}

#[tokio::test]
async fn each_word_is_the_change_that_it_says() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    let file = user.home.path().join("some.filt");
    std::fs::write(
        &file,
        "SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE a b\n  INCLUDE ab\nSCOREP_REGION_NAMES_END\n",
    )
    .expect("written");
    let file = file.to_str().expect("text");
    let see = "; to see what it does: invivo selection\n";
    for (words, said, end) in [
        (
            &["exclude", "tiny_*", "m::f(int, int)"][..],
            "; more rules: exclude tiny_*, exclude m::f(int, int)",
            see,
        ),
        (
            &["include", "group:coll"],
            "; more rules: include group:coll",
            see,
        ),
        (
            &["load", file],
            "; rules: exclude a, exclude b, include ab",
            see,
        ),
        (
            &["clear"],
            "recording all regions and functions again on 4 of 4 ranks in ",
            "\n",
        ),
    ] {
        let text = user.text(&[&["selection"], words].concat()).await;
        assert!(text.contains(said) && text.ends_with(end), "{text}");
    }
    let asked = changes(&root.asked());
    let asked: Vec<_> = asked.iter().map(|one| (one.replaces, one.text())).collect();
    let change = |replaces, text: &str| (replaces, text.to_owned());
    assert_eq!(
        asked,
        [
            change(false, "exclude tiny_*; exclude m::f(int, int)"),
            change(false, "include group:coll"),
            change(true, "exclude a; exclude b; include ab"),
            change(true, ""),
        ]
    );
}

#[tokio::test]
async fn rules_come_from_standard_input_too() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    let load = async |text: &str| {
        let mut command = user.invivo(&["selection", "load", "-"]);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut load = command.stdout(Stdio::null()).spawn().expect("started");
        let mut stdin = load.stdin.take().expect("piped");
        stdin.write_all(text.as_bytes()).await.expect("written");
        drop(stdin);
        let output = load.wait_with_output().await.expect("ended");
        String::from_utf8(output.stderr).expect("text")
    };
    assert_eq!(load("exclude *\ninclude solve*\n").await, "");
    let told = load("exclude *\nskip solve*\n").await;
    assert!(
        told.starts_with("invivo: standard input, line 2: \"skip solve*\" is no rule"),
        "{told}"
    );
    assert_eq!(changes(&root.asked()).len(), 1);
}

#[tokio::test]
async fn what_is_no_rule_changes_nothing() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    let file = user.home.path().join("wrong.filt");
    std::fs::write(&file, "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE MANGLED _Z*\n").expect("written");
    let file = file.to_str().expect("text");
    for (words, expected, said) in [
        (
            ["exclude", "group:all"],
            2,
            "\"all\" is no group of MPI functions; there are p2p",
        ),
        (["include", ""], 2, "a pattern is empty"),
        (
            ["load", file],
            1,
            "wrong.filt, line 2: names are compared as they are shown",
        ),
        (
            ["load", "/nowhere/x"],
            1,
            "cannot read the rules in /nowhere/x: No such file",
        ),
    ] {
        let (status, out, err) = user.said(&[&["selection"], &words[..]].concat()).await;
        assert_eq!((status, out.as_str()), (expected, ""), "{words:?}");
        assert!(err.contains(said), "{err}");
    }
    assert_eq!(changes(&root.asked()), []);
}

/// Two functions that cost more than they tell, and one that does not.
fn tiny() -> RegionTable {
    let row = |function: &str, offset, visits, own_ns| {
        let code = Place::Code {
            file: "app".into(),
            build_id: vec![1],
            offset,
        };
        let named = vec![Named {
            function: function.into(),
            line: "app.cpp:3".into(),
        }];
        let stats = RegionStats {
            visits,
            own_ns,
            time_ns: own_ns,
            ranks: 4,
            named,
            ..RegionStats::default()
        };
        (Region::Function(code), stats)
    };
    RegionTable {
        rows: [
            row("v::at(int, int)", 1, 600_000, 60_000_000),
            row("tiny", 2, 300_000, 30_000_000),
            row("solve", 3, 100_000, 900_000_000),
            // So that the parameters matter.
            row("v::at()", 4, 100_000, 900_000_000),
        ]
        .into(),
        rows_max: 10,
        ..RegionTable::default()
    }
}

#[tokio::test]
async fn a_suggestion_can_be_applied_as_printed() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(|ask| match (ask, known(ask)) {
        (Ask::Query(Query::Regions { .. }), Reply::Answer(Answer::Regions(_, coverage))) => {
            Reply::Answer(Answer::Regions(Box::new(tiny()), coverage))
        }
        (_, reply) => reply,
    });
    let _gateway = job.gateway().await;
    let text = user.text(&["selection", "suggest"]).await;
    assert!(
        text.contains("without these 81.8 % of all begins and ends go away\n"),
        "{text}"
    );
    assert!(
        text.contains("to leave them out: invivo selection exclude 'v::at(int, int)' tiny\n"),
        "{text}"
    );
    let text = user
        .text(&["selection", "suggest", "-o", "tiny.filt"])
        .await;
    assert!(text.contains("invivo selection load tiny.filt\n"), "{text}");
    user.text(&["selection", "load", "tiny.filt"]).await;
    let asked = changes(&root.asked());
    assert_eq!(asked[0].text(), "exclude v::at(int,?int); exclude tiny");
    let json = user
        .json(&["selection", "suggest", "--json", "--share", "50%"])
        .await;
    assert_eq!(json["regions"][0]["fits"], "v::at(int, int)");
    assert_eq!(json["regions"].as_array().map(Vec::len), Some(1));
    let none = [
        "selection",
        "suggest",
        "--shorter-than",
        "50ns",
        "-o",
        "none.filt",
    ];
    let text = user.text(&none).await;
    assert!(text.starts_with("no region is that short"), "{text}");
    assert!(!user.home.path().join("none.filt").exists());
}
