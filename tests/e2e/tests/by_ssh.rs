//! Jobs behind a login node: every command with `--on`, through a real `ssh` and a real `sshd`, to
//! the job of another user than the one who asks.

use invivo_e2e::clients::browser::{browse, has_browser};
use invivo_e2e::clients::{Web, number};
use invivo_e2e::job::turn;
use invivo_e2e::login::Login;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use invivo_e2e::remarks::not_tested;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const RANKS: u64 = 2;
const WITHIN: Duration = Duration::from_secs(60);

/// A job of the user behind the login.
struct Far {
    /// Where it runs.
    login: Login,
    /// Where the client goes in, and the words for it, if that is another host.
    before: Option<(Login, [String; 4])>,
    job: Child,
    _turn: File,
}

impl Far {
    fn start(family: Family) -> Far {
        Far::start_on(family, Login::start(), None)
    }

    /// A job on a node that only the login node reaches.
    fn start_behind(family: Family) -> Far {
        let (node, before) = (Login::start_on(Some("node17")), Login::start());
        let program = format!(
            "PATH={}:$PATH XDG_STATE_HOME={} {}",
            node.bin().display(),
            node.state().display(),
            paths::invivo().display()
        );
        let on = ["--on", "login", "--on-program", &program].map(str::to_owned);
        Far::start_on(family, node, Some((before, on)))
    }

    fn start_on(family: Family, login: Login, before: Option<(Login, [String; 4])>) -> Far {
        let turn = turn();
        let mut command = login.command_there(&paths::invivo());
        command.args(["run", "--"]).arg(family.launcher());
        if family.is_open_mpi() {
            command.arg("--oversubscribe");
        }
        command.args(["-n", &RANKS.to_string()]);
        command.args(program(family, "message_loop", ["600"]));
        command.env("LOG_DIR", login.home());
        for (name, value) in invivo_e2e::job::environment(family) {
            command.env(name, value);
        }
        let output = File::create(login.home().join("output")).expect("a file");
        let errors = output.try_clone().expect("the same file");
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let job = command.process_group(0).spawn().expect("the job starts");
        let mut far = Far {
            login,
            before,
            job,
            _turn: turn,
        };
        far.until("an answer", |far| {
            let status = far.try_json(&["status"])?;
            (number(&status, "/coverage/ranks_reporting") == RANKS).then_some(())
        });
        far
    }

    fn until<T>(&mut self, what: &str, ready: impl Fn(&Far) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = ready(self) {
                return found;
            }
            let ended = self.job.try_wait().expect("its state");
            let said = std::fs::read_to_string(self.login.home().join("output"));
            assert!(
                ended.is_none() && begun.elapsed() < WITHIN,
                "not within {WITHIN:?}: {what}; the job ({ended:?}) says {said:?}; status: {:?}",
                self.ask(&["status"])
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let (login, on) = match &self.before {
            None => (&self.login, &self.login.on()),
            Some((before, on)) => (before, on),
        };
        let mut command = login.invivo(words);
        command.args(on);
        command
    }

    fn ask(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the command runs")
    }

    fn try_json(&self, words: &[&str]) -> Option<Value> {
        let output = self.command(words).arg("--json").output();
        let output = output.expect("the command runs");
        let text = output.status.success().then_some(output.stdout)?;
        Some(serde_json::from_slice(&text).expect("JSON"))
    }

    fn json(&self, words: &[&str]) -> Value {
        self.try_json(words).unwrap_or_else(|| {
            let output = self.ask(words);
            panic!("{words:?}: {output:?}")
        })
    }

    /// Lets the job end, and sees that it has.
    fn end(&mut self) {
        std::fs::write(self.login.home().join("stop"), "").expect("written");
        let status = self.job.wait().expect("its status");
        let said = std::fs::read_to_string(self.login.home().join("output")).expect("output");
        assert!(status.success(), "{status}: {said}");
        for rank in 0..RANKS {
            assert!(said.contains(&format!("rank {rank}: 0 wrong")), "{said}");
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Only a test that has failed leaves it running.
        if let Some(group) = Pid::from_raw(self.job.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.job.wait();
    }
}

/// Looking, steering, a session file; each as on the job's own host.
#[test]
fn every_command_works_behind_a_login() {
    for family in Family::ALL {
        let mut far = Far::start(family);

        let list = far.json(&["list"]);
        assert_eq!(list["jobs"].as_array().map(Vec::len), Some(1), "{list}");
        let job = list["jobs"][0]["job"].as_str().expect("a name").to_owned();

        let paused = far.json(&["pause", "--job", &job]);
        assert_eq!(number(&paused, "/done"), RANKS, "{paused}");
        // While it stands still, both ways tell the same, as soon as the last packets have come.
        far.until("the same table here and there", |far| {
            let mut near = far.login.command_there(&paths::invivo());
            let near = near
                .args(["functions", "--json"])
                .output()
                .expect("it runs");
            let near: Value = serde_json::from_slice(&near.stdout).expect("JSON");
            let rows = near["rows"].as_array().expect("rows");
            let there = far.json(&["functions"]);
            (!rows.is_empty() && near["rows"] == there["rows"]).then_some(())
        });
        let resumed = far.json(&["resume"]);
        assert_eq!(number(&resumed, "/done"), RANKS, "{resumed}");

        let session = far.login.home().join("session.toml");
        let text = "[[step]]\nrecord = \"off\"\n\n[[step]]\nrecord = \"on\"\n\n\
                    [[step]]\nquery = \"functions\"\n";
        std::fs::write(&session, text).expect("written");
        let ran = far.ask(&["session", "run", &session.display().to_string()]);
        assert!(ran.status.success(), "{ran:?}");

        far.end();
    }
}

/// The page is here, the job there, and between them one `ssh`, which is killed meanwhile.
#[test]
fn the_page_of_a_job_behind_a_login() {
    if !has_browser() {
        return;
    }
    let mut far = Far::start(Family::Ompi);
    let [_, host, there, program] = far.login.on();
    let words = ["connect", &host, "--web", "--json", &there, &program];
    let web = Web::of(far.login.invivo_for_long(&words));
    let mut invivo = far.login.invivo_for_long(&[]);
    invivo.envs([("INVIVO_ON", host), ("INVIVO_ON_PROGRAM", program)]);
    let known = json!({ "ranks": RANKS, "sshd": far.login.pid() });
    browse(&web, &invivo, &far.login.home(), "afar", &known);
    far.end();
}

/// A job on a compute node: from the login node the bridge goes on by ssh.
#[test]
fn a_node_behind_the_login_node_is_reached() {
    if !rustix::process::geteuid().is_root() {
        return not_tested("a node behind a login node: only root can name a host");
    }
    let mut far = Far::start_behind(Family::Mpich);
    let list = far.json(&["list"]);
    let job = &list["jobs"][0];
    assert_eq!(
        (&job["host"], &job["here"]),
        (&"node17".into(), &false.into()),
        "{list}"
    );
    for verb in ["pause", "resume"] {
        let reply = far.json(&[verb]);
        assert_eq!(number(&reply, "/done"), RANKS, "{reply}");
    }
    far.end();
}

/// A `watch` whose login is killed comes back, and ends with the job.
#[test]
fn a_killed_login_is_made_again() {
    let mut far = Far::start(Family::Ompi);
    let file = far.login.home().join("watch");
    let output = File::create(&file).expect("a file");
    let mut watch = far.command(&["watch", "--json"]);
    let mut watch = watch.stdout(output).spawn().expect("it starts");
    let lines = || {
        let text = std::fs::read_to_string(&file).expect("its lines");
        text.lines().count()
    };
    far.until("three lines", |_| (lines() >= 3).then_some(()));

    let logins = far.login.logins();
    assert!(!logins.is_empty(), "the watch has a login");
    far.login.kill_logins();
    let before = lines();
    far.until("lines after it", |_| (lines() >= before + 3).then_some(()));
    let now = far.login.logins();
    assert!(
        !now.is_empty() && now.iter().all(|login| !logins.contains(login)),
        "another login: {now:?}"
    );
    assert!(watch.try_wait().expect("its state").is_none(), "it goes on");

    far.end();
    let status = watch.wait().expect("its status");
    assert!(status.success(), "{status}");
}

/// What a user gets wrong, said in one line.
#[test]
fn a_login_that_leads_nowhere_says_so() {
    let login = Login::start();
    let said = |words: &[&str]| {
        let output = login.invivo(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let [on, host, program, path] = login.on();
    let none = said(&["status", &on, &host, &program, &path]);
    assert!(none.contains("on login: no job is running"), "{none}");
    let wrong = said(&["status", "--on", "login", "--on-program", "/no/invivo"]);
    assert!(
        wrong.contains("no /no/invivo in the PATH of login"),
        "{wrong}"
    );
    let unknown = said(&["status", "--on", "nobody.invalid"]);
    assert!(
        unknown.contains("ssh cannot reach nobody.invalid"),
        "{unknown}"
    );
    let other = said(&["status", "--on", "login", "--on-program", "echo"]);
    assert!(other.contains("echo bridge on login failed"), "{other}");
    for text in [none, wrong, unknown, other] {
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
