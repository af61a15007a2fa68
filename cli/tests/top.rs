//! `invivo top` in a pseudo-terminal, with a scripted root behind the gateway.

mod support;
mod terminal;

use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Acks, Order};
use invivo_proto::ids::WorldRank;
use std::path::Path;
use support::scripted_root::{Reply, known};
use support::{Job, User};
use terminal::Terminal;

const SMALLEST: (u16, u16) = (80, 24);

/// `invivo top` of this user.
fn top(
    user: &User,
    arguments: &[&str],
    environment: &[(&str, &str)],
    size: (u16, u16),
) -> Terminal {
    let home = user.home.path().to_str().expect("text");
    let config = format!("{home}/config");
    let mut all = vec![
        ("XDG_STATE_HOME", home),
        ("XDG_CONFIG_HOME", config.as_str()),
        ("INVIVO_SITE_CONFIG", "/dev/null/none"),
    ];
    all.extend(environment);
    let arguments = [&["top", "--interval", "100ms"], arguments].concat();
    Terminal::start(
        Path::new(env!("CARGO_BIN_EXE_invivo-client")),
        &arguments,
        &all,
        size,
    )
}

/// The orders that the root was given.
fn orders(root: &support::scripted_root::ScriptedRoot) -> Vec<Order> {
    let orders = root.asked().into_iter().filter_map(|ask| match ask {
        Ask::Command { order, .. } => Some(order),
        _ => None,
    });
    orders.collect()
}

/// Every page is a key away and the bar is always there.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_a_key_and_keeps_the_bar() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let mut terminal = top(&user, &[], &[], SMALLEST);
    let overview = terminal.until_it_says("LIVE");
    for text in [
        "job known: ./app -v",
        "[1 Overview]",
        "ranks by state",
        "computing        3",
        "time in MPI",
    ] {
        assert!(overview.contains(text), "{text:?} in\n{overview}");
    }
    for (key, text) in [
        ("2", "1 of 4 ranks, the least time in MPI first"),
        ("3", "all ranks together"),
        (
            "4",
            "bytes sent from each rank (down) to each rank (across)",
        ),
        ("5", "where 60 recorded calls are"),
        ("?", "space      freeze the view"),
    ] {
        terminal.press(key);
        let page = terminal.until_it_says(text);
        let bar: Vec<&str> = page.lines().skip(1).take(2).collect();
        assert!(
            bar[0].starts_with(" LIVE │ 4 of 4 ranks │ recording"),
            "{page}"
        );
        assert!(
            bar[1].starts_with(" lag 5.00 ms │ dropped 6 (10.0 %) │ overhead")
                && bar[1].contains("scope control"),
            "{page}"
        );
    }
    terminal.press("1 ");
    terminal.until_it_says("FROZEN");
    terminal.press(" ");
    terminal.until("it goes on", |screen| !screen.contains("FROZEN"));
    terminal.press("q");
    let left = terminal.left();
    assert_eq!((left.code, left.signal), (0, None), "{}", left.screen);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_given_after_a_confirmation_and_answered() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(|ask| match ask {
        Ask::Command {
            order: Order::Reset,
            ..
        } => Reply::Answer(Answer::Command(Acks {
            targets: 4,
            done: 2,
            missing: vec![WorldRank(5)],
            ..Acks::default()
        })),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    let mut terminal = top(&user, &["--lease", "90s", "--window", "1s"], &[], SMALLEST);
    terminal.until_it_says("LIVE");
    terminal.press("P");
    terminal.until_it_says("Pause the application (4 ranks) for at most 1 min 30 s? y/n");
    terminal.press("n");
    terminal.until_it_says("space freeze");
    assert_eq!(orders(&root), [], "nothing without a yes");
    for (keys, answer) in [
        ("Py", "paused 4 of 4 ranks in "),
        ("Ry", "switched recording off for 4 of 4 ranks in "),
        ("Wy", "recorded a window on 4 of 4 ranks in "),
        (
            "Xy",
            "tool process 5 did not answer; reset 2 of 4 ranks in ",
        ),
    ] {
        terminal.press(keys);
        terminal.until_it_says(answer);
    }
    assert_eq!(
        orders(&root),
        [
            Order::Pause {
                lease_ns: 90_000_000_000
            },
            Order::Record { on: false },
            Order::Window {
                length_ns: 1_000_000_000
            },
            Order::Reset,
        ]
    );
    terminal.press("\x03");
    assert_eq!(terminal.left().code, 0, "Ctrl-C leaves");
}

/// A lost gateway is told and found again and the end of the job is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_gateway_is_found_until_the_job_ends() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let gateway = job.gateway().await;
    let mut terminal = top(&user, &[], &[], SMALLEST);
    terminal.until_it_says("LIVE");
    gateway.end().await;
    let lost = terminal.until_it_says("GATEWAY LOST");
    assert!(lost.contains("60 calls"), "the last numbers stay:\n{lost}");
    terminal.press("P");
    terminal.until_it_says("the gateway is away");
    let again = job.gateway().await;
    terminal.until_it_says("LIVE");
    end(&job, again).await;
    terminal.until_it_says("ENDED");
    terminal.press("q");
    let left = terminal.left();
    assert_eq!(left.code, 0, "{}", left.screen);
    assert!(
        left.screen
            .contains("invivo: the measurement of job known has ended"),
        "{}",
        left.screen
    );
}

/// The end of a job: first the gateway is told to end, then the file goes.
async fn end(job: &Job, gateway: support::Gateway) {
    gateway.end().await;
    std::fs::remove_file(job.connect_path()).expect("removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_end_it_and_the_terminal_is_as_before() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    for (signal, name) in [
        (nix::sys::signal::SIGTERM, "Terminated"),
        (nix::sys::signal::SIGINT, "Interrupt"),
        (nix::sys::signal::SIGHUP, "Hangup"),
    ] {
        let terminal = top(&user, &[], &[], SMALLEST);
        terminal.until_it_says("LIVE");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(terminal.pid()), signal).expect("sent");
        let left = terminal.left();
        assert_eq!(left.signal.as_deref(), Some(name), "{left:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_may_be_small_and_grow() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let mut terminal = top(&user, &[], &[], (60, 10));
    terminal.until_it_says("60 and 10. q quits.");
    terminal.resize(120, 40);
    let wide = terminal.until_it_says("MPI time since the start");
    assert!(
        wide.lines().any(|line| line.chars().count() > 100),
        "{wide}"
    );
    terminal.press("q");
    assert_eq!(terminal.left().code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_terminal_cannot_show_is_not_sent() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let raw = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut terminal = top(&user, arguments, environment, SMALLEST);
        terminal.until_it_says("MPI time since the start");
        terminal.press("45?q");
        terminal.left().raw
    };
    // A colour is set by a parameter of 30 to 38 in an escape sequence that ends in m.
    let colored = |raw: &str| {
        raw.split("\x1b[")
            .filter_map(|rest| rest.split_once('m'))
            .flat_map(|(parameters, _)| parameters.split(';'))
            .any(|parameter| {
                matches!(
                    parameter,
                    "30" | "31" | "32" | "33" | "34" | "35" | "36" | "37" | "38"
                )
            })
    };
    let usual = raw(&[], &[]);
    assert!(!usual.is_ascii() && colored(&usual));
    assert!(raw(&["--ascii"], &[]).is_ascii());
    assert!(raw(&[], &[("LC_ALL", "C")]).is_ascii());
    assert!(!colored(&raw(&[], &[("NO_COLOR", "1")])));
}

#[tokio::test]
async fn without_a_terminal_it_says_what_to_do_instead() {
    let user = User::new();
    let (status, out, err) = user.said(&["top"]).await;
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "invivo: invivo top needs a terminal; without one there is: invivo watch\n"
    );
    let (status, _, err) = user.said(&["top", "--json"]).await;
    assert_eq!(status, 1);
    assert!(err.contains("invivo watch --json"), "{err}");
}

/// A job that does not answer is told on the terminal as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_job_leaves_the_terminal_as_it_was() {
    let user = User::new();
    let _job = user.job("known");
    let terminal = top(&user, &[], &[], SMALLEST);
    let left = terminal.left();
    assert_eq!(left.code, 1);
    assert!(
        left.screen
            .contains("invivo: the gateway of job known does not answer"),
        "{}",
        left.screen
    );
    assert!(!left.raw.contains("\x1b[?1049h"), "no screen was opened");
}
