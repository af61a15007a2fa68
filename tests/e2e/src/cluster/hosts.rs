//! Two hosts made of namespaces on one machine, with a network between them.
//!
//! Each has a network, a name, a `/tmp` and a `/dev/shm` of its own. Launchers reach the second
//! host through a script in place of ssh. Processes are visible from outside, so that tests clean
//! up as always.
//!
//! Both hosts have one kernel and therefore one clock: the true offset between their clocks is 0.

use crate::mpi::Family;
use crate::paths;
use crate::processes::MARK;
use crate::remarks::not_tested;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many hosts there are.
pub const HOSTS: u32 = 2;
/// `$XDG_RUNTIME_DIR` on each host, in its own `/tmp`.
pub const RUNTIME: &str = "/tmp/run";
/// The longest that making a host takes.
const MADE_WITHIN: Duration = Duration::from_secs(60);

/// The hosts. Dropped, they are removed.
#[derive(Debug)]
pub struct Hosts {
    directory: PathBuf,
    /// The process that keeps a host's namespaces alive, for each host.
    keepers: Vec<Child>,
}

/// Whether this machine allows namespaces. Where it does not, that is said.
pub fn possible() -> bool {
    let tried = Command::new("unshare")
        .args([
            "--net",
            "--uts",
            "--ipc",
            "--mount",
            "--propagation",
            "private",
            "true",
        ])
        .output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    not_tested(&format!(
        "jobs over two hosts: this machine forbids namespaces ({why}); run as root"
    ));
    false
}

impl Hosts {
    /// Makes the hosts. Of the machine's `/tmp` they have `directory` in common, and what is
    /// tested.
    pub fn make(directory: &Path) -> Hosts {
        let mut hosts = Hosts {
            directory: directory.to_owned(),
            keepers: Vec::new(),
        };

        let names: String = (0..HOSTS)
            .map(|host| format!("{} {}\n", address(host), name(host)))
            .collect();

        hosts.write("etc-hosts", &format!("127.0.0.1 localhost\n{names}"), 0o644);
        // All are started before the first is waited for: they take their time side by side.
        for host in 0..HOSTS {
            let keeper = hosts.start(host);
            hosts.keepers.push(keeper);
        }
        for host in 0..HOSTS {
            hosts.wait_for(host);
        }

        let [first, second] = [0, 1].map(|host: usize| hosts.keepers[host].id().to_string());
        // Directly into the two networks: nothing of it is ever in the machine's own.
        let cable = [
            "link", "add", "cable", "netns", &first, "type", "veth", "peer", "name", "cable",
            "netns", &second,
        ];
        succeed(Command::new("ip").args(cable));

        for host in 0..HOSTS {
            let address = format!("{}/24", address(host));
            succeed(
                hosts
                    .enter(host, "ip")
                    .args(["addr", "add", &address, "dev", "cable"]),
            );
            succeed(hosts.enter(host, "ip").args(["link", "set", "cable", "up"]));
        }

        for host in 0..HOSTS {
            hosts.wait_for_cable(host);
        }
        // Last, because it names the processes of the hosts.
        hosts.write("agent", &hosts.agent_text(), 0o755);
        hosts
    }

    /// Starts the process of a host, which makes a network, a name and a `/tmp` for itself.
    fn start(&self, host: u32) -> Child {
        // The project and the job's directory are bound below the new `/tmp` before it covers the
        // old one. The file `made-NAME` is the sign of readiness; `sleep` keeps the namespaces, and
        // ends should the test be killed.
        let script = r#"
            set -e
            dir=$1; name=$2; tmp=$dir/tmp-$name
            hostname "$name"
            ip link set lo up
            mkdir -p "$tmp"
            mount -t tmpfs tmpfs "$tmp"
            chmod 1777 "$tmp"
            mkdir -m 700 "$tmp/run"
            shift 2
            for both in "$dir" "$@"; do
                mkdir -p "$tmp${both#/tmp}"
                mount --bind "$both" "$tmp${both#/tmp}"
            done
            mount --bind "$dir/etc-hosts" /etc/hosts
            mount -t tmpfs tmpfs /dev/shm
            mount -t sysfs sysfs /sys
            mount --rbind "$tmp" /tmp
            : > "$dir/made-$name"
            exec sleep 600
        "#;
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--uts", "--mount", "--propagation", "private"])
            .args(["bash", "-c", script, "host"])
            .arg(&self.directory)
            .arg(name(host));

        // Where the project itself lies below `/tmp`.
        let project = [paths::root().to_owned(), paths::dist()];
        command.args(project.iter().filter(|place| place.starts_with("/tmp")));
        command
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start unshare: {error}"))
    }

    fn wait_for(&mut self, host: u32) {
        let begun = Instant::now();
        while !self.directory.join(format!("made-{}", name(host))).exists() {
            // A host that cannot be made ends at once: its error is better than a time-out.
            let ended = self.keepers[host as usize]
                .try_wait()
                .expect("the host's process");
            assert!(ended.is_none(), "{} cannot be made: {ended:?}", name(host));
            assert!(begun.elapsed() < MADE_WITHIN, "{} is not made", name(host));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The kernel may take a second to notice that the other end is up, and UCX leaves out what is
    /// not.
    fn wait_for_cable(&self, host: u32) {
        let begun = Instant::now();
        loop {
            let state = self
                .enter(host, "cat")
                .arg("/sys/class/net/cable/operstate")
                .output()
                .expect("cat runs");
            if state.stdout == b"up\n" {
                return;
            }
            assert!(
                begun.elapsed() < MADE_WITHIN,
                "the cable of {} does not come up",
                name(host)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn write(&self, file: &str, text: &str, mode: u32) {
        let path = self.directory.join(file);
        std::fs::write(&path, text).expect("a file of the hosts");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its mode");
    }

    /// The script that launchers call in place of ssh: `agent [-x] HOST COMMAND...`. As with ssh,
    /// little of the environment arrives: what a login there would set, and the mark of the tests.
    fn agent_text(&self) -> String {
        let cases: String = (0..HOSTS)
            .map(|host| {
                format!(
                    "{}) pid={} ;;\n",
                    name(host),
                    self.keepers[host as usize].id()
                )
            })
            .collect();
        format!(
            "#!/bin/sh\n[ \"$1\" = -x ] && shift\n\
             case $1 in\n{cases}*) echo \"no host $1\" >&2; exit 255 ;;\nesac\nshift\n\
             exec nsenter -t $pid -n -u -m -- env -i PATH=\"$PATH\" HOME=\"$HOME\" \
             {MARK}=\"${MARK}\" \
             XDG_STATE_HOME=\"$XDG_STATE_HOME\" XDG_RUNTIME_DIR={RUNTIME} /bin/sh -c \"$*\"\n"
        )
    }

    /// A command on one of the hosts.
    pub fn enter(&self, host: u32, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(self.entering(host)).arg(program);
        command
    }

    /// The arguments of `nsenter` for one of the hosts.
    fn entering(&self, host: u32) -> [String; 6] {
        let pid = self.keepers[host as usize].id().to_string();
        [
            "-t".into(),
            pid,
            "-n".into(),
            "-u".into(),
            "-m".into(),
            "--".into(),
        ]
    }

    /// Words in front of a command that run it on one of the hosts.
    pub fn prefix(&self, host: u32) -> Vec<OsString> {
        let words = std::iter::once("nsenter".to_owned()).chain(self.entering(host));
        words.map(OsString::from).collect()
    }

    /// The launcher's options for so many processes on each host. Open MPI goes over TCP alone.
    pub fn launcher_arguments(
        &self,
        family: Family,
        processes: [u32; HOSTS as usize],
    ) -> Vec<OsString> {
        let [first, second] = processes;

        let slots = format!("{}:{first},{}:{second}", name(0), name(1));
        let agent = self.directory.join("agent").display().to_string();
        let words: Vec<String> = match family {
            // Open MPI passes on only the variables that it is told: those of the test programs.
            Family::Ompi | Family::Ompi5 => [
                "--mca",
                "plm_rsh_agent",
                &agent,
                "--mca",
                "btl",
                "self,tcp",
                "--host",
                &slots,
                "-x",
                "COUNTS_FILE",
                "-x",
                "LOG_DIR",
            ]
            .map(str::to_owned)
            .to_vec(),
            _ => [
                "-launcher",
                "ssh",
                "-launcher-exec",
                &agent,
                "-hosts",
                &slots,
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        words.into_iter().map(OsString::from).collect()
    }

    /// Variables of the launcher. Debian's MPICH 4.0 hangs in `MPI_Finalize` over UCX's TCP by
    /// itself (in two of three bare runs here: some processes wait in its launcher's barrier while
    /// another one still wants an answer from them). So its messages cross by System V memory, the
    /// only one that both hosts share; everything else of it goes by the cable.
    pub fn environment(&self, family: Family) -> Vec<(&'static str, &'static str)> {
        match family {
            Family::Mpich => vec![("UCX_TLS", "self,sysv")],
            _ => Vec::new(),
        }
    }

    /// Files of the job on one of the hosts, below its own [`RUNTIME`], without the cached library
    /// that later jobs preload, too.
    pub fn runtime_files(&self, host: u32) -> Vec<String> {
        let output = self
            .enter(host, "find")
            .args([
                RUNTIME,
                "-mindepth",
                "2",
                "-name",
                ".preload",
                "-prune",
                "-o",
                "-print",
            ])
            .output()
            .expect("find runs");
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for keeper in &mut self.keepers {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

/// A host's name.
pub fn name(host: u32) -> String {
    format!("node{}", host + 1)
}

fn address(host: u32) -> String {
    format!("10.203.77.{}", host + 1)
}

fn succeed(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
