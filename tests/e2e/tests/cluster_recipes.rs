//! The commands of the manual's page on clusters, run as they are printed there.
//!
//! There is no PBS here: its script runs with a file of nodes, as PBS makes it, and with a launcher
//! that reads that file. In place of ssh the hosts of [`hosts`] have a script.

use invivo_e2e::checks;
use invivo_e2e::cluster::hosts::{self, Hosts};
use invivo_e2e::cluster::slurm::{self, Slurm};
use invivo_e2e::job::{environment, turn};
use invivo_e2e::manual;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::processes::{MARK, kill_marked, left_after};
use invivo_e2e::programs::Conversation;
use invivo_e2e::results::report::Report;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

/// The longest that a recipe takes.
const SECONDS: &str = "90";
/// The longest that its processes live on.
const AFTERMATH: Duration = Duration::from_secs(5);

/// Blocks of this language below a heading of the page.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let page = manual::text("docs/manual/clusters.md");
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with(&format!("{heading}\n")))
        .unwrap_or_else(|| panic!("no section {heading}"));
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in section.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(begins)) => open = Some(format!("{begins}\n")),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => *block += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    let begin = format!("{language}\n");
    let wanted = blocks.iter().filter_map(|block| block.strip_prefix(&begin));
    wanted.map(str::to_owned).collect()
}

/// Where a user would be: a directory with `./app`, and `invivo` and `mpiexec` in `PATH`.
struct Desk {
    directory: TempDir,
    mark: String,
    family: Family,
}

impl Desk {
    fn new(family: Family) -> Desk {
        let directory = tempfile::Builder::new().prefix("ivv").tempdir_in("/tmp");
        let directory = directory.expect("a directory");
        let at = |name: &str| directory.path().join(name);
        for name in ["run", "state", "bin"] {
            let made = DirBuilder::new().mode(0o700).create(at(name));
            made.expect("a directory");
        }
        let launcher = Path::new("/usr/bin").join(family.launcher());
        // Hydra starts the proxy that lies beside the launcher as it was found.
        let links: [(PathBuf, &str); 4] = [
            (paths::invivo(), "bin/invivo"),
            (launcher, "bin/mpiexec"),
            ("/usr/bin/hydra_pmi_proxy".into(), "bin/hydra_pmi_proxy"),
            (Conversation::C.command(family).remove(0).into(), "app"),
        ];
        for (file, name) in links {
            symlink(file, at(name)).expect("a link");
        }
        let name = directory.path().file_name().unwrap_or_default();
        let mark = format!("e2e-{}", name.to_string_lossy());
        Desk {
            directory,
            mark,
            family,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command behind these words, which lead to another host, with these variables.
    fn run(
        &self,
        way_there: Vec<OsString>,
        command: &[&str],
        runtime: PathBuf,
        more: &[(&str, OsString)],
    ) -> Output {
        let mut path = self.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut line = Command::new("timeout");
        line.arg(SECONDS).args(way_there).args(["env", "-C"]);
        line.arg(self.directory.path()).args(command);
        line.envs(environment(self.family))
            .env("PATH", path)
            .env(MARK, &self.mark);
        line.env("XDG_RUNTIME_DIR", runtime)
            .env("XDG_STATE_HOME", self.path("state"));
        line.env("XDG_CONFIG_HOME", self.path("state"))
            .env("INVIVO_JOB", &self.mark);
        line.envs(more.iter().cloned());
        let _turn = turn();
        let output = line.output().expect("timeout runs");
        let left = left_after(&self.mark, AFTERMATH);
        kill_marked(&self.mark);
        assert!(
            left.is_empty(),
            "{command:?}: processes outlived the job: {left:?}"
        );
        output
    }

    /// The job that has run was observed, all of it.
    fn assert_observed(&self, what: &str, output: &Output, ranks: u32) {
        let said = [&output.stdout[..], &output.stderr].concat();
        let log = std::fs::read(self.path("slurm.log")).unwrap_or_default();
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&said),
            String::from_utf8_lossy(&log)
        );
        assert!(output.status.success(), "{what}: {}\n{said}", output.status);
        let file = self.path("report.json");
        assert!(file.exists(), "{what}: no report\n{said}");
        let report = Report::read(&file);
        assert_eq!(report.job.ranks, ranks, "{what}");
        checks::complete(&report, ranks);
        std::fs::remove_file(file).expect("removed");
    }
}

/// The three scripts of Slurm, each for the MPI that its protocol is for.
#[test]
#[ignore = "half a minute; jobs of Slurm are tested by others"]
fn the_recipes_of_slurm_run_as_printed() {
    if !slurm::possible() {
        return;
    }
    let slurm = Slurm::with_nodes(4);
    let scripts = blocks("Slurm", "sh");
    assert_eq!(scripts.len(), 3, "with srun, with mpiexec, and by hand");
    for script in scripts {
        for family in Family::ALL {
            if script.contains("--mpi=pmix") && family != Family::Ompi {
                continue;
            }
            let desk = Desk::new(family);
            std::fs::write(desk.path("job.sh"), &script).expect("a script");
            let words = ["sbatch", "--wait", "--output=slurm.log", "job.sh"];
            let more = slurm::environment(family, slurm.nodes(), false);
            let more: Vec<(&str, OsString)> = more
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
            let output = desk.run(slurm.prefix(0), &words, slurm.runtime(), &more);
            desk.assert_observed(&format!("{family:?}: {script}"), &output, 8);
        }
    }
    the_printed_answers_are_given(&slurm);
}

/// What the page shows behind a `$` is what the command prints.
fn the_printed_answers_are_given(slurm: &Slurm) {
    let desk = Desk::new(Family::Ompi);
    let shown = blocks("Several nodes", "");
    let answers = shown
        .iter()
        .filter_map(|block| block.strip_prefix("$ ")?.split_once('\n'));
    let mut seen = 0;
    for (command, answer) in answers {
        let output = desk.run(
            slurm.prefix(0),
            &["sh", "-c", command],
            slurm.runtime(),
            &[],
        );
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        // The page breaks lines, and salloc says more.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat(&said).contains(&flat(answer)),
            "{command}:\n{said}\nnot\n{answer}"
        );
        seen += 1;
    }
    assert_eq!(seen, 3, "two plans, and a job without room");
}

/// Variables by which launchers reach hosts without ssh.
fn without_ssh(directory: &Path, family: Family, made: &Hosts) -> Vec<(&'static str, OsString)> {
    let agent = directory.join("agent");
    let mut more: Vec<(&str, OsString)> = match family.is_open_mpi() {
        true => vec![
            ("OMPI_MCA_plm_rsh_agent", agent.into()),
            ("OMPI_MCA_btl", "self,tcp".into()),
        ],
        false => vec![
            ("HYDRA_LAUNCHER_EXEC", agent.into()),
            ("HYDRA_LAUNCHER", "ssh".into()),
        ],
    };
    let others = made.environment(family).into_iter();
    more.extend(others.map(|(name, value)| (name, value.into())));
    more
}

fn on_hosts(family: Family, script: &str, pbs: bool) {
    let desk = Desk::new(family);
    let made = Hosts::make(desk.directory.path());
    let mut more = without_ssh(desk.directory.path(), family, &made);
    if pbs {
        let nodes: String = (0..hosts::HOSTS)
            .flat_map(|host| vec![format!("{}\n", hosts::name(host)); 3])
            .collect();
        std::fs::write(desk.path("nodes"), nodes).expect("a file of nodes");
        more.push(("PBS_NODEFILE", desk.path("nodes").into()));
        more.push(("PBS_JOBID", "7.server".into()));
        more.push(("PBS_ENVIRONMENT", "PBS_BATCH".into()));
        more.push(("PBS_O_WORKDIR", desk.directory.path().into()));
        more.push(("HYDRA_RMK", "pbs".into()));
    }
    let words = ["sh", "-c", script];
    let output = desk.run(made.prefix(0), &words, hosts::RUNTIME.into(), &more);
    desk.assert_observed(&format!("{family:?}: {script}"), &output, 4);
}

#[test]
fn the_recipes_of_pbs_and_ssh_run_as_printed() {
    if !hosts::possible() {
        return;
    }
    let [pbs] = &blocks("PBS", "sh")[..] else {
        panic!("one script of PBS");
    };
    on_hosts(Family::Mpich, pbs, true);
    let ssh = blocks("Plain ssh", "sh");
    assert_eq!(ssh.len(), 2, "for Hydra and for Open MPI");
    for (script, family) in ssh.iter().zip([Family::Mpich, Family::Ompi]) {
        on_hosts(family, script, false);
    }
}
