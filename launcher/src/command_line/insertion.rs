//! A launcher's command line with Invivo in it: the nodes, the layout, and every word that has to
//! change. Pure, but for files of hosts that `read_file` gives.

use crate::command_line::advice::{explain, is_ours, quoted};
use crate::command_line::allocation;
use crate::command_line::binding;
use crate::command_line::launcher_options::slurm::{Said, scan};
use crate::command_line::launcher_options::{Flavour, Line, LineError, flavour, read, stem};
use crate::command_line::program_file::{self, ProgramFile};
use crate::command_line::room::{self, Problem};
use crate::job::environment::Environment;
use crate::job::slurm_fence;
use crate::job::spread::{Order, Spread};
use crate::mpi::program;
use invivo_tbon::layout::{FanIn, Layout, Policy};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What is known besides the line.
pub struct Surroundings<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// The file that the launcher's name leads to.
    pub launcher: Option<&'a Path>,
    /// Cores of this machine.
    pub cores: u32,
    /// Gives the text of a file.
    pub read_file: &'a dyn Fn(&Path) -> Option<String>,
}

/// A line that can be run.
#[derive(Debug)]
pub struct Prepared {
    /// The line as it was typed, and its words.
    pub line: Line,
    pub words: Vec<OsString>,
    /// The layout of the job.
    pub layout: Layout,
    /// Nodes that every process has to be told, because it might not find them out.
    pub nodes: Option<u32>,
    /// What the launcher has to find in its environment besides.
    pub variable: Option<(&'static str, &'static str)>,
    /// Where every process is to be, for programs in a file on several nodes.
    pub spread: Option<Spread>,
    /// The programs, where they stand in a file.
    programs: Option<ProgramFile>,
    /// Tool processes that are started with each program.
    tools: Vec<u32>,
    /// The line with all changes but the total and the programs.
    changed: Line,
    changed_words: Vec<OsString>,
}

/// Where a word that is changed stands, and what it becomes.
type Change = (usize, OsString);

/// What a launcher has to be told about nodes.
#[derive(Default)]
struct Nodes {
    number: Option<u32>,
    /// Ranks of each, where that is certain.
    ranks: Option<Vec<u32>>,
    /// The option with the number of processes of each node.
    per_node: Option<(u32, usize)>,
    /// Words behind the launcher's name.
    more: Vec<OsString>,
    /// A variable of the launcher.
    variable: Option<(&'static str, &'static str)>,
}

/// The file that the launcher's name leads to.
pub fn resolved(line: &[OsString], path: Option<&OsStr>) -> Option<PathBuf> {
    program::find(line.first()?, path)?.canonicalize().ok()
}

/// Reads a line, finds its nodes, and makes the layout. `nodes` is what the user says of them.
///
/// # Errors
/// A sentence about what to type or to ask for.
pub fn prepare(
    args: &[OsString],
    fan_in: FanIn,
    nodes: Option<u32>,
    around: &Surroundings<'_>,
) -> Result<Prepared, String> {
    let words = counted(args, around)?;
    let wrong = |error: LineError| explain(&error, &words);
    let line = read(&words, around.launcher).map_err(wrong)?;
    let names = names_of_programs(&line, &words, around.read_file);
    if names.iter().any(|name| is_ours(name)) {
        return Err(
            "the line has `invivo` in it already; type it without `invivo exec`, or leave `invivo \
             run --` away"
                .to_owned(),
        );
    }
    let found = match line.flavour {
        Flavour::Slurm => of_srun(&line, &words, nodes, fan_in, around),
        _ => of_mpiexec(&line, &words, nodes, around),
    };
    let found = found.map_err(|problem| problem.to_string())?;

    let policy = match found.number {
        Some(hosts) if hosts > 1 => Policy::PerNode { hosts },
        _ => Policy::Tail,
    };
    let layout =
        Layout::shared_out(line.ranks(), fan_in, policy).map_err(|error| error.to_string())?;
    let is_one_per_node = layout.is_one_per_node();
    let tools = match found.ranks.filter(|_| is_one_per_node) {
        Some(ranks) => line.tools_of_nodes(&ranks),
        None if line.parts.len() > 1 && policy != Policy::Tail => {
            return Err(wrong(LineError::SeveralPrograms));
        }
        None => line.tools_at_the_end(layout.total() - layout.app()),
    };
    if line.flavour == Flavour::Slurm {
        srun_has_room(&words, &layout, around).map_err(|problem| problem.to_string())?;
    }
    let (programs, spread) = match line.names_file {
        false => (None, None),
        true => {
            let programs = ProgramFile::read(&text_of_file(&words, around)?, Some(line.ranks()))?;
            (
                Some(programs),
                spread(&words, &layout, around).map_err(wrong)?,
            )
        }
    };

    let mut changed_words = words.clone();
    if let Some((at, word)) = per_node(&words, line.flavour, &layout, found.per_node) {
        changed_words[at] = word;
    }
    let mut more = found.more;
    if policy == Policy::Tail {
        let (launcher, cores) = (around.launcher, around.cores);
        let tools = layout.total() - layout.app();
        more.extend(binding::kept(
            &line,
            launcher,
            tools,
            cores,
            around.environment,
        ));
    }
    changed_words.splice(1..1, more);
    // Read again: the positions of count and program have moved.
    let changed = read(&changed_words, around.launcher).map_err(wrong)?;
    // With one tool process on each they find out by themselves, and none need be as was planned.
    let told = found.number.filter(|_| line.flavour != Flavour::Slurm);
    let told = nodes.or(told).filter(|hosts| *hosts > 1);
    Ok(Prepared {
        nodes: told.filter(|_| !is_one_per_node),
        spread,
        programs,
        variable: found.variable,
        line,
        words,
        layout,
        tools,
        changed,
        changed_words,
    })
}

impl Prepared {
    /// The line to run, with `inserted` before every program.
    pub fn real(&self, inserted: &[OsString]) -> Vec<OsString> {
        self.changed
            .extended(&self.changed_words, &self.tools, inserted)
    }

    /// What has to stand in the file of programs, where there is one.
    ///
    /// # Errors
    /// When Slurm would not read it.
    pub fn file(&self, inserted: &[OsString]) -> Result<Option<String>, String> {
        let file = self.programs.as_ref();
        file.map(|file| file.extended(self.layout.total(), self.spread, inserted))
            .transpose()
    }

    /// The line to run where that text stands in the file `file`.
    pub fn real_with_file(&self, file: &OsStr) -> Vec<OsString> {
        let mut line = self.real(&[]);
        // Nothing was inserted: the file is where it was.
        if let Some(part) = self.changed.parts.first() {
            line[part.program.start] = file.to_owned();
        }
        line
    }

    /// The same to type into a shell.
    ///
    /// # Errors
    /// As [`Prepared::file`].
    pub fn typed(&self, inserted: &[OsString]) -> Result<String, String> {
        let with_variable = |line: &[OsString]| match self.variable {
            Some((name, value)) => format!("{name}={value} {}", quoted(line)),
            None => quoted(line),
        };
        let Some(text) = self.file(inserted)? else {
            return Ok(with_variable(&self.real(inserted)));
        };
        let line = with_variable(&self.real_with_file(OsStr::new(FILE)));
        Ok(format!("cat >{FILE} <<'END'\n{text}END\n{line}"))
    }
}

/// The name of the file of programs in lines to type.
const FILE: &str = "FILE";

/// The names of the programs of a line, those in a file included.
pub fn names_of_programs(
    line: &Line,
    words: &[OsString],
    read_file: &dyn Fn(&Path) -> Option<String>,
) -> Vec<OsString> {
    let typed = line.programs(words).filter_map(|program| program.first());
    match line.names_file {
        false => typed.cloned().collect(),
        true => typed
            .filter_map(|file| read_file(Path::new(file)))
            .flat_map(|text| program_file::names(&text))
            .collect(),
    }
}

/// The text of the file of programs of an `srun`.
fn text_of_file(words: &[OsString], around: &Surroundings<'_>) -> Result<String, String> {
    let (_, at) = scan(words).map_err(|error| explain(&error, words))?;
    (around.read_file)(Path::new(&words[at]))
        .ok_or_else(|| format!("cannot read {}, the file of programs", words[at].display()))
}

/// Where the processes of an `srun` will be; nothing on one node, whose last ones are the tools.
fn spread(
    words: &[OsString],
    layout: &Layout,
    around: &Surroundings<'_>,
) -> Result<Option<Spread>, LineError> {
    if layout.hosts() == 1 {
        return Ok(None);
    }
    let (options, _) = scan(words)?;
    let distribution = options.iter().rfind(|said| said.name == "distribution");
    let order = order(&distribution_of(distribution, around));
    let listed = is_listed(around) || !layout.is_one_per_node();
    let order = order
        .filter(|_| !listed)
        .ok_or(LineError::UnplacedPrograms)?;
    Ok(Some(Spread {
        order,
        processes: layout.total(),
        nodes: layout.hosts(),
    }))
}

/// The order of Slurm's `--distribution`, as far as nodes go.
fn order(distribution: &str) -> Option<Order> {
    let of_nodes = distribution.split([':', ',']).next().unwrap_or_default();
    match of_nodes {
        // Slurm's own choice.
        "" | "*" | "block" => Some(Order::Block),
        "cyclic" => Some(Order::Cyclic),
        other => Some(Order::Plane(other.strip_prefix("plane=")?.parse().ok()?)),
    }
}

/// The option for processes of each node, with the tool processes.
fn per_node(
    words: &[OsString],
    flavour: Flavour,
    layout: &Layout,
    found: Option<(u32, usize)>,
) -> Option<Change> {
    let (number, at) = found?;
    let each = match (layout.hosts(), flavour) {
        (1, _) => layout.total(),
        // To `srun` the number is a limit, and it begins with one on each node.
        (hosts, Flavour::Slurm) => layout.total().div_ceil(hosts),
        // Others fill one node after the other.
        (..) if layout.is_one_per_node() => number.checked_add(1)?,
        (hosts, _) => layout.total().div_ceil(hosts),
    };
    let argument = words.get(at)?.to_str()?;
    let before = argument.strip_suffix(&number.to_string())?;
    Some((at, format!("{before}{each}").into()))
}

/// The nodes of an `mpiexec`.
fn of_mpiexec(
    line: &Line,
    words: &[OsString],
    said: Option<u32>,
    around: &Surroundings<'_>,
) -> Result<Nodes, Problem> {
    let per_node = allocation::per_node(line, words);
    let nodes = |number| Nodes {
        number,
        per_node,
        ..Nodes::default()
    };
    if said.is_some() {
        return Ok(nodes(said));
    }
    let read = |path: &Path| (around.read_file)(path);
    let Some(found) = allocation::of_mpiexec(line, words, around.environment, read) else {
        return Ok(nodes(None));
    };
    // Where it may crowd the nodes, or where that is not known.
    let options = &words[..line.parts[0].program.start];
    let has = |names: &[&str]| {
        let name = |word: &OsString| word.to_str().and_then(stem).map(str::to_owned);
        let mut all = options.iter().filter_map(name);
        all.any(|option| names.iter().any(|name| option == *name))
    };
    let set = around.environment.keys().any(|name| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"OMPI_MCA_rmaps") || name.starts_with(b"PRTE_MCA_rmaps")
    });
    let crowded = set || has(&["oversubscribe", "mca", "gmca", "prtemca"]);
    let ranks = line.ranks();
    let each = per_node.map(|(each, _)| each);
    let used = room::nodes_of_mpiexec(&found, line.flavour, ranks, each, crowded)?;
    // Open MPI's parameters may place them otherwise, on the same nodes.
    let places = |name: &[u8]| {
        let has = |part: &[u8]| name.windows(part.len()).any(|found| found == part);
        has(b"rmaps") && !has(b"oversubscribe")
    };
    let mut names = around.environment.keys().chain(options);
    let is_placed = names.any(|name| places(name.as_encoded_bytes()));
    Ok(Nodes {
        ranks: used.ranks.filter(|_| !is_placed),
        ..nodes(Some(used.number))
    })
}

/// The nodes of an `srun`.
fn of_srun(
    line: &Line,
    words: &[OsString],
    said: Option<u32>,
    fan_in: FanIn,
    around: &Surroundings<'_>,
) -> Result<Nodes, Problem> {
    let (options, _) = scan(words).unwrap_or_default();
    let option = |name: &str| options.iter().rfind(|said| said.name == name);
    let per_node = option("ntasks-per-node").and_then(|said| Some((number(said)?, said.at)));
    let typed = match option("nodes") {
        Some(said) => Some(number(said).ok_or_else(|| Problem::Range {
            nodes: said.value.clone(),
        })?),
        None => None,
    };
    let of_job = variable(around, "SLURM_NNODES").filter(|_| in_slurm(around));
    let needed = per_node.map(|(each, _)| line.ranks().div_ceil(each.max(1)));
    // Slurm uses no more nodes than there are tasks.
    let nodes = said.or(typed).or(of_job).or(needed);
    let number = nodes.map(|nodes| nodes.min(line.ranks()));

    let mut more = Vec::new();
    // With one process more, Slurm would take one node more of its allocation.
    if let (Some(number), Some(all), None) = (number, of_job, typed)
        && number < all
    {
        more.push(format!("--nodes={number}").into());
    }
    // The allocation's number of tasks would be taken for the step's, and does not fit it any more.
    let of_tasks = variable(around, "SLURM_NTASKS_PER_NODE").is_some();
    // Without one, Slurm may give the first node all processes but one on each of the others, which
    // is no room for a rank and the tool process.
    let crowds = number.is_some_and(|hosts| hosts > 1)
        && fan_in.is_one_per_node()
        && !places_itself(option("distribution"), around);
    if let (Some(hosts), None, true) = (number, per_node, of_tasks || crowds) {
        let each = line.ranks().div_ceil(hosts) + 1;
        more.push(format!("--ntasks-per-node={each}").into());
    }
    let protocol = option("mpi").map(|said| said.value.as_str());
    Ok(Nodes {
        number,
        per_node,
        more,
        ranks: None,
        variable: slurm_fence::variable(around.environment, protocol, number),
    })
}

/// Whether the user says which node has which process.
fn places_itself(distribution: Option<&Said>, around: &Surroundings<'_>) -> bool {
    let said = distribution_of(distribution, around);
    is_listed(around) || said.starts_with("arbitrary") || said.starts_with("plane")
}

/// What the line or the environment says of the order, or nothing.
fn distribution_of(said: Option<&Said>, around: &Surroundings<'_>) -> String {
    let default = around.environment.get(OsStr::new("SLURM_DISTRIBUTION"));
    match (said, default) {
        (Some(said), _) => said.value.clone(),
        (None, default) => default.map_or(String::new(), |text| text.to_string_lossy().into()),
    }
}

/// Whether a list says which node has which process.
fn is_listed(around: &Surroundings<'_>) -> bool {
    let list = OsStr::new("SLURM_HOSTFILE");
    around.environment.contains_key(list)
}

/// Whether a step of this layout has room in its allocation, where there is one.
fn srun_has_room(
    words: &[OsString],
    layout: &Layout,
    around: &Surroundings<'_>,
) -> Result<(), Problem> {
    let (options, _) = scan(words).unwrap_or_default();
    let overcommit = options.iter().any(|said| said.name == "overcommit")
        || around
            .environment
            .contains_key(OsStr::new("SLURM_OVERCOMMIT"));
    let per_task = options.iter().rfind(|said| said.name == "cpus-per-task");
    let per_task = per_task
        .and_then(number)
        .or_else(|| variable(around, "SLURM_CPUS_PER_TASK"));
    match allocation::of_slurm(around.environment, per_task.unwrap_or(1)) {
        Some(found) if !overcommit => room::of_srun(layout, &found),
        _ => Ok(()),
    }
}

/// The words with the number of ranks: an `srun` without one takes its allocation's.
fn counted(args: &[OsString], around: &Surroundings<'_>) -> Result<Vec<OsString>, String> {
    let mut words = args.to_vec();
    let is_srun = args
        .first()
        .is_some_and(|name| flavour(name, around.launcher) == Some(Flavour::Slurm));
    if !is_srun {
        return Ok(words);
    }
    let (options, _) = scan(args).map_err(|error| explain(&error, args))?;
    let of = |name: &str| {
        options
            .iter()
            .find(|said| said.name == name)
            .and_then(number)
    };
    if options.iter().any(|said| said.name == "ntasks") {
        return Ok(words);
    }
    let job = |name: &str| variable(around, name).filter(|_| in_slurm(around));
    let nodes = of("nodes").or_else(|| job("SLURM_NNODES"));
    let each = of("ntasks-per-node");
    let names_file = options.iter().any(|said| said.name == "multi-prog");
    let of_nodes = nodes.map(|nodes: u32| nodes.saturating_mul(each.unwrap_or(1)));
    // A file of programs says how many there are, where nothing else does.
    let of_nodes = of_nodes.filter(|_| !names_file || each.is_some());
    let said = job("SLURM_NTASKS").or(of_nodes);
    let count = match said {
        None if names_file => Some(ProgramFile::read(&text_of_file(args, around)?, None)?.ranks()),
        said => said,
    };
    if let Some(count) = count {
        words.splice(1..1, ["-n".into(), count.to_string().into()]);
    }
    Ok(words)
}

fn number(said: &Said) -> Option<u32> {
    said.value.parse().ok()
}

fn variable(around: &Surroundings<'_>, name: &str) -> Option<u32> {
    let value = around.environment.get(OsStr::new(name))?;
    value.to_str()?.parse().ok()
}

fn in_slurm(around: &Surroundings<'_>) -> bool {
    around.environment.contains_key(OsStr::new("SLURM_JOB_ID"))
}

#[cfg(test)]
mod tests;
