//! The page of a running job: who gets in, and whether it shows what the commands print, in a real
//! browser.

use invivo_e2e::clients::browser::{self, has_browser};
use invivo_e2e::clients::{Pass, Web, number};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{endless_melt, program, regions, shares};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::cell::Cell;
use std::process::Command;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// All that the page asks for.
const ALL: &str = "functions,matrix,messages,heatmap,sites,waitstates,regions";
/// A browser takes its time where two cores have four ranks.
const LIMIT: Duration = Duration::from_secs(400);

/// A program of messages, collectives and communicators, which has done its rounds and waits.
fn job(family: Family) -> Running {
    let job = Job::observed(family, RANKS, &program(family, "told_rounds", []));
    let mut running = job.options(["--analyses", ALL]).limit(LIMIT).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    running.until("many calls", |job| {
        (job.client().entered() > 40_000).then_some(())
    });
    running
}

fn end(running: Running) {
    running.tell("enough");
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// A request that shows all that it must but for what is left out or another.
fn refused(web: &Web, pass: &Pass, head: &[&str]) -> u16 {
    let all = [vec![web.host()], pass.head()].concat();
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_lowercase();
    let mut lines: Vec<String> = all
        .into_iter()
        .filter(|line| head.iter().all(|other| name(other) != name(line)))
        .collect();
    lines.extend(
        head.iter()
            .filter(|line| !line.ends_with(": -"))
            .map(|line| (*line).to_owned()),
    );
    web.send("GET /ask/status", &lines, "").status
}

#[test]
fn a_link_opens_once_and_strangers_stay_out() {
    let running = job(Family::Ompi);
    let web = Web::start(&running.client(), &[]);

    let page = web.send("GET /", &[web.host()], "");
    assert_eq!(page.status, 200, "{page:?}");
    for line in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.head.contains(line), "{line}: {page:?}");
    }
    assert!(!page.head.contains("access-control"), "{page:?}");

    assert_eq!(web.enter("").status, 403);
    assert_eq!(web.enter(&"0".repeat(64)).status, 403);
    let pass = web.pass();
    assert!(pass.cookie.starts_with(&format!("invivo-{}=", web.port)));
    assert_eq!(web.enter(web.secret()).status, 403, "it opens once");

    assert_eq!(web.ask(&pass, "status").status, 200);
    let foreign = format!("Origin: http://127.0.0.1:{}", web.port ^ 1);
    for (head, status) in [
        (vec!["Cookie: -"], 401),
        (vec!["X-Invivo-Key: -"], 401),
        (vec!["X-Invivo-Key: 00"], 401),
        (vec!["Host: invivo.example"], 403),
        (vec!["Host: 127.0.0.1"], 403),
        (vec!["Host: -"], 403),
        (vec!["Origin: http://evil.example"], 403),
        (vec![foreign.as_str()], 403),
        (vec!["Origin: null"], 403),
        (vec!["Sec-Fetch-Site: cross-site"], 403),
    ] {
        let seen = refused(&web, &pass, &head);
        // A request without any host is none to a server of HTTP/1.1.
        assert!(
            seen == status || head == ["Host: -"] && seen >= 400,
            "{head:?}: {seen}"
        );
    }
    let live = [web.host(), "Origin: http://evil.example".to_owned()];
    let live = [live.to_vec(), pass.head()].concat();
    assert_eq!(
        web.send("GET /live", &live, "").status,
        403,
        "streams as well"
    );

    assert_eq!(web.ask(&pass, "secrets").status, 404);
    let order = |order: &str| {
        let head = [vec![web.host()], pass.head()].concat();
        web.send(&format!("POST /do/{order}"), &head, "").status
    };
    assert_eq!((order("explode"), order("pause?time=soon")), (400, 400));
    // Not by a link: what acts is no GET.
    let head = [vec![web.host()], pass.head()].concat();
    assert_eq!(web.send("GET /do/pause", &head, "").status, 405);
    let long = web.send("POST /enter", &[web.host()], &"0".repeat(10_000));
    assert_eq!(long.status, 413);
    end(running);
}

/// Another user of this host, who knows the port and even what a guest shows.
#[test]
fn another_user_of_the_host_is_refused() {
    let running = job(Family::Mpich);
    let web = Web::start(&running.client(), &[]);
    let pass = web.pass();
    assert_eq!(web.ask(&pass, "status").status, 200);
    let script = "import http.client, sys\n\
        c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n\
        head = {'Cookie': sys.argv[2], 'X-Invivo-Key': sys.argv[3]}\n\
        c.request('GET', '/ask/status', headers=head)\n\
        r = c.getresponse()\n\
        print(r.status, r.read().decode())\n";
    let asked = |user: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
        command
            .args(["/usr/bin/python3", "-c", script])
            .current_dir("/");
        command.args([&web.port.to_string(), &pass.cookie, &pass.key]);
        let output = command.output().expect("setpriv and python3");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let own = rustix::process::geteuid().as_raw().to_string();
    assert!(asked(&own).starts_with("200 "), "{}", asked(&own));
    let refused = asked("65534");
    assert!(
        refused.starts_with("403 this page belongs to another user"),
        "{refused}"
    );
    end(running);
}

#[test]
fn a_page_that_looks_does_not_steer() {
    let running = job(Family::Ompi);
    let web = Web::start(&running.client(), &["--scope", "view"]);
    let pass = web.pass();
    assert_eq!(web.ask(&pass, "hello").json()["scope"], "view");
    let head = [vec![web.host()], pass.head()].concat();
    for order in ["pause", "sampling?frequency=on"] {
        let refused = web.send(&format!("POST /do/{order}"), &head, "");
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.body.contains("this page looks only"), "{refused:?}");
    }
    let states = running.client().json(&["status"]);
    assert_eq!(number(&states, "/status/ranks/paused"), 0);
    end(running);
}

#[test]
fn it_ends_with_the_job() {
    let running = job(Family::Ompi);
    let mut web = Web::start(&running.client(), &[]);
    end(running);
    let until = Instant::now() + Duration::from_secs(30);
    let status = loop {
        match web.ended() {
            Some(status) => break status,
            None => assert!(Instant::now() < until, "it runs on"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status, 0);
}

/// A secret in a file that others read would let them in.
#[test]
fn without_a_terminal_the_link_is_asked_for() {
    let running = job(Family::Ompi);
    let output = running.client().run(&["web"]);
    assert!(!output.status.success() && output.stdout.is_empty());
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("invivo web on a terminal"), "{why}");

    let mut screen = running.client().on_screen(&["web"]);
    let first = screen.until_it_says("press Enter");
    assert!(first.contains("http://127.0.0.1:"), "{first}");
    screen.press("\n");
    screen.until("another link", |text| text.matches("/#").count() == 2);
    screen.press("\x03");
    screen.end();
    end(running);
}

/// Runs a part of the browser's script against the page, with what it needs to know.
fn browse(running: &Running, web: &Web, part: &str, known: &Value) {
    let invivo = running.client().command(&[]);
    browser::browse(web, &invivo, running.directory(), part, known);
}

fn shows_what_json_says(family: Family) {
    if !has_browser() {
        return;
    }
    let mut running = job(family);
    let client = running.client();
    client.pause(RANKS, "300s");
    // Until the last records have arrived, counts grow.
    let settled = |running: &Running| {
        let status = running.client().json(&["status"]);
        number(&status, "/coverage/ledger/in_flight") == 0
    };
    running.until("all records", |running| settled(running).then_some(()));
    let web = Web::start(&client, &[]);
    browse(&running, &web, "numbers", &json!({}));
    client.resume(RANKS);
    end(running);
}

#[test]
fn every_screen_shows_what_json_says() {
    shows_what_json_says(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn every_screen_shows_it_on_mpich() {
    shows_what_json_says(Family::Mpich);
}

/// Pause, resume, recording, reset; keys, selection, freezing; a gateway that is killed; a page
/// that is hidden; and what axe finds.
#[test]
fn a_page_is_used_from_one_end_to_the_other() {
    if !has_browser() {
        return;
    }
    let running = job(Family::Ompi);
    let web = Web::start(&running.client(), &[]);
    let gateway = running.only("ui-gateway").pid;
    let known = json!({ "ranks": RANKS, "gateway": gateway, "web": web.pid() });
    browse(&running, &web, "steer", &known);

    // What was suspended, as a laptop is, comes back by itself.
    let stop = |signal| kill_process(Pid::from_raw(web.pid() as i32).expect("a pid"), signal);
    stop(Signal::STOP).expect("stopped");
    std::thread::sleep(Duration::from_secs(2));
    stop(Signal::CONT).expect("continued");
    let again = Web::start(&running.client(), &[]);
    browse(&running, &again, "comfort", &known);
    end(running);
}

#[test]
fn regions_stand_on_the_timeline() {
    if !has_browser() {
        return;
    }
    let (_, command) = regions(Family::Ompi, 200).swap_remove(0);
    let mut running = Job::observed(Family::Ompi, 2, &command)
        .limit(LIMIT)
        .start();
    running.wait_for_answers();
    running.wait_for_notes("done");
    let web = Web::start(&running.client(), &[]);
    browse(&running, &web, "visits", &json!({}));
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// Sampled for most of the time, and then no longer, so that there are as many whenever they are
/// counted.
#[test]
#[ignore = "long"]
fn samples_stand_on_the_timeline() {
    if !has_browser() {
        return;
    }
    let (_, command) = shares(Family::Ompi).swap_remove(0);
    let mut running = Job::observed(Family::Ompi, 2, &command)
        .limit(LIMIT)
        .start();
    running.wait_for_answers();
    let client = running.client();
    client.json(&["sampling", "997"]);
    let kept = |running: &Running| {
        let buffers = running.client().try_json(&["buffers"])?;
        buffers["samples"]["kept"].as_u64()
    };
    running.until("samples", |running| {
        kept(running)
            .is_some_and(|kept| kept > 16_000)
            .then_some(())
    });
    client.json(&["sampling", "off"]);
    let last = Cell::new(0);
    running.until("the last sample", |running| {
        let before = last.replace(kept(running)?);
        std::thread::sleep(Duration::from_secs(1));
        (before == last.get()).then_some(())
    });
    let web = Web::start(&running.client(), &[]);
    browse(&running, &web, "samples", &json!({}));
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// Samples of known parts, switched on by the page; and none of what was saved.
#[test]
#[ignore = "long"]
fn the_profile_shows_what_json_says() {
    if !has_browser() {
        return;
    }
    let (_, command) = shares(Family::Ompi).swap_remove(0);
    let job = Job::observed(Family::Ompi, RANKS, &command).limit(LIMIT);
    let mut running = job.options(["--analyses", ALL]).start();
    running.wait_for_answers();
    let client = running.client();
    let web = Web::start(&client, &[]);
    browse(&running, &web, "profile", &json!({}));

    let folder = running.directory().join("shares.obs");
    let folder = folder.to_str().expect("a path of text");
    let saved = client.run(&["save", folder]);
    assert!(saved.status.success(), "{saved:?}");
    let web = Web::of(client.command(&["open", folder, "--", "web", "--json"]));
    browse(&running, &web, "profile", &json!({ "saved": true }));
    drop(web);
    end(running);
}

/// A real application on every screen. With `SHOTS=DIR` the pictures stay there: those of the
/// manual are made so.
#[test]
#[ignore = "long"]
fn lammps_is_on_every_screen() {
    if !has_browser() {
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    // The browser is done before it.
    let command = endless_melt(folder.path());
    let job = Job::observed(Family::Ompi, RANKS, &command).limit(LIMIT);
    let mut running = job.options(["--analyses", ALL]).start();
    running.wait_for_answers();
    let web = Web::start(&running.client(), &[]);
    let shots =
        std::env::var_os("SHOTS").map_or_else(|| running.directory().to_owned(), Into::into);
    browse(&running, &web, "shots", &json!({ "shots": shots }));
    drop(web);
    running.signal_launcher(Signal::TERM);
    running.end();
}
