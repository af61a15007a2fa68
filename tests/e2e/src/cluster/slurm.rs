//! A real Slurm on this machine: controller, nodes and authentication in namespaces of their own.
//!
//! So they meet no other Slurm's, and are gone with the test. Each node is a host with a network, a
//! name and a `/dev/shm` of its own, and claims more processors than the machine has.

mod configuration;

use super::hosts;
use crate::mpi::Family;
use crate::remarks::not_tested;
use configuration::LOCAL;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that the start of Slurm takes.
const MADE_WITHIN: Duration = Duration::from_secs(60);
/// Processors that a node claims: the tests' jobs fit.
const CPUS: u32 = 16;

/// A running Slurm. Dropped, it is killed with all its jobs.
#[derive(Debug)]
pub struct Slurm {
    directory: TempDir,
    nodes: Vec<String>,
    /// The first process of its PID namespace: when it ends, the kernel kills all others.
    keeper: Child,
}

/// What starts the processes of a job in a [`Slurm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `srun --mpi=...`
    Srun(&'static str),
    /// The MPI's own launcher, in an allocation of so many tasks on each node.
    Mpiexec(u32),
}

/// Whether Slurm can be started here. Where not, that is said.
pub fn possible() -> bool {
    if !hosts::possible() {
        return false;
    }

    let there = |path: &str| Path::new(path).exists();
    let missing: Vec<&str> = [
        "/usr/sbin/slurmctld",
        "/usr/sbin/slurmd",
        "/usr/sbin/munged",
        "/usr/bin/srun",
    ]
    .into_iter()
    .filter(|path| !there(path))
    .collect();
    if missing.is_empty() {
        return true;
    }

    not_tested(&format!(
        "jobs under Slurm: {} missing; run `cargo xtask setup`",
        missing.join(", ")
    ));
    false
}

impl Slurm {
    /// Starts one of one node, and waits until it takes jobs.
    pub fn start() -> Slurm {
        Slurm::with_nodes(1)
    }

    /// Starts one of nodes `n1`, `n2` and so on, and waits until they take jobs.
    pub fn with_nodes(number: u32) -> Slurm {
        let directory = tempfile::Builder::new()
            .prefix("slurm")
            .tempdir_in("/tmp")
            .expect("a directory for Slurm");
        let at = directory.path();
        let folder = |name: &str, mode: u32| {
            std::fs::create_dir_all(at.join(name)).expect("a directory for Slurm");
            std::fs::set_permissions(at.join(name), std::fs::Permissions::from_mode(mode))
                .expect("its mode");
        };
        let write =
            |name: &str, text: &str| std::fs::write(at.join(name), text).expect("a file for Slurm");

        let nodes: Vec<String> = (1..=number).map(|node| format!("n{node}")).collect();
        for name in ["", "munge", "state", "log", LOCAL, "nodes"] {
            folder(name, 0o755);
        }
        for node in &nodes {
            folder(&format!("nodes/{node}/tmp"), 0o777);
            folder(&format!("nodes/{node}/spool"), 0o755);
            folder(&format!("nodes/{node}/run"), 0o700);
        }
        write("hosts", &configuration::hosts(&nodes));
        write("slurm.conf", &configuration::slurm(at, &nodes, CPUS));
        // The machine's control groups may be of either version; nothing here uses them.
        write("cgroup.conf", "CgroupPlugin=cgroup/v1\n");

        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "--uts", "--mount", "--propagation", "private"]);
        // `--kill-child`: the namespace does not outlive the test, whatever ends it.
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        unshare.args(["bash", "-c", include_str!("slurm/start.sh"), "slurm"]);
        unshare.arg(at).args(&nodes);

        let keeper = unshare
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start unshare: {error}"));

        let mut slurm = Slurm {
            directory,
            nodes,
            keeper,
        };
        slurm.wait();
        slurm
    }

    fn wait(&mut self) {
        let begun = Instant::now();
        while !self.directory.path().join("made").exists() {
            let ended = self.keeper.try_wait().expect("Slurm's process");
            assert!(
                ended.is_none() && begun.elapsed() < MADE_WITHIN,
                "Slurm does not start ({ended:?}):\n{}",
                self.logs()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Sends SIGTERM to every process of all steps that run, as a time limit does.
    ///
    /// # Panics
    /// When Slurm refuses.
    pub fn terminate_steps(&self) {
        let prefix = self.prefix(0);
        let mut scancel = Command::new(&prefix[0]);
        scancel
            .args(&prefix[1..])
            .args(["scancel", "--signal=TERM", "--user=root"]);
        let status = scancel.status().expect("scancel runs");
        assert!(status.success(), "scancel: {status}");
    }

    /// The output of its daemons.
    fn logs(&self) -> String {
        let files = std::fs::read_dir(self.directory.path().join("log"))
            .into_iter()
            .flatten();
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        files
            .flatten()
            .map(|file| format!("--- {}\n{}", file.path().display(), text(&file.path())))
            .collect()
    }

    /// Words in front of a command that run it on one of the nodes.
    pub fn prefix(&self, node: u32) -> Vec<OsString> {
        // `unshare --fork` stays outside of the PID namespace: its child is the first process
        // inside.
        let inner =
            std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.keeper.id()));
        let inner = inner.expect("the first process of its namespace");
        let at = self.directory.path();
        let name = &self.nodes[node as usize];
        let of_node = std::fs::read_to_string(at.join(format!("nodes/{name}.pid")));
        // A number of that namespace, so that it is entered first.
        let of_node = of_node.expect("the node's process");

        let enter = |pid: &str, which: &[&str]| -> Vec<OsString> {
            let words = ["nsenter", "-t", pid.trim()];
            let words = words.iter().chain(which).chain(&["--"]);
            words.map(OsString::from).collect()
        };
        let mut words = enter(&inner, &["-m", "-p"]);
        words.extend(enter(&of_node, &["-n", "-u", "-m"]));
        let mut configuration = OsString::from("SLURM_CONF=");
        configuration.push(at.join("slurm.conf"));
        words.extend(["env".into(), configuration]);
        words
    }

    /// `$XDG_RUNTIME_DIR` of jobs, on each node a folder of its own.
    pub fn runtime(&self) -> PathBuf {
        self.directory.path().join(LOCAL).join("run")
    }

    /// That folder of each node, as it is seen from outside.
    pub fn runtimes(&self) -> Vec<PathBuf> {
        let at = self.directory.path().join("nodes");
        self.nodes
            .iter()
            .map(|name| at.join(name).join("run"))
            .collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

/// `srun` with its protocol, output by process in files in `output`.
pub fn srun(mpi: &str, output: &Path) -> Vec<OsString> {
    let file = |stream: &str| {
        let mut option = OsString::from(match stream {
            "stdout" => "--output=",
            _ => "--error=",
        });
        option.push(output.join(format!("%t.{stream}")));
        option
    };
    let mpi = format!("--mpi={mpi}").into();
    vec!["srun".into(), mpi, file("stdout"), file("stderr")]
}

/// Options of `srun` for so many processes, on each node the same number. `-n` comes last.
pub fn evenly(processes: u32, nodes: u32) -> Vec<OsString> {
    let each = format!("--ntasks-per-node={}", processes / nodes);
    let count = ["-n".to_owned(), processes.to_string()];
    let options = match nodes {
        1 => Vec::new(),
        _ => vec![format!("--nodes={nodes}"), each],
    };
    options
        .into_iter()
        .chain(count)
        .map(OsString::from)
        .collect()
}

/// An allocation of so many tasks on each of the nodes, for the command behind it.
pub fn salloc(nodes: u32, tasks: u32) -> Vec<OsString> {
    let numbers = [
        format!("--nodes={nodes}"),
        format!("--ntasks-per-node={tasks}"),
    ];
    let words = ["salloc", "--quiet", &numbers[0], &numbers[1]];
    words.map(OsString::from).to_vec()
}

/// Variables of a job over several nodes, typed by hand. MPICH 4.0's messages cross by System V
/// memory, as [`hosts::Hosts::environment`] says. Open MPI's may come before their receivers are
/// ready unless Slurm's fence holds, which `invivo run` sees to by itself.
pub fn environment(family: Family, nodes: u32, by_hand: bool) -> Vec<(&'static str, &'static str)> {
    match (family, nodes) {
        (Family::Mpich, 2..) => vec![("UCX_TLS", "self,sysv")],
        (Family::Ompi, 2..) if by_hand => vec![("SLURM_PMIX_FENCE", "ring")],
        _ => Vec::new(),
    }
}
