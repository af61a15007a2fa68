//! Files that are sessions and files that are none.

use super::super::field::Kind;
use super::super::script::{Action, Wait};
use super::super::{Script, read};
use invivo_config::toml_file::{FileError, Source};
use invivo_proto::control::order::Order;
use std::path::Path;

fn script(text: &str) -> Result<Script, FileError> {
    read(&Source {
        path: Path::new("s.toml"),
        text,
    })
}

/// What is said about a file that is no session.
fn wrong(text: &str) -> String {
    script(text).expect_err("no session").to_string()
}

/// A step behind others that make sense.
fn wrong_step(step: &str) -> String {
    wrong(&format!(
        "[[step]]\nquery = \"status\"\n\n[[step]]\n{step}\n"
    ))
}

const ALL: &str = r#"
name = "everything"
timeout = "10s"

[[step]]
wait = "500ms"

[[step]]
wait = { state = "computing", ranks = 2 }
timeout = "3s"

[[step]]
wait = { field = "calls", op = ">", value = 1_000 }

[[step]]
name = "stand still"
pause = "30s"

[[step]]
resume = true

[[step]]
loop = 3
[[step.step]]
record = { for = "2s" }
[[step.step]]
query = "functions"
[[step.step]]
assert = { function = "MPI_Allreduce", field = "calls", op = ">=", value = 5 }

[[step]]
record = "off"

[[step]]
wait = "job-end"
"#;

#[test]
fn sampling_has_a_frequency_or_is_off() {
    let script = script("[[step]]\nsampling = \"1kHz\"\n\n[[step]]\nsampling = \"off\"\n")
        .expect("a session");
    assert_eq!(
        script.plan_text(),
        "1  sample at 1000 Hz  (within 1m)\n2  end sampling  (within 1m)\n"
    );
    let what = wrong_step("sampling = \"10001\"");
    assert!(what.contains("samples a second, 10000 at most"), "{what}");
}

#[test]
fn a_selection_is_rules_or_a_file_of_them() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "exclude a; include b\n").expect("written");
    let path = file.path().display();
    let steps = format!(
        "[[step]]\nselection = {{ exclude = \"tiny_*\" }}\n\n[[step]]\nselection = {{ include = \
         [\"solve\", \"group:coll\"] }}\n\n[[step]]\nselection = {{ load = \"{path}\" \
         }}\n\n[[step]]\nselection = \"clear\"\n"
    );
    assert_eq!(
        script(&steps).expect("a session").plan_text(),
        "1  select by more rules: exclude tiny_*  (within 1m)\n\
         2  select by more rules: include solve, include group:coll  (within 1m)\n\
         3  select by rules: exclude a, include b  (within 1m)\n\
         4  record all regions and functions  (within 1m)\n"
    );
    std::fs::write(file.path(), "exclude a\nskip b\n").expect("written");
    let load = format!("{{ load = \"{path}\" }}");
    for (value, said) in [
        ("\"all\"", "s.toml:5: no selection `all`; there are: clear"),
        (
            "{ exclude = \"\" }",
            "s.toml:5: exclude: a pattern is empty",
        ),
        (
            "{ include = \"group:x\" }",
            "include: \"x\" is no group of MPI",
        ),
        (
            "{ exclude = [] }",
            "exclude is a array here; give some patterns",
        ),
        ("{ exclude = \"a\", include = \"b\" }", "give \"clear\", {"),
        ("{ only = \"a\" }", "no key of selection `only`"),
        (
            "{ load = \"/nowhere/x\" }",
            "load: cannot read the rules in /nowhere/x",
        ),
        (load.as_str(), ", line 2: \"skip b\" is no rule"),
    ] {
        let what = wrong_step(&format!("selection = {value}"));
        assert!(
            what.starts_with("s.toml:5: ") && what.contains(said),
            "{what}"
        );
    }
}

#[test]
fn a_strategy_is_a_list_of_rules() {
    let script = script(
        "[[step]]\nstrategy = \"iterations:4@MPI_Barrier, duration:1ms\"\n\n[[step]]\nwait = \
         { field = \"reductions\", op = \">\", value = 3 }\n",
    );
    assert_eq!(
        script.expect("a session").plan_text(),
        "1  keep by iterations:4@MPI_Barrier,duration:1ms  (within 1m)\n2  wait until reductions \
         > 3  (within 1m)\n"
    );
    let what = wrong_step("strategy = \"best\"");
    assert!(
        what.contains("strategy: \"best\" is no rule of a strategy"),
        "{what}"
    );
}

#[test]
fn a_plan_has_every_step_with_its_time() {
    let script = script(ALL).expect("a session");
    assert_eq!(
        script.plan_text(),
        "1  wait 500ms  (within 10s 500ms)\n\
         2  wait until 2 ranks are computing  (within 3s)\n\
         3  wait until calls > 1000  (within 10s)\n\
         4  stand still: pause for 30s at most  (within 10s)\n\
         5  resume  (within 10s)\n\
         6  loop 3 times\n\
         \u{20} 6.1  record for 2s  (within 12s)\n\
         \u{20} 6.2  query functions  (within 10s)\n\
         \u{20} 6.3  assert calls of MPI_Allreduce >= 5  (within 10s)\n\
         7  record off  (within 10s)\n\
         8  wait for the end of the job  (within 10s)\n"
    );
    assert_eq!(script.steps[3].line, 17);
    assert_eq!(
        script.steps[3].action,
        Action::Order(Order::Pause {
            lease_ns: 30_000_000_000
        })
    );
    let json = script.plan_json();
    assert_eq!(
        (&json["session"], &json["steps"][5]["steps"][0]["step"]),
        (&"everything".into(), &"6.1".into())
    );
    assert_eq!(json["steps"][5]["steps"][2]["line"], 29);
}

#[test]
fn what_is_no_step_is_named_with_its_line() {
    for (step, said) in [
        (
            "pose = true",
            "s.toml:5: no action or key `pose`; did you mean `pause`?",
        ),
        (
            "name = \"x\"",
            "s.toml:4: this step does nothing; give it one of: wait, pause, ",
        ),
        (
            "reset = true\nresume = true",
            "s.toml:6: a step does one thing: make `resume` a step of its own",
        ),
        (
            "reset = false",
            "s.toml:5: write reset = true, or leave the step away",
        ),
        (
            "pause = \"soon\"",
            "s.toml:5: pause: \"soon\" is no time; give one as 500ms",
        ),
        ("wait = \"later\"", "or \"job-end\""),
        (
            "wait = { state = \"asleep\" }",
            "s.toml:5: no state `asleep`; there are: starting, computing",
        ),
        (
            "wait = { state = \"held\", rank = 1 }",
            "no key of waiting for a state `rank`; did you mean `ranks`?",
        ),
        (
            "record = \"maybe\"",
            "s.toml:5: no record `maybe`; there are: on, off",
        ),
        ("record = { for = -2 }", "s.toml:5: for: \"-2\" is no time"),
        (
            "record = {}",
            "s.toml:5: for how long? write record = { for = \"2s\" }",
        ),
        (
            "query = \"function\"",
            "s.toml:5: no query `function`; did you mean `functions`?",
        ),
        (
            "loop = 0\n[[step.step]]\nreset = true",
            "s.toml:5: a loop of no rounds",
        ),
        (
            "loop = 2",
            "s.toml:5: this loop has no steps; begin each with a line [[step.step]]",
        ),
        (
            "reset = true\n[[step.step]]\nreset = true",
            "only a loop has steps of its own",
        ),
        (
            "wait = \"5s\"\ntimeout = \"3s\"",
            "s.toml:6: the step takes longer than that; it could never pass",
        ),
        (
            "assert = { field = \"calls\", op = \">\" }",
            "s.toml:5: `value` is missing",
        ),
        (
            "assert = { field = \"calls\", op = \"=\", value = 1 }",
            "s.toml:5: no op `=`",
        ),
        (
            "assert = { field = \"cals\", op = \"<\", value = 1 }",
            "no field `cals`; did you mean `calls`?",
        ),
        (
            "assert = { field = \"lag\", op = \"<\", value = \"tiny\" }",
            "value: \"tiny\" is no value; give a number of ns",
        ),
        (
            "assert = { field = \"calls\", op = \"<\", value = 1, function = \"MPI_Snd\" }",
            "no recorded MPI function `MPI_Snd`; did you mean `MPI_Send`?",
        ),
    ] {
        let error = wrong_step(step);
        assert!(
            error.contains(said),
            "{step:?}: {said:?} is not in {error:?}"
        );
        assert!(error.starts_with("s.toml:"), "{error}");
    }
    assert_eq!(
        wrong("nme = \"x\""),
        "s.toml:1: no key `nme`; did you mean `name`?"
    );
    assert!(wrong("name = \"x\"\n").starts_with("s.toml:1: there is no step"));
    assert!(wrong("[[step]]\nreset = true\n[[step]\n").starts_with("s.toml:3: "));
}

#[test]
fn steps_that_cannot_follow_each_other_are_refused() {
    let assertion = "[[step]]\nassert = { field = \"calls\", op = \">\", value = 0 }\n";
    assert_eq!(
        wrong(assertion),
        "s.toml:2: nothing has been asked yet; put a query before it"
    );
    assert!(
        wrong_step("assert = { field = \"messages\", op = \">\", value = 0 }").starts_with(
            "s.toml:5: an answer to status has no field `messages`; it has: ranks, reporting"
        ),
    );
    assert!(
        wrong_step(
            "assert = { field = \"calls\", op = \">\", value = 0, function = \"MPI_Send\" }"
        )
        .ends_with("an answer to status has no functions; put query = \"functions\" before it"),
    );
    assert!(
        wrong_step(
            "query = \"functions\"\n[[step]]\nassert = \
             { field = \"calls\", op = \">\", value = 0, rank = 1 }"
        )
        .contains("does not tell ranks apart"),
    );
    assert_eq!(
        wrong("[[step]]\nwait = \"job-end\"\n[[step]]\nquery = \"status\"\n"),
        "s.toml:4: after line 2 there is no measurement any more that could answer"
    );
    // The second round of a loop begins where the first one ended.
    let round =
        "[[step]]\nloop = 2\n[[step.step]]\nquery = \"status\"\n[[step.step]]\nshutdown = true\n";
    assert_eq!(
        wrong(round),
        "s.toml:4: after line 6 there is no measurement any more that could answer"
    );
    script(&round.replace("loop = 2", "loop = 1")).expect("once is well");
    let many = "[[step]]\nloop = 100\n[[step.step]]\nloop = 11\n[[step.step.step]]\nreset = true\n";
    assert!(
        wrong(many).contains("would carry out 1100 steps, at most 1000 are"),
        "{}",
        wrong(many)
    );
}

#[test]
fn metrics_are_given_as_at_the_start_of_a_job() {
    let does = |value: &str| {
        let script = script(&format!("[[step]]\nmetrics = {value}\n"))?;
        Ok(script.steps[0].action.to_string())
    };
    let told = |text: &str| -> Result<String, FileError> { Ok(text.to_owned()) };
    assert_eq!(
        does("\"page-faults,cpu-time@50ms\""),
        told("measure cpu-time,page-faults every 50ms")
    );
    assert_eq!(
        does("[\"cycles\", \"branches@1s\"]"),
        told("measure cycles,branches every 1s")
    );
    assert_eq!(does("\"off\""), told("measure no metrics"));
    for (value, why) in [
        ("\"faults\"", "metrics: \"faults\" is no metric that can be"),
        ("\"usual@1ms\"", "every 10 ms at most"),
        ("{ on = \"usual\" }", "metrics is a table here"),
    ] {
        let refused = does(value).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn what_is_waited_for_says_what_to_ask() {
    let kind = |wait: &str| match script(&format!("[[step]]\nwait = {wait}\n"))
        .expect(wait)
        .steps[0]
        .action
    {
        Action::Wait(Wait::Until(kind, _)) => kind,
        _ => panic!("waits for a threshold"),
    };
    assert_eq!(
        kind("{ field = 'calls', op = '>', value = 1 }"),
        Kind::Status
    );
    assert_eq!(
        kind("{ field = 'share', op = '>', value = '20%' }"),
        Kind::Functions
    );
    assert_eq!(
        kind("{ field = 'calls', op = '>', value = 1, function = 'MPI_Send' }"),
        Kind::Functions
    );
    assert_eq!(
        kind("{ field = 'time', op = '>', value = '2s', rank = 3 }"),
        Kind::FunctionsPerRank
    );
    assert_eq!(
        kind("{ field = 'messages', op = '>', value = 1, source = 0 }"),
        Kind::Matrix
    );
    let no_part = "[[step]]\nwait = { field = 'lag', op = '>', value = 1, rank = 0 }\n";
    assert!(wrong(no_part).contains("`lag` is of the whole job"));
}

#[test]
fn the_session_in_the_manual_is_one() {
    let page = include_str!("../../../../docs/manual/sessions.md");
    let text = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a block");
    let script = script(text).expect("a session");
    assert_eq!(script.plan_text().lines().count(), 6);
    // Every step that can be done and every field that can be compared is described.
    for word in super::super::read::ACTIONS {
        assert!(page.contains(&format!("`{word} = ")), "{word}");
    }
    for field in &super::super::field::FIELDS {
        assert!(
            page.contains(&format!("`{}`", field.name)),
            "{}",
            field.name
        );
    }
}
