//! The configuration as the real `invivo` finds it, and what it writes for shells and `man`.

mod support;

use clap::CommandFactory;
use invivo_cli::Cli;
use std::collections::BTreeSet;
use support::{User, assert_on_the_page};

fn write(user: &User, path: &str, text: &str) {
    let path = user.home.path().join(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    std::fs::write(path, text).expect("written");
}

#[tokio::test]
async fn flags_environment_and_three_files_in_this_order() {
    let user = User::new();
    write(
        &user,
        "site.toml",
        "fan-in = 2\nbuffer = \"1MiB\"\nquiet = true\ninterval = \"3s\"\nbudget = \"1GiB\"\n",
    );
    write(
        &user,
        "config/invivo/config.toml",
        "fan-in = 3\nbuffer = \"2MiB\"\nquiet = false\ninterval = \"2s\"\n",
    );
    write(
        &user,
        "invivo.toml",
        "fan-in = 5\nbuffer = \"3MiB\"\nquiet = true\n",
    );
    let output = user
        .invivo(&["config", "--json", "--fan-in", "7"])
        .env("INVIVO_FAN_IN", "6")
        .env("INVIVO_BUFFER", "4MiB")
        .output()
        .await
        .expect("started");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_on_the_page("invivo config", &all);
    let setting = |key: &str| {
        let settings = all["settings"].as_array().expect("settings");
        let found = settings
            .iter()
            .find(|setting| setting["key"] == key)
            .expect(key);
        (
            found["value"].to_string(),
            found["origin"].as_str().expect("text").to_owned(),
        )
    };
    assert_eq!(setting("fan-in"), ("[7,16]".into(), "--fan-in".into()));
    assert_eq!(
        setting("buffer"),
        ((4 << 20).to_string(), "INVIVO_BUFFER".into())
    );
    assert_eq!(setting("quiet"), ("true".into(), "invivo.toml:3".into()));
    let (interval, origin) = setting("interval");
    assert_eq!(interval, "2000000000");
    assert!(origin.ends_with("config/invivo/config.toml:4"), "{origin}");
    assert!(setting("budget").1.ends_with("site.toml:5"));
    assert_eq!(setting("report"), ("null".into(), "default".into()));

    let text = user.text(&["config", "--no-config"]).await;
    let fan_in = ["fan-in", "\"node,16\"", "default"];
    assert!(
        text.lines().any(|line| line.split_whitespace().eq(fan_in)),
        "{text}"
    );
}

#[tokio::test]
async fn a_slip_in_a_file_is_named_with_its_line() {
    let user = User::new();
    write(&user, "invivo.toml", "quiet = true\nbuffr = \"1MiB\"\n");
    for command in [&["config"][..], &["watch", "--count", "1"]] {
        let (status, out, err) = user.said(command).await;
        assert_eq!((status, out.as_str()), (1, ""));
        assert_eq!(
            err,
            "invivo: invivo.toml:2: no key `buffr`; did you mean `buffer`?\n"
        );
    }
}

#[tokio::test]
async fn shells_and_man_know_every_command() {
    let user = User::new();
    let mut commands = Vec::new();
    shown_below(&Cli::command(), "invivo", &mut commands);
    assert!(commands.len() > 20, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = user.text(&["completions", shell]).await;
        let words: BTreeSet<&str> = script
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .map(|word| word.trim_start_matches('-'))
            .collect();
        for (page, command) in &commands {
            for word in options(command).chain([command.get_name()]) {
                assert!(
                    words.contains(word),
                    "{word} of {page} is not in the completions of {shell}"
                );
            }
        }
    }
    let checked = std::process::Command::new("bash")
        .arg("-n")
        .arg("/dev/stdin")
        .stdin(script(&user).await)
        .status();
    assert!(checked.expect("bash").success());
    let dir = user.home.path().join("man/man1");
    user.text(&["man", dir.to_str().expect("text")]).await;
    let page = std::fs::read_to_string(dir.join("invivo-record.1")).expect("a page");
    assert!(
        page.contains("invivo record \\-\\-for 2s") && page.contains(".TH"),
        "{page}"
    );
    for (name, command) in &commands {
        let page = std::fs::read_to_string(dir.join(format!("{name}.1"))).expect(name);
        for option in options(command) {
            let escaped = format!("\\-\\-{}", option.replace('-', "\\-"));
            assert!(page.contains(&escaped), "{name}.1 has no {option}:\n{page}");
        }
    }
}

/// The long options that users are shown.
fn options(command: &clap::Command) -> impl Iterator<Item = &str> {
    let shown = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    shown.filter_map(clap::Arg::get_long)
}

/// A command and all that users are shown below it, each with the name of its manual page.
fn shown_below(command: &clap::Command, page: &str, found: &mut Vec<(String, clap::Command)>) {
    found.push((page.to_owned(), command.clone()));
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        shown_below(below, &format!("{page}-{}", below.get_name()), found);
    }
}

async fn script(user: &User) -> std::fs::File {
    let path = user.home.path().join("completions.bash");
    std::fs::write(&path, user.text(&["completions", "bash"]).await).expect("written");
    std::fs::File::open(path).expect("opened")
}
