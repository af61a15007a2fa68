//! An installation in a temporary directory: the real `invivo`, and scripts in place of the tool
//! processes.

use crate::watchdog::Watchdog;
use invivo_proto::control::{encode, link};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A launcher under test.
pub struct Launcher {
    /// Its command.
    pub name: &'static str,
    /// What it needs to run everything on this machine.
    pub options: &'static [&'static str],
    /// Signals that it passes on to the ranks and survives.
    pub forwards: &'static [&'static str],
}

/// The launchers under test.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "mpiexec.openmpi",
        options: &["--oversubscribe"],
        forwards: &["USR1", "USR2"],
    },
    Launcher {
        name: "mpiexec.mpich",
        options: &[],
        forwards: &["USR1"],
    },
];

impl Launcher {
    /// Whether it is there.
    pub fn installed(&self) -> bool {
        let there = Command::new(self.name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if there.is_err() {
            eprintln!("{} is not installed: left out", self.name);
        }
        there.is_ok()
    }
}

/// What the shim does first thing in `MPI_Init`, for scripts: it takes the rank's memory.
pub fn in_mpi() -> String {
    let offset = std::mem::offset_of!(invivo_proto::shm::Page, pid);
    format!(
        "printf '\\1\\0\\0\\0' | dd of=/proc/$$/fd/${{INVIVO_FDS%%,*}} bs=1 seek={offset} \
         conv=notrunc status=none"
    )
}

/// The directory with the installation, in which the jobs run.
pub struct Stage {
    // Dropped first: it looks for processes in the directory.
    _watchdog: Watchdog,
    dir: tempfile::TempDir,
}

impl Stage {
    /// A fresh one.
    pub fn new() -> Stage {
        let dir = tempfile::tempdir().expect("a directory");
        let stage = Stage {
            _watchdog: Watchdog::over(dir.path()),
            dir,
        };
        for dir in ["bin", "run", "state", "lib/invivo/ompi", "lib/invivo/mpich"] {
            std::fs::create_dir_all(stage.path(dir)).expect("made");
        }
        std::fs::set_permissions(stage.path("run"), std::fs::Permissions::from_mode(0o700))
            .expect("mode set");
        std::fs::copy(env!("CARGO_BIN_EXE_invivo"), stage.path("bin/invivo")).expect("copied");
        stage.script("bin/ui-gateway", "exec sleep 60");
        for family in ["ompi", "mpich"] {
            let lib = format!("lib/invivo/{family}");
            let shim = stage.path(&format!("{lib}/libinvivo_shim.so"));
            let compiled = Command::new("cc")
                .args(["-shared", "-x", "c", "/dev/null", "-o"])
                .arg(shim)
                .status();
            assert!(compiled.expect("a C compiler").success());
            // The root is given where the gateway finds it.
            stage.script(
                &format!("{lib}/tool-process"),
                "case \" $* \" in *\" --link \"*) . ./root;; *) . ./place;; esac",
            );
        }
        stage.script("place", "exit 0");
        stage.script(
            "root",
            // As behind MPI_Init, it is there for the gateway.
            "trap '' TERM; until [ \"$1\" = --link ]; do shift; done; : > \"$2\"; \
             echo $$ > node.pid; until [ -e stop ]; do sleep 0.05; done",
        );
        stage
    }

    /// A program that writes each signal that it gets into `got.RANK`, and ends when there is a
    /// file `stop`.
    pub fn witness(&self) -> String {
        let program = self.path("witness");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/launch/witness.c");
        let compiled = Command::new("cc")
            .args([source, "-o"])
            .arg(&program)
            .status();
        assert!(compiled.expect("a C compiler").success());
        program.display().to_string()
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).expect("written");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("mode set");
    }

    /// From now on the analysis node reports and ends.
    pub fn analysis_node_reports(&self) {
        // Waits until the other end is closed: the report is out.
        self.analysis_node_tells(false, "exit 0");
    }

    /// From now on the analysis node reports that the measurement was shut down, and ends when
    /// there is a file `stop`.
    pub fn analysis_node_shuts_down(&self) {
        self.analysis_node_tells(true, "until [ -e stop ]; do sleep 0.05; done");
    }

    fn analysis_node_tells(&self, shut_down: bool, then: &str) {
        let result = link::Final {
            job: link::JobDescription {
                id: "staged".into(),
                ranks: 2,
                places: 1,
                nodes: 1,
                ..link::JobDescription::default()
            },
            functions: Default::default(),
            matrix: Default::default(),
            status: Default::default(),
            coverage: Default::default(),
            ended: Vec::new(),
            ended_left_out: 0,
            hang: Box::default(),
            waits: Box::default(),
            regions: Box::default(),
            sites: Box::default(),
            shut_down,
        };
        let message = encode(&link::AtEnd::Result(Box::new(result))).expect("encoded");
        let mut bytes = (message.len() as u32).to_le_bytes().to_vec();
        bytes.extend(message);
        std::fs::write(self.path("final.bin"), bytes).expect("written");
        let text = format!(
            "while [ $# -gt 0 ]; do [ \"$1\" = --report-fd ] && fd=$2; shift; done
            cat final.bin >&$fd; read -t 20 -u $fd; exec {{fd}}>&-; {then}"
        );
        self.script("root", &text);
    }

    /// From now on the gateway cannot listen on TCP.
    pub fn gateway_cannot_listen(&self, why: &str) {
        self.script(
            "bin/ui-gateway",
            &format!(
                "until [ \"$1\" = --connect ]; do shift; done; \
                 sed -i 's/^{{/{{\"tls_trouble\":\"{why}\",/' \"$2\"; exec sleep 60"
            ),
        );
    }

    /// From now on tool places write down how they were started, and end when there is a file
    /// `stop`.
    pub fn tool_places_tell(&self) {
        let text = "echo \"$*\" > place.arguments; until [ -e stop ]; do sleep 0.05; done";
        self.script("place", text);
    }

    fn surroundings<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.dir.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            // A process for each role: the scripts that stand for them are one for each.
            .env("INVIVO_FAN_IN", "64")
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdin(Stdio::null())
    }

    /// The command itself.
    pub fn invivo(&self) -> Command {
        let mut command = Command::new(self.path("bin/invivo"));
        self.surroundings(&mut command);
        command
    }

    /// A launcher's line with `invivo` and its arguments.
    pub fn launch_line(&self, launcher: &Launcher, processes: u32, arguments: &[&str]) -> Command {
        let mut command = self.line(launcher, processes);
        command.arg(self.path("bin/invivo")).args(arguments);
        command
    }

    fn line(&self, launcher: &Launcher, processes: u32) -> Command {
        let mut command = Command::new(launcher.name);
        command
            .args(launcher.options)
            .args(["-n", &processes.to_string()]);
        self.surroundings(&mut command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a program under a launcher.
    pub fn launch(
        &self,
        launcher: &Launcher,
        processes: u32,
        observed: bool,
        program: &[&str],
    ) -> Child {
        let mut command = match observed {
            true => self.launch_line(launcher, processes, &["exec", "--"]),
            false => self.line(launcher, processes),
        };
        command.args(program).spawn().expect("started")
    }

    /// Starts a script in which `$RANK` is the rank, quietly.
    pub fn start(
        &self,
        launcher: &Launcher,
        processes: u32,
        observed: bool,
        script: &str,
    ) -> Child {
        let _ = std::fs::remove_file(self.path("stop"));
        let script = format!("RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {script}");
        self.launch(
            launcher,
            processes,
            observed,
            &["bash", "-c", &script, "app"],
        )
    }

    /// Runs a script to its end.
    pub fn run(&self, launcher: &Launcher, processes: u32, observed: bool, script: &str) -> Output {
        self.run_reading(launcher, processes, observed, script, None)
    }

    /// The same with input for rank 0.
    pub fn run_reading(
        &self,
        launcher: &Launcher,
        processes: u32,
        observed: bool,
        script: &str,
        input: Option<&str>,
    ) -> Output {
        let script = format!("RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {script}");
        let mut command = match observed {
            true => self.launch_line(launcher, processes, &["exec", "--quiet", "--"]),
            false => self.line(launcher, processes),
        };
        command.args(["bash", "-c", &script, "app", "x y"]);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().expect("started");
        if let Some(input) = input {
            let mut writer = child.stdin.take().expect("piped");
            writer.write_all(input.as_bytes()).expect("written");
        }
        child.wait_with_output().expect("ended")
    }

    /// Runs a script to its end with options of `invivo exec`.
    pub fn run_with(
        &self,
        launcher: &Launcher,
        processes: u32,
        options: &[&str],
        script: &str,
    ) -> Output {
        let script = format!("RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {script}");
        let mut command = self.launch_line(launcher, processes, &["exec"]);
        command
            .args(options)
            .args(["--", "bash", "-c", &script])
            .output()
            .expect("ended")
    }

    /// The jobs on the list.
    pub fn jobs(&self) -> Vec<String> {
        names(&self.path("state/invivo/jobs"))
    }

    /// The jobs' directories of sockets.
    pub fn sockets(&self) -> Vec<String> {
        names(&self.path("run"))
            .iter()
            .flat_map(|user| names(&self.path("run").join(user)))
            .collect()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// The lines of a file; none while it is not there.
pub fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Waits for something that is certain to come.
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        comes_within(Duration::from_secs(30), condition),
        "waited in vain until {what}"
    );
}

/// Whether something comes in time.
pub fn comes_within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Sends a signal by its name, from a process of its own.
pub fn kill(pid: i32, signal: &str) {
    let status = Command::new("kill")
        .args([OsStr::new("-s"), OsStr::new(signal)])
        .arg(pid.to_string())
        .status();
    assert!(status.expect("kill").success());
}

/// A process' parent.
pub fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive");
    let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 1..]
        .split_whitespace()
        .collect();
    fields[1].parse().expect("a number")
}

/// Whether a process runs: a dead one that nobody has waited for does not.
pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rfind(')')
        .is_some_and(|at| !stat[at + 1..].trim_start().starts_with('Z'))
}
