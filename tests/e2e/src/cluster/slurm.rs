//! A real Slurm on this machine: controller, node and authentication in namespaces of their own.
//!
//! So they meet no other Slurm's, and are gone with the test. The node claims more processors than
//! the machine has.

use super::hosts;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that the start of Slurm takes.
const MADE_WITHIN: Duration = Duration::from_secs(30);
/// Processors that the node claims: the tests' jobs fit.
const CPUS: u32 = 16;

/// A running Slurm. Dropped, it is killed with all its jobs.
#[derive(Debug)]
pub struct Slurm {
    directory: TempDir,
    /// The first process of its PID namespace: when it ends, the kernel kills all others.
    keeper: Child,
}

/// Whether Slurm can be started here. Where not, that is printed; with `CI=true`, which says that
/// all must be tested, it is a failure.
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

    let text = format!(
        "{} missing: jobs under Slurm are NOT TESTED here; run `cargo xtask setup`",
        missing.join(", ")
    );
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{text}");
    eprintln!("\n*** {text} ***\n");
    false
}

impl Slurm {
    /// Starts it, and waits until its node takes jobs.
    pub fn start() -> Slurm {
        let directory = tempfile::Builder::new()
            .prefix("slurm")
            .tempdir_in("/tmp")
            .expect("a directory for Slurm");
        let at = directory.path();
        std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).expect("its mode");

        let write =
            |name: &str, text: &str| std::fs::write(at.join(name), text).expect("a file for Slurm");

        for folder in ["munge", "state", "spool", "log"] {
            std::fs::create_dir(at.join(folder)).expect("a directory for Slurm");
            std::fs::set_permissions(at.join(folder), std::fs::Permissions::from_mode(0o755))
                .expect("its mode");
        }
        write("hosts", "127.0.0.1 localhost\n10.203.78.1 slurmnode\n");
        write("slurm.conf", &configuration(at));

        // The machine's control groups may be of either version; nothing here uses them.
        write("cgroup.conf", "CgroupPlugin=cgroup/v1\n");

        let script = r#"
            set -e
            cd "$1"
            hostname slurmnode
            ip link set lo up
            ip link add inner type veth peer name outer
            ip addr add 10.203.78.1/24 dev inner
            ip link set inner up
            ip link set outer up
            mount --bind hosts /etc/hosts
            mungekey --create --keyfile=munge/key
            munged --force --key-file="$PWD/munge/key" --socket="$PWD/munge/socket" \
                --pid-file="$PWD/munge/pid" --log-file="$PWD/log/munged" \
                --seed-file="$PWD/munge/seed"
            export SLURM_CONF="$PWD/slurm.conf"
            slurmctld -D >log/slurmctld.out 2>&1 &
            slurmd -D -N slurmnode >log/slurmd.out 2>&1 &
            until sinfo -h -t idle -o %n 2>/dev/null | grep -q slurmnode; do sleep 0.1; done
            # The first steps of a new node may fail, with status 0.
            until [ "$(srun --mpi=pmix -n 2 echo up 2>/dev/null | grep -c up)" = 2 ]; do
                sleep 0.1
            done
            : > made
            wait
        "#;

        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "--uts", "--mount", "--propagation", "private"]);
        // `--kill-child`: the namespace does not outlive the test, whatever ends it.
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        unshare.args(["bash", "-c", script, "slurm"]).arg(at);

        let keeper = unshare
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start unshare: {error}"));

        let mut slurm = Slurm { directory, keeper };
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

    /// Sends SIGTERM to every process of all steps that run, as a time limit does.
    ///
    /// # Panics
    /// When Slurm refuses.
    pub fn terminate_steps(&self) {
        let prefix = self.prefix();
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

    /// Words in front of a command that run it in Slurm's namespaces.
    pub fn prefix(&self) -> Vec<OsString> {
        // `unshare --fork` stays outside of the PID namespace: its child is the first process
        // inside.
        let inner =
            std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.keeper.id()));
        let inner = inner.expect("the first process of its namespace");

        let mut words: Vec<OsString> =
            ["nsenter", "-t", inner.trim(), "-n", "-u", "-m", "-p", "--"]
                .map(OsString::from)
                .to_vec();

        let mut configuration = OsString::from("SLURM_CONF=");
        configuration.push(self.directory.path().join("slurm.conf"));
        words.extend(["env".into(), configuration]);
        words
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

/// Arguments of `srun` for so many processes, output by rank in files in `output`.
pub fn launcher_arguments(processes: u32, output: &Path) -> Vec<OsString> {
    let file = |stream: &str| {
        let mut option = OsString::from(if stream == "stdout" {
            "--output="
        } else {
            "--error="
        });
        option.push(output.join(format!("%t.{stream}")));
        option
    };
    vec![
        file("stdout"),
        file("stderr"),
        "-n".into(),
        processes.to_string().into(),
    ]
}

fn configuration(at: &Path) -> String {
    let at = at.display();
    format!(
        "ClusterName=test\nSlurmctldHost=slurmnode\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={at}/munge/socket\nCryptoType=crypto/munge\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
         SlurmdParameters=config_overrides\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nStateSaveLocation={at}/state\n\
         SlurmdSpoolDir={at}/spool\nSlurmctldPidFile={at}/slurmctld.pid\n\
         SlurmdPidFile={at}/slurmd.pid\nReturnToService=2\nKillWait=2\nMpiDefault=none\n\
         NodeName=slurmnode NodeAddr=10.203.78.1 CPUs={CPUS} State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
}
