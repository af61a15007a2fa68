# Made by `cargo xtask generate` from proto/gateway.proto. Do not edit.
"""What a gateway answers, a class for each message, as `--json` prints them.

Units are part of the names: `_ns` is nanoseconds, `_bytes` is bytes; a plain number is a count.
Points in time are job time, those named `unix` are since 1970. `None` is what does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._answer import Answer


@dataclass(frozen=True)
class HelloReply(Answer):
    """Version, capabilities and job of the gateway."""

    gateway_version: str
    """Version of the gateway, as in "0.1.0"."""
    capabilities: list[str]
    """What this gateway can do, in lower-case words: "status", "watch", "functions", "call-sites",
    "regions", "iterations", "matrix", "messages", "wait-states", "grid", "hang", "stacks",
    "profile", "pause", "resume", "hold", "reset", "record", "record-window", "shutdown",
    "strategy", "analyses", "sampling", "selection", "metrics", "overhead", "buffers", "records",
    "timeline", "save", "audit", "invite", "revoke"."""
    scope: str
    """The scope of the caller's token: "view" or "control"."""
    job: Job | None
    """The job; absent while the root is not connected."""
    root_connected: bool
    """Whether the root is connected now. While it is not, calls that need it answer UNAVAILABLE."""


@dataclass(frozen=True)
class Job(Answer):
    """The running job."""

    id: str
    """The job's id."""
    ranks: int
    """Ranks of the application."""
    places: int
    """Tool places: processes that receive the ranks' events."""
    nodes: int
    """Processes that are analysis nodes, the root included; none where tool places are all of it.
    """
    family: str
    """Family of the MPI library: "ompi" or "mpich"."""
    library: str
    """The MPI library's own version line."""
    observation: Observation | None
    """Set where nothing runs and a saved observation answers: what it is of."""


@dataclass(frozen=True)
class Observation(Answer):
    """A saved observation that is open."""

    from_ns: int
    """Its begin, in job time, in ns."""
    to_ns: int
    """Its end, in job time, in ns."""
    saved_unix_ns: int
    """When it was saved, in ns since 1970."""
    calls: int
    """Calls in it."""
    reduced: int
    """Calls of the run that the buffers had given up when it was saved: no answer has them."""


@dataclass(frozen=True)
class Coverage(Answer):
    """How complete an answer is. Every view carries it."""

    ranks: int
    """Ranks of the job."""
    ranks_reporting: int
    """Ranks included in this answer."""
    members_missing: int
    """Tool processes that did not answer in time or are lost."""
    lag_ns: int
    """Age of the oldest record that is not analysed yet, in ns: how far this answer may lag behind.
    """
    ledger: Ledger
    """Account of all records."""
    overhead_ns: int
    """Time that the ranks spent in Invivo's code, in ns summed over ranks (measured on some calls
    and regions, and extrapolated), and in the kernel's for samples (estimated from their number).
    """
    tool_cpu_ns: int
    """CPU time of the tool processes, and of what samples and measures ranks, in ns."""
    packets_mpi: int
    """Packets of events that came over MPI."""
    packets_shm: int
    """Packets or parts of packets read from shared memory."""
    payload_bytes: int
    """Bytes of decoded records."""
    packets_refused: int
    """Packets refused as malformed."""
    buffer_bytes: int
    """Bytes of the event buffers' memory."""
    missing: list[int]
    """Tool processes that did not answer, by their number in the whole MPI job; at most 16 are
    named."""
    overhead_regions_ns: int
    """The part of overhead_ns that was for regions of the program, in ns."""
    overhead_samples_ns: int
    """The part of overhead_ns that was for samples, in ns."""
    observer_cpu_ns: int
    """The part of tool_cpu_ns that was of what samples and measures ranks, in ns."""
    displaced_ns: int
    """The part of tool_cpu_ns that ranks lacked, because no processor was free for it, in ns."""


@dataclass(frozen=True)
class Ledger(Answer):
    """Account of the records, in calls: entered = open + in_flight + kept + reduced + all kinds of
    dropped + reset + not_selected."""

    entered: int
    """Calls counted when entered, independently of all other counts."""
    open: int
    """Entered and not left."""
    in_flight: int
    """Left, and their record not decoded yet."""
    kept: int
    """In a buffer."""
    reduced: int
    """Reduced: given up by a buffer to stay within its size. The analyses have counted them."""
    dropped: DroppedByShim
    """Dropped in the application's process: never recorded in full."""
    dropped_by_place: int
    """Dropped by the tool place: no memory left for buffers, or malformed."""
    reset: int
    """Discarded by a reset."""
    not_selected: int
    """Not recorded, because calls of their functions are not selected."""


@dataclass(frozen=True)
class DroppedByShim(Answer):
    """Calls whose records were dropped in the application's process, by reason."""

    no_packet: int
    """No packet was free, and the time for which the application may be delayed was used up."""
    no_location: int
    """More threads than the process has locations for."""


@dataclass(frozen=True)
class StatusReply(Answer):
    """State of the ranks and of the recording."""

    coverage: Coverage
    """How complete this answer is."""
    status: JobStatus
    """State of the job."""


@dataclass(frozen=True)
class JobStatus(Answer):
    """The status of a job. Its size does not grow with the job."""

    ranks: RankCounts
    """Number of ranks by state."""
    named: list[RankStatus]
    """Some ranks, the least time in MPI first: the others wait for those. Of more than 32 the 16
    with the least and the 16 with the most."""
    pause: PauseStatus | None
    """The current pause, if any."""
    observed_ns: int
    """Time since the first rank had initialised MPI or was first observed, in ns."""
    notes: list[str]
    """Sentences about what went wrong, each once; at most 20, of which the last says that there
    were more."""
    recording: RecordingStatus
    """Whether and since when calls are recorded."""
    analyses: list[AnalysisStatus]
    """Which analyses are on, and when they were off."""
    governance: Governance | None
    """How the overhead is kept below its cap; absent where it never had one."""
    measuring: Measuring | None
    """What is measured beside MPI calls; absent behind the end of the measurement, and of a saved
    observation."""


@dataclass(frozen=True)
class Measuring(Answer):
    """What is measured beside MPI calls: by the commands that were done, without what is given up
    to keep the overhead below its cap."""

    sampling_frequency: int
    """Samples a second of each thread's time on a processor, at most: where the buffers' strategy
    thins samples, ranks are sampled less often. 0 where none are taken."""
    metrics: list[str]
    """Names of the metrics that are read."""
    metrics_interval_ns: int
    """Time from one reading of metrics to the next, in ns; 0 where none are read."""
    selection_rules: int
    """Rules of the selection in force; where there are none, all regions and MPI functions are
    recorded."""
    sampling_by_timer: bool
    """Samples are taken by a timer in each rank instead of perf events of the kernel."""


@dataclass(frozen=True)
class Governance(Answer):
    """How the measurement's overhead is kept below its cap."""

    cap: float | None
    """The cap, as a share of the ranks' time; absent where there is none any longer."""
    share: float | None
    """The overhead when it was last looked at, as a share of the ranks' time; absent before."""
    given_up: list[str]
    """What is given up now, in sentences, in the order in which it is given up."""
    decided: list[str]
    """Commands by which a user has decided since the cap was set: what they are about is not
    touched."""
    is_exhausted: bool
    """The overhead is above the cap, and nothing that may be given up would save it."""
    events: list[GovernanceEvent]
    """What was done lately, the oldest first; at most 16."""


@dataclass(frozen=True)
class GovernanceEvent(Answer):
    """Something that was done to keep the overhead below its cap."""

    at_ns: int
    """When, in job time, in ns."""
    sentence: str
    """A sentence."""


@dataclass(frozen=True)
class AnalysesReply(Answer):
    """All analyses that can be switched."""

    coverage: Coverage
    """How complete this answer is."""
    analyses: list[AnalysisStatus]
    """One entry for each."""


@dataclass(frozen=True)
class AnalysisStatus(Answer):
    """Whether an analysis is on. Points in time are job time."""

    name: str
    """"functions", "matrix", "messages", "heatmap", "sites", "waitstates" or "regions"."""
    answers: str
    """What it answers, in words."""
    on: int
    """Ranks whose calls it gets."""
    off: int
    """Ranks whose calls it does not get: what they do is missing in its answers."""
    since_ns: int
    """When it was last switched; 0 is the start of the job."""
    off_intervals: list[OffInterval]
    """When it was off, from where the answers begin (the last reset or start of a window): the last
    8 intervals, oldest first. Calls that ended in them are missing in its answers."""
    earlier_intervals: int
    """Number of intervals before these."""
    earlier_off_ns: int
    """Their length in all, in ns."""
    now_ns: int
    """Job time of this answer."""
    cost_ns: float
    """What it costs a tool place for each call, in ns, as the benchmark of the manual measured it;
    other machines take other times."""


@dataclass(frozen=True)
class OffInterval(Answer):
    """An interval in which an analysis was off."""

    from_ns: int
    """Begin; 0 is the start of the job."""
    to_ns: int | None
    """End; absent while the analysis is off."""


@dataclass(frozen=True)
class RecordingStatus(Answer):
    """Whether and since when calls are recorded. Points in time are job time."""

    on: int
    """Ranks whose calls are recorded."""
    off: int
    """Ranks whose calls are not recorded."""
    since_ns: int
    """Begin of the recorded time: the last reset or start of a window; 0 is the start of the job.
    """
    now_ns: int
    """Job time of this answer."""
    clock_error_ns: int
    """Largest error of a tool place's job time, in ns."""
    window: WindowStatus | None
    """The last window, if there was one."""
    shut_down: bool
    """The measurement was shut down."""


@dataclass(frozen=True)
class WindowStatus(Answer):
    """A window of recording."""

    command_id: int
    """The command that started it."""
    from_ns: int
    """Start, in job time."""
    to_ns: int
    """End, in job time."""
    complete: int
    """Ranks of which all records in the window have arrived."""


@dataclass(frozen=True)
class RankCounts(Answer):
    """Number of ranks by state."""

    starting: int
    """Before MPI_Init is complete."""
    computing: int
    """In the application's own code."""
    in_mpi: int
    """In an MPI call."""
    paused: int
    """Held by a pause."""
    finished: int
    """After MPI_Finalize, or ended."""
    held: int
    """Held right behind MPI_Init."""


@dataclass(frozen=True)
class RankStatus(Answer):
    """State of one rank."""

    rank: int
    """Rank in MPI_COMM_WORLD."""
    state: str
    """Current state."""
    function: str
    """The current MPI function, or the last one; empty before the first call."""
    since_ns: int
    """For how long it has been in its state, in ns."""
    entered: int
    """Calls entered since the last reset."""
    mpi_ns: int
    """Time in MPI since then without initialisation, in ns."""


@dataclass(frozen=True)
class PauseStatus(Answer):
    """The current pause."""

    command_id: int
    """The command that started it."""
    lease_left_ns: int
    """Remaining lease, in ns."""


@dataclass(frozen=True)
class Snapshot(Answer):
    """The job at one moment."""

    sequence: int
    """Increases from snapshot to snapshot; a gap means that snapshots were skipped. Starts again
    when the gateway is restarted."""
    unix_ns: int
    """When the snapshot was taken, in ns since 1970 (the gateway's clock)."""
    coverage: Coverage
    """How complete this answer is."""
    status: JobStatus
    """State of the job."""
    functions: list[FunctionRow]
    """The function table, the function with the most time first; empty unless requested."""


@dataclass(frozen=True)
class TableInterval(Answer):
    """The interval that a table is of. Tool places keep what they counted in pieces of the run: the
    last minute in pieces of about a second, what is older in pieces of a sixty-fourth of the run or
    shorter. A table is of all pieces that the requested interval touches. A call belongs to the
    piece in which it ended, with all of its time; time in a region to that in which the next record
    of its thread was taken. Where there are many rows, pieces are wider. A begin of 1 ns alone
    requests all of the run up to now."""

    from_ns: int
    """Where the first of these pieces begins, in ns since the beginning of the observed time."""
    to_ns: int
    """Where the last of these pieces ends, in ns since the beginning of the observed time."""


@dataclass(frozen=True)
class FunctionsReply(Answer):
    """The function table."""

    coverage: Coverage
    """How complete this answer is."""
    rows: list[FunctionRow]
    """All ranks together, the function with the most time first."""
    rank_rows: list[FunctionRow]
    """By rank and function, the row with the most time first; empty unless requested."""
    rank_rows_total: int
    """Number of rows per rank and function, including those not sent."""
    analysis: AnalysisStatus
    """Whether the table is kept, and when it was not."""
    interval: TableInterval | None
    """The interval that the table is of, where one was requested; absent if nothing of it is kept.
    """
    call_sites: AnalysisStatus | None
    """Where distributions are not of all calls: whether the call sites, with which they are kept,
    are on, and when they were not."""


@dataclass(frozen=True)
class FunctionRow(Answer):
    """Calls of one MPI function."""

    function: str
    """The function's C name."""
    rank: int | None
    """The rank; absent where the row is all ranks together."""
    calls: int
    """Number of calls."""
    time_ns: int
    """Time in them, in ns summed over calls (and ranks)."""
    mean_ns: float
    """Mean duration of a call, in ns."""
    stddev_ns: float
    """Standard deviation of the durations (of the calls themselves, not of a sample), in ns."""
    min_ns: int
    """The shortest call, in ns."""
    max_ns: int
    """The longest call, in ns."""
    max_rank: int
    """The rank that had the longest call."""
    bytes_out: int
    """Bytes sent: messages when they were posted, and the rank's share of collectives."""
    bytes_in: int
    """Bytes received, counted at completion."""
    clipped: int
    """Calls of which only the part after or before a cut (reset, window) is counted."""
    durations: Distribution | None
    """Their durations, in ns. They are kept with the call sites: where one of the two tables was
    off for a time their number is not that of the calls. Absent where there are none, and in rows
    by rank."""
    sizes: Distribution | None
    """What each operation moved, in bytes: the larger of what the rank sent and received in it.
    Messages may be empty; other operations that move nothing are not counted. Absent where there
    are none."""


@dataclass(frozen=True)
class Distribution(Answer):
    """How values are distributed. They are counted in bins of a sixteenth of the value or less;
    where there would be more than 128 bins, all are twice as wide, as often as it takes. A quantile
    of durations is the middle of the bin in which it lies, one of sizes the least value of the bin.
    """

    count: int
    """Number of values."""
    p50: int
    """Half of the values are not larger."""
    p90: int
    """90 % of the values are not larger."""
    p99: int
    """99 % of the values are not larger."""
    bins: list[HistogramBin]
    """The bins that hold values, from small to large, where histograms were requested."""
    error: float
    """By how much of its value each of these quantiles may be off, 0 to 1: 0.032 or less for
    durations in the finest bins, 0 where bins hold one value."""


@dataclass(frozen=True)
class HistogramBin(Answer):
    """Values that are close to each other."""

    least: int
    """The least value that belongs to it."""
    most: int
    """The greatest value that belongs to it."""
    count: int
    """Number of values."""


@dataclass(frozen=True)
class CallSitesReply(Answer):
    """Calls by where in the program they are made."""

    coverage: Coverage
    """How complete this answer is."""
    rows: list[CallSiteRow]
    """All ranks together, the row with the most time first."""
    rows_left_out: int
    """Number of rows that are not sent. A site that was left out for some ranks and not for others
    counts for each group of them."""
    left_out: FunctionRow
    """The sums of these rows; its function is empty."""
    rows_unnamed: int
    """Number of rows whose names did not come in time; they are in the next answer."""
    analysis: AnalysisStatus
    """Whether the table is kept, and when it was not."""
    waits_left_out: WaitStateRow
    """Wait states in calls of the rows that are not sent, all together."""
    wait_states: AnalysisStatus
    """Whether wait states are looked for, and when they were not."""
    messages: AnalysisStatus
    """The same of the matching of messages, which finds late senders and receivers."""
    interval: TableInterval | None
    """The interval that the table is of, where one was requested; absent if nothing of it is kept.
    """


@dataclass(frozen=True)
class CallSiteRow(Answer):
    """Calls of one MPI function at one place in the program."""

    kind: str
    """"code": in a file. "nowhere": in code that is in no file. "others": at one of the places that
    ranks met when they had numbered 4096. "not noted": made while nobody wanted to know where."""
    file: str
    """The name of the file, a program or a library."""
    offset: int
    """An address within the call instruction, as the file was linked for."""
    build_id: str
    """The file's build id in hexadecimal digits; empty if it has none."""
    functions: list[CodeFunction]
    """The functions at that address: the innermost first, of those that were inlined there. Empty
    if nothing is known."""
    ranks: int
    """Number of ranks that made the calls."""
    calls: FunctionRow
    """The calls."""
    waits: list[SiteWaitRow]
    """Wait states in these calls, the longest first. Sums over all rows, those that are not sent
    included, are those of WaitStates."""


@dataclass(frozen=True)
class SiteWaitRow(Answer):
    """Waiting in one way in calls at one place in the program."""

    wait_state: str
    """The wait state, by Scalasca's name."""
    waits: int
    """Calls that waited."""
    time_ns: int
    """For how long, in ns."""
    max_ns: int
    """The longest, in ns."""
    max_rank: int
    """The rank that had the longest."""
    causers: list[Causer]
    """The ranks that were waited for longest, that with the most first, at most 4; none where
    nobody is waited for."""
    part_of: str
    """The wait state that this one is a part of, by name, so that its time is in that one's row as
    well; empty: of none."""


@dataclass(frozen=True)
class Causer(Answer):
    """A rank for which others waited."""

    rank: int
    """The rank."""
    time_ns: int
    """For how long at least, in ns, summed over those that waited. Exact where no more than 4 ranks
    were waited for; else short of it by a fifth of the row's time at most."""


@dataclass(frozen=True)
class CodeFunction(Answer):
    """A function of a program."""

    function: str
    """Its name; empty if the file does not have it."""
    line: str
    """The source line as "solve.c:42"; empty if the file has no line tables."""


@dataclass(frozen=True)
class IterationsReply(Answer):
    """Loops of the program, found without marks: call sites that ranks come to again and again, by
    way of the same call sites. Of call sites that are come to equally often in the same time one
    stands for all."""

    coverage: Coverage
    """How complete this answer is."""
    rows: list[LoopRow]
    """Those of which a rank has three iterations or more, with twice as many usual ones as others
    at least, and whose usual ones have a hundredth of the time or more; at most 32. The one with
    the longest iterations first."""
    analysis: AnalysisStatus
    """Whether call sites are counted, which iterations are found with, and when they were not."""
    interval: TableInterval | None
    """The interval that the answer is of, where one was requested; absent if nothing of it is kept.
    """
    begin_ns: int
    """When the observed time begins, in job time."""


@dataclass(frozen=True)
class LoopRow(Answer):
    """One loop. An iteration of a rank goes from one call at its site to the next; times are
    without pauses. Points in time are in ns since the beginning of the observed time."""

    begin: CallSiteRow
    """The call with which an iteration begins, and all calls there."""
    bursts: bool
    """It begins with the first of several calls there that follow each other closely, as those to
    all neighbours do; otherwise with each."""
    places: int
    """Number of call sites that are come to equally often in the same time, this one included."""
    ranks: int
    """Number of ranks that iterate."""
    iterations_min: int
    """The fewest iterations of one of them, usual ones and others."""
    iterations_max: int
    """The most iterations of one of them, usual ones and others."""
    usual: int
    """Usual iterations of all ranks: those that come to the call sites that most come to."""
    time_ns: int
    """Their time, summed over ranks, in ns."""
    mean_ns: float
    """Mean length of a usual iteration, in ns."""
    stddev_ns: float
    """Standard deviation of their lengths (of these themselves, not of a sample), in ns."""
    min_ns: int
    """The shortest, in ns."""
    max_ns: int
    """The longest, in ns."""
    max_rank: int
    """The rank that had the longest."""
    max_from_ns: int
    """Begin of the longest; with its end, which is later than its length where the job was paused.
    """
    first_from_ns: int
    """Begin of the first usual one."""
    last_from_ns: int
    """Begin of the last usual one."""
    last_to_ns: int
    """End of the last usual one."""
    others: int
    """Iterations of all ranks that come to other call sites, or not to all of these, as a time step
    that writes a checkpoint."""
    others_ns: int
    """Their time, summed over ranks, in ns."""
    share: float
    """Share of the time of its ranks in which they were in usual iterations. The time is that of
    the call site whose iterations, usual ones and others, take most of it."""
    max_to_ns: int
    """End of the longest."""


@dataclass(frozen=True)
class RegionsReply(Answer):
    """Time by region of the program. Times are sums over threads and ranks, without pauses and
    without what was not recorded. Regions that are open count with what their threads have recorded
    so far."""

    coverage: Coverage
    """How complete this answer is."""
    rows: list[RegionRow]
    """All ranks together, the row with the most own time first."""
    rows_left_out: int
    """Number of rows that are not sent. A region that was left out for some ranks and not for
    others counts for each group of them."""
    left_out: RegionRow
    """The sums of these rows; its kind is empty, and a rank counts for each of its rows. Their
    times overlap, but for own_ns and own_mpi_ns."""
    rows_unnamed: int
    """Number of rows whose names did not come in time; they are in the next answer."""
    dropped: int
    """Number of times that a region was entered or left and that was not recorded, because no
    packet was free; since the start of the job, as the next two."""
    repaired: int
    """Number of regions that were not left by themselves (by a jump over them, or in the wrong
    order), and of such that were to be left and were not open."""
    too_deep: int
    """Number of regions that were entered more deeply than is recorded, below 256 open ones."""
    analysis: AnalysisStatus
    """Whether the table is kept, and when it was not."""
    interval: TableInterval | None
    """The interval that the table is of, where one was requested; absent if nothing of it is kept.
    """


@dataclass(frozen=True)
class RegionRow(Answer):
    """One region of the program."""

    kind: str
    """"marked": a stretch that the program marks by a name. "code": an instrumented function in a
    file. "nowhere": one in no file. "others": all those that ranks met when they had numbered 8192.
    """
    name: str
    """The name that the program gave; empty if it is not marked."""
    file: str
    """Of a function the name of its file, a program or a library."""
    offset: int
    """Where it begins, as the file was linked for."""
    build_id: str
    """The file's build id in hexadecimal digits; empty if it has none."""
    functions: list[CodeFunction]
    """The functions at that address: the innermost first, of those that were inlined there. Empty
    if nothing is known."""
    visits: int
    """How often it was entered."""
    time_ns: int
    """Time in it or below it, in ns. Of a region that calls itself the outermost counts alone."""
    own_ns: int
    """Time in it and in no region below it, in ns."""
    mpi_ns: int
    """Of time_ns, time in MPI."""
    own_mpi_ns: int
    """Of own_ns, time in MPI."""
    ranks: int
    """Number of ranks that were in it."""
    max_rank: int
    """The rank that has the most time in it or below it."""
    max_ns: int
    """That time, in ns."""
    min_rank: int
    """The rank of these that has the least."""
    min_ns: int
    """That time, in ns."""
    off_ranks: int
    """Number of ranks on which it is not recorded now, because it is not selected."""


@dataclass(frozen=True)
class MatrixReply(Answer):
    """The point-to-point communication matrix."""

    coverage: Coverage
    """How complete this answer is."""
    ranks: int
    """Ranks of the job."""
    block_ranks: int
    """Ranks per block; 1 is the exact matrix. Block b holds the ranks from b * block_ranks on."""
    cells: list[MatrixCell]
    """The cells with traffic, by source and then by destination."""
    unresolved: Traffic
    """Traffic whose peer is not known; it is in no cell."""
    analysis: AnalysisStatus
    """Whether the matrix is kept, and when it was not."""
    outside: Traffic
    """Traffic on communicators with processes outside of the job (spawned, or connected); it is in
    no cell."""
    interval: TableInterval | None
    """The interval that the matrix is of, where one was requested; absent if nothing of it is kept.
    """


@dataclass(frozen=True)
class MatrixCell(Answer):
    """Traffic from one block of ranks to another."""

    source: int
    """Block of the senders (with blocks of one rank: the rank)."""
    destination: int
    """Block of the receivers."""
    sent: Traffic
    """Counted by the senders."""
    received: Traffic
    """Counted by the receivers; less than sent while messages are in flight."""


@dataclass(frozen=True)
class Traffic(Answer):
    """Messages and bytes of one direction."""

    messages: int
    """Number of messages."""
    bytes: int
    """Sum of their bytes."""


@dataclass(frozen=True)
class GridReply(Answer):
    """What the ranks did over time. Columns are as wide as the run and the number of columns make
    them: 2^20 ns times a power of two."""

    coverage: Coverage
    """How complete this answer is."""
    metric: str
    """What cells are about, as in the request."""
    unit: str
    """The unit of values, such as "ns", "calls" or "bytes"; empty where only the program knows it.
    """
    ranks: int
    """Ranks of the job."""
    block_ranks: int
    """Ranks per row. Row r holds the ranks from r * block_ranks on."""
    from_ns: int
    """When the first column begins, in ns since the beginning of the observed time; negative where
    it begins before that."""
    width_ns: int
    """Width of a column, in ns."""
    columns: int
    """Number of columns."""
    rows: list[GridRow]
    """The rows with ranks that report, by their numbers."""
    ranks_unresolved: int
    """Ranks in no cell, because their tool place resolves time less finely than the columns."""
    clock_error_ns: int
    """How far the tool places' job time may be off, in ns: how well columns of different nodes
    match."""
    observed_ns: int
    """How long the job has been observed, in ns."""
    begin_ns: int
    """When the observed time begins, in job time."""
    efficiency: Efficiency | None
    """Of computing: the efficiencies over the whole interval, if anything was recorded."""
    efficiencies: list[ColumnEfficiency]
    """Of computing: the efficiencies in each column, of all ranks; absent where nothing was
    recorded."""
    analysis: AnalysisStatus
    """Whether this is kept, and when it was not; absent for a metric that is measured."""
    absolute: bool
    """Values are what the metric was at the time, as memory is: a cell has the mean over its time
    of each rank, summed over ranks. Otherwise it has what was added in its time."""


@dataclass(frozen=True)
class Efficiency(Answer):
    """Efficiencies as the POP project defines them, where computing is recorded time outside of
    MPI."""

    parallel_efficiency: float
    """Computing over recorded time: the product of the other two."""
    load_balance: float
    """The mean of computing over that of the rank that computed longest."""
    communication_efficiency: float
    """Computing of that rank over its recorded time (the mean of all ranks')."""
    max_rank: int
    """The rank that computed longest."""
    min_rank: int
    """The rank that computed shortest."""
    ranks: int
    """Ranks that count."""


@dataclass(frozen=True)
class ColumnEfficiency(Answer):
    """The efficiencies in one column."""

    column: int
    """Number of the column, from 0."""
    efficiency: Efficiency
    """Those of all ranks in it."""


@dataclass(frozen=True)
class GridRow(Answer):
    """What neighbouring ranks did over time."""

    row: int
    """Number of the row."""
    cells: list[GridCell]
    """A cell for each column."""
    total: GridCell
    """All columns as one: the least and greatest value are those of ranks over the whole interval.
    """


@dataclass(frozen=True)
class GridCell(Answer):
    """What the ranks of a row did in a column."""

    ranks: int
    """Ranks that were recorded in it, if only for a part of it; the others are not counted below.
    """
    recorded_ns: int
    """How long they were recorded, in ns summed over ranks: without pauses, and without what lies
    outside of the recording. 0: nothing is known."""
    sum: int
    """The sum of their values."""
    min: int
    """The least value of a rank."""
    min_rank: int
    """Whose it is: of equal ones the lowest rank's."""
    max: int
    """The greatest value of a rank."""
    max_rank: int
    """Whose it is."""


@dataclass(frozen=True)
class MessagesReply(Answer):
    """Point-to-point messages since the start of the job, the last reset, or the start of the
    window."""

    coverage: Coverage
    """How complete this answer is."""
    sent: Traffic
    """Sends that were posted."""
    received: Traffic
    """Receives that are complete."""
    matched: Traffic
    """Pairs of a send and its receive. Sends without a match are in flight, not received yet, or
    lost."""
    unmatched: Unmatched
    """Sends and receives that will never be matched, by reason."""
    transfer: Durations
    """From the begin of the send to the end of the call that completed the receive."""
    late_sender: Durations
    """The wait state Late Sender: from the begin of the call that completed the receive to the
    begin of the send, for pairs in which the receiver was first."""
    untimed: int
    """Pairs without times: a pause or a cut lay between their begin and their end."""
    clock_error_ns: int
    """Largest error of a tool place's job time, in ns. Times between ranks of one node do not
    depend on it; those between two nodes may be off by twice that."""
    analysis: AnalysisStatus
    """Whether messages are matched, and when they were not."""
    interval: TableInterval | None
    """The interval that the answer is of, where one was requested; absent if nothing of it is kept.
    """


@dataclass(frozen=True)
class Unmatched(Answer):
    """Sends and receives that will never be matched."""

    unresolved: int
    """The communicator or its members are not known (yet)."""
    limit: int
    """Given up because a queue was full."""
    cut: int
    """The other endpoint lies before a reset or window, after a window, or in another epoch of
    recording."""
    missing: int
    """The record of the other endpoint is missing."""
    outside: int
    """On a communicator with processes outside of the job (spawned, or connected)."""


@dataclass(frozen=True)
class Durations(Answer):
    """A set of durations."""

    count: int
    """Number of durations."""
    sum_ns: int
    """Their sum, in ns."""
    mean_ns: float
    """Their mean, in ns."""
    stddev_ns: float
    """Their standard deviation, in ns."""
    min_ns: int
    """The shortest, in ns; 0 of none."""
    max_ns: int
    """The longest, in ns."""
    max_rank: int
    """The rank that had the longest."""


@dataclass(frozen=True)
class WaitStatesReply(Answer):
    """Waiting with a cause, since the start of the job, the last reset, or the start of the window.
    Wait states have Scalasca's names and definitions."""

    coverage: Coverage
    """How complete this answer is."""
    rows: list[WaitStateRow]
    """All ranks together, by wait state and MPI function, the longest first."""
    ranks: list[RankWaits]
    """Ranks that waited, or made others wait, those with the most of both first."""
    ranks_total: int
    """Ranks that waited or made others wait; more than there are rows."""
    communicators: list[CommunicatorWaits]
    """By communicator, the one with the most waiting first."""
    communicators_left_out: WaitStateRow
    """Waits on communicators that there is no room for."""
    unblamed_ns: int
    """Waiting whose causer could not be told of it, in ns: it is in no rank's `caused_ns`. That for
    late receivers whose sender could not be told is in it, too, and in no row."""
    calls: CollectiveCalls
    """What became of calls of collectives."""
    clock_error_ns: int
    """How far the clocks of two nodes may have been apart, in ns, where members of a collective are
    on both; a wait that is not longer than twice that is not claimed."""
    analysis: AnalysisStatus
    """Whether wait states are looked for, and when they were not."""
    messages: AnalysisStatus
    """The same of the matching of messages, which finds late senders and receivers."""
    interval: TableInterval | None
    """The interval that the table is of, where one was requested; absent if nothing of it is kept.
    """


@dataclass(frozen=True)
class WaitStateRow(Answer):
    """Waits of one kind."""

    wait_state: str
    """The wait state, by Scalasca's name."""
    function: str
    """The MPI function in which it was waited; empty where rows are not by function."""
    waits: int
    """Calls that waited."""
    time_ns: int
    """For how long, in ns."""
    max_ns: int
    """The longest, in ns."""
    max_rank: int
    """The rank that had the longest."""
    part_of: str
    """The wait state that this one is a part of, by name, so that its time is in that one's row as
    well; empty: of none."""


@dataclass(frozen=True)
class RankWaits(Answer):
    """What one rank waited, and made others wait."""

    rank: int
    """The rank."""
    waited_ns: int
    """For how long it waited, in ns."""
    caused_ns: int
    """For how long others waited for it, in ns, summed over them."""
    rows: list[RankWaitRow]
    """The same by wait state and function."""


@dataclass(frozen=True)
class RankWaitRow(Answer):
    """What one rank waited, and made others wait, in one way."""

    wait_state: str
    """The wait state, by Scalasca's name."""
    function: str
    """The MPI function in which it waited, or the others did."""
    waits: int
    """Its calls that waited."""
    time_ns: int
    """For how long, in ns."""
    caused_waits: int
    """Calls of others that waited for it."""
    caused_ns: int
    """For how long these waited, in ns."""
    part_of: str
    """The wait state that this one is a part of, by name, so that its time is in that one's row as
    well; empty: of none."""


@dataclass(frozen=True)
class CommunicatorWaits(Answer):
    """Waits on one communicator."""

    communicator: str
    """"MPI_COMM_WORLD", or the communicator's number in the job."""
    rows: list[WaitStateRow]
    """By wait state."""


@dataclass(frozen=True)
class CollectiveCalls(Answer):
    """Calls of collectives: each is met by those of the other members. A non-blocking one is a call
    when it is completed."""

    met: int
    """All members came."""
    untimed: int
    """All members came, and a pause or a cut touches one of them: they have no times."""
    open: int
    """Others are to come, or their records are missing."""
    limit: int
    """Given up for want of room; late receivers of non-blocking sends that could not be told count
    as well."""
    unresolved: int
    """The communicator is not known."""
    outside: int
    """On intercommunicators, or with processes outside of the job: not followed."""


@dataclass(frozen=True)
class SelectionRule(Answer):
    """A rule of the selection."""

    include: bool
    """What it fits is recorded, or is not."""
    fits: str
    """What it fits: a pattern of names of regions ("solve*") or of MPI functions ("MPI_Test*"), of
    source files without folders ("source:*.f90"), of programs and libraries ("module:libm*"); a
    group of MPI functions ("group:coll"); or regions that take less than a time on average once
    they were entered so often ("shorter:1us@10000"). Patterns have *, ? and [a-z]."""


@dataclass(frozen=True)
class SelectionReply(Answer):
    """What is recorded. Numbers of regions are sums over ranks."""

    rules: list[SelectionRuleStatus]
    """The rules in force, in their order."""
    regions_on: int
    """Regions that are recorded."""
    regions_off: int
    """Regions that are not."""
    regions_undecided: int
    """Regions whose names are still looked up."""
    functions_off: list[str]
    """MPI functions whose calls are not recorded; calls that complete a request are all the same.
    """
    functions_kept: list[str]
    """MPI functions that the rules leave out, and that are recorded all the same: without them no
    message could be followed."""
    calls_off: int
    """MPI calls without a record because of the rules, since the start of the job."""
    since_ns: int
    """Since when the rules are in force, in job time, in ns; 0 is the start of the job."""
    ranks_differing: int
    """Number of ranks on which other rules are in force."""
    coverage: Coverage
    """How complete the answer is."""


@dataclass(frozen=True)
class SelectionRuleStatus(Answer):
    """A rule in force."""

    rule: SelectionRule
    """As it was given."""
    regions: int
    """Regions for which it decides."""


@dataclass(frozen=True)
class MetricsReply(Answer):
    """What is measured, and what could be."""

    coverage: Coverage
    """How complete the answer is."""
    ranks: int
    """Ranks that the answer is about."""
    ranks_measured: int
    """Of these, ranks of which something is measured now."""
    interval_min_ns: int
    """Time between readings, the shortest of any rank, in ns; 0 where nothing is measured."""
    interval_max_ns: int
    """The longest of any rank."""
    readings: int
    """Readings so far, summed over ranks."""
    cost_ns: int
    """Time on a processor that they took, in ns, summed over ranks."""
    metrics: list[MetricStatus]
    """Metrics: all of the system's, and what programs keep, at most 64."""
    more: bool
    """Counters or values of the program are left out, or found no room in their rank."""
    ranks_program: int
    """Of the ranks of which something is measured, those of which what their program keeps is."""
    threads_unseen: int
    """Threads that are not seen in metrics of threads, because there is no room for so many:
    descriptors of their supervisors, and 256 of a rank. Summed over ranks."""


@dataclass(frozen=True)
class MetricStatus(Answer):
    """A metric among the ranks."""

    name: str
    """As in GridRequest: "page-faults", or "counter:NAME" and "value:NAME" for what a program adds
    up and sets."""
    unit: str
    """The unit of its values; empty where only the program knows it."""
    absolute: bool
    """It is what it is at each time, as memory is; otherwise it is added up, as faults are."""
    tells: str
    """What it tells; empty for a program's."""
    ranks_now: int
    """Ranks of which it is measured now."""
    ranks_kept: int
    """Ranks of which there are values."""
    without: list[MetricWithout]
    """Why it cannot be measured of others."""


@dataclass(frozen=True)
class MetricWithout(Answer):
    """Ranks of which a metric cannot be measured."""

    reason: str
    """"unsupported" (the machine or its kernel does not count it), "forbidden" (by the kernel),
    "unreadable" (what /proc has of the process), "no room" (memory or descriptors), "starting" (not
    in MPI_Init yet), "ended", "silent" (its supervisor did not answer in time)."""
    ranks: int
    """Number of ranks."""
    which: str
    """The ranks, in the syntax of StacksNode.which: the lowest of them."""
    paranoid: int
    """Of "forbidden": the value of kernel.perf_event_paranoid."""


@dataclass(frozen=True)
class BuffersReply(Answer):
    """The buffers of all ranks together. Points in time are job time."""

    coverage: Coverage
    """How complete this answer is."""
    strategies: list[StrategyInForce]
    """Strategies in use, with their number of ranks: more than one only where a change was refused.
    At most 8."""
    locations: int
    """Locations (threads of ranks) with a buffer."""
    without: int
    """Locations without a buffer, because the memory for buffers is used up: their calls are
    analysed and not kept."""
    recycled: int
    """Buffers of ended threads that were reused for other threads."""
    bytes: int
    """Bytes of the buffers' memory."""
    bytes_used: int
    """Of these, bytes that hold records."""
    bins: int
    """Bins: the units of memory that are given up as a whole."""
    bins_used: int
    """Of these, bins that hold records."""
    stored: int
    """Calls stored so far."""
    kept: int
    """Calls that the buffers hold now."""
    parts_reduced: int
    """Parts of kept calls (messages, requests) left out for want of space."""
    bytes_per_call: float
    """Mean bytes of a kept record: of a call with its parts, or of a sample where there are some.
    """
    span: Spans
    """From the oldest kept call to the newest, by location."""
    complete: Spans
    """Length of the gapless history up to the newest kept call, by location."""
    levels: list[BufferLevel]
    """Levels in the order in which they are given up."""
    losses: list[BufferLoss]
    """Lost records by level, class and reason."""
    named: list[LocationBuffer]
    """The locations with the shortest complete history; at most 32."""
    reductions: int
    """Number of reductions so far: a level gave up its oldest bin or all bins."""
    capped: BufferCaps | None
    """Buffers in which events have reached their cap; absent if there is none."""
    thinned: ThinnedSamples | None
    """How far samples are thinned; absent if no strategy thins them."""
    regions: BufferBooks | None
    """Where visits of regions are; absent if there are none. All numbers above are of calls alone,
    but those of levels, losses and bytes."""
    samples: BufferBooks | None
    """Where samples are; absent if there are none. Dropped are those of threads without a buffer as
    well, and those for which their sampler had no room."""


@dataclass(frozen=True)
class ThinnedSamples(Answer):
    """How far samples are thinned: each halving gives up every second sample, and from then on the
    rank takes only every second one."""

    locations: int
    """Locations whose strategy thins samples."""
    untold: int
    """Of these, locations whose rank does not know its current number of halvings yet."""
    least: int
    """The fewest halvings of a buffer."""
    most: int
    """The most halvings of a buffer."""


@dataclass(frozen=True)
class Halvings(Answer):
    """Halvings of one location's sampling frequency."""

    buffer: int
    """Halvings in the buffer."""
    known: int
    """Halvings that the rank has confirmed."""


@dataclass(frozen=True)
class BufferCaps(Answer):
    """Buffers that dropped all events (records other than samples) at their cap."""

    buffers: int
    """Number of buffers."""
    first_ns: int
    """When the first of them did."""
    last_ns: int
    """When the last of them did."""


@dataclass(frozen=True)
class StrategyInForce(Answer):
    """A strategy and its number of ranks."""

    strategy: str
    """In the syntax of SetStrategy."""
    ranks: int
    """Number of ranks."""


@dataclass(frozen=True)
class Location(Answer):
    """A thread of a rank."""

    rank: int
    """Rank in MPI_COMM_WORLD."""
    thread: int
    """The thread, 0 for the one that initialised MPI."""


@dataclass(frozen=True)
class Spans(Answer):
    """Statistics over the locations, of one time each."""

    mean_ns: int
    """Their mean in ns."""
    min_ns: int
    """The shortest in ns."""
    max_ns: int
    """The longest in ns."""
    shortest: Location | None
    """The location with the shortest."""


@dataclass(frozen=True)
class BufferLevel(Answer):
    """One level, summed over buffers."""

    holds: str
    """Content, in words."""
    former: bool
    """The level belongs to an earlier strategy: it takes no records and is given up first."""
    shorter_than_log2_ticks: int | None
    """For levels by duration: records are shorter than 2^this ticks of their node's clock; else
    absent."""
    iteration_log2: int | None
    """For levels by iteration: 2^this is the highest power of two that divides the iteration's
    number; else absent."""
    closed: int
    """Buffers in which the level takes no more records."""
    bins: int
    """Number of bins."""
    kept: int
    """Calls and samples that the level holds."""
    given_up: int
    """Calls and samples given up (including earlier strategies' levels with the same content)."""
    gone_until_ns: int | None
    """End of the last one given up; absent if there is none."""


@dataclass(frozen=True)
class BufferLoss(Answer):
    """Lost records of one level, class and reason."""

    level: str
    """The level's content, in words."""
    class_: str
    """"call", "region", "sample" or "metric"."""
    reason: str
    """In words."""
    records: int
    """Number of records."""
    first_ns: int
    """End of the earliest."""
    last_ns: int
    """End of the latest."""


@dataclass(frozen=True)
class BufferBooks(Answer):
    """Account of one buffer's records: stored = kept + reduced + dropped + reset."""

    stored: int
    """Stored so far."""
    kept: int
    """In the buffer now."""
    reduced: int
    """Given up by reduction."""
    dropped: int
    """Dropped: no space while a view was held for a save."""
    reset: int
    """Discarded by a reset."""
    parts_reduced: int
    """Parts of kept calls left out for want of space."""


@dataclass(frozen=True)
class LocationBuffer(Answer):
    """One location's buffer."""

    location: Location
    """Location of the buffer."""
    bins: int
    """Number of bins."""
    bins_used: int
    """Of these, bins that hold records."""
    bytes_used: int
    """Bytes of records."""
    books: BufferBooks
    """Account of its records."""
    span_ns: int
    """From the oldest record to the newest, in ns."""
    complete_ns: int
    """Length of the gapless history up to the newest record, in ns."""
    reductions: int
    """Number of reductions so far."""
    capped_ns: int | None
    """When events reached their cap and were dropped, in job time; absent where they have not."""
    halvings: Halvings | None
    """Halvings of its sampling frequency; absent if its strategy does not thin samples."""


@dataclass(frozen=True)
class RecordsCursor(Answer):
    """A position in the order of records. It stays valid while older records are given up."""

    end_ticks: int
    """End of the last call sent, in ticks."""
    given: int
    """Calls with this end that were sent already."""


@dataclass(frozen=True)
class RecordsReply(Answer):
    """A page of calls and samples."""

    coverage: Coverage
    """How complete this answer is."""
    location: Location
    """Location of the records."""
    records: list[CallRecord]
    """The calls and visits of regions, in order of their ends."""
    next: RecordsCursor | None
    """Begin of the next page; absent after the last call."""
    books: BufferBooks
    """Account of the buffer's records."""
    losses: list[BufferLoss]
    """Lost records by level, class and reason."""
    gone_until_ns: int | None
    """Nothing that ended after this job time is missing; absent if nothing was ever given up."""
    not_kept: int | None
    """Number of calls not kept because the location has, or for a while had, no buffer."""
    broken: bool
    """The buffer's memory was corrupt, which is a fault of Invivo: the records end here."""
    samples: list[SampleRecord]
    """The samples, in order of time. Calls and samples share the page, which holds all of both in
    its time."""
    contexts: list[CallingContext]
    """Calling contexts of the samples, with their callers."""


@dataclass(frozen=True)
class SampleRecord(Answer):
    """One sample."""

    at_ns: int
    """In job time."""
    at_ticks: int
    """In ticks of its node's clock, as recorded."""
    ordinal: int
    """Number of the sample in units of the first interval, from 1; after n halvings a multiple of
    2^n."""
    context: int
    """The calling context's number; 0 if it is not known."""
    values: list[int]
    """Values of its counters."""
    function: str
    """The function that the thread was in, "[kernel]" for the kernel; of a function that its file
    does not name, the file; empty if it is not known."""
    occupant: int
    """Which of the threads that have the location one after the other it is of, counted from 0."""


@dataclass(frozen=True)
class CallRecord(Answer):
    """One call of an MPI function, or one visit of a region of the program."""

    function: str
    """The function's C name, or the region's name; empty if only parts of the call are left."""
    end_ns: int
    """Return of the call, in job time."""
    duration_ns: int
    """Duration of the call, in ns."""
    end_ticks: int
    """Return of the call, in ticks of its node's clock, as recorded."""
    duration_ticks: int
    """Duration of the call, in ticks of its node's clock."""
    facts: CallFacts
    """Its communication."""
    ordinal: int
    """Number of the collective on its communicator, counted from 0."""
    request: int
    """Number of the request that it posted."""
    clipped: bool
    """Clipped: its begin or end was moved to a cut (reset, window)."""
    parts: list[CallPart]
    """Further messages, requests posted or completed."""
    parts_left_out: int
    """Parts for which the page has no space."""
    occupant: int
    """Which of the threads that have the location one after the other made it, counted from 0."""
    depth: int
    """Regions of the program that were open around it; 255 stands for more."""


@dataclass(frozen=True)
class CallFacts(Answer):
    """The communication of a call or of a part of it."""

    kind: str
    """"call", "send", "receive", "post send", "post receive", "collective", "post collective",
    "sent", "received", "collective done" or "ended"; "region" for a visit of a region."""
    comm: int | None
    """The communicator as the rank numbers it: 0 is MPI_COMM_WORLD; absent if there is none."""
    peer: int
    """The peer or the root, as a rank of the communicator; negative if there is none."""
    tag: int
    """Tag of the message."""
    bytes_out: int
    """Bytes that left the rank."""
    bytes_in: int
    """Bytes that came to the rank."""


@dataclass(frozen=True)
class CallPart(Answer):
    """A part of a call."""

    function: str
    """The function's C name; for the completion of a request, the function that posted it."""
    facts: CallFacts
    """Its communication."""
    request: int
    """The number of the request that it posted or completed."""
    posted_ticks: int
    """Posting of a completed request, in ticks."""


@dataclass(frozen=True)
class TimelinePage(Answer):
    """Some locations of a timeline, in the order of ranks and threads."""

    from_ns: int
    """Begin of the interval, in job time."""
    to_ns: int
    """End of the interval, in job time: the time of the request."""
    ranks: int
    """Ranks of the job."""
    pieces: list[LocationPiece]
    """One entry for each location."""
    clock_error_ns: int
    """How far the job time of these calls may be off, in ns: 0 on the root's node."""
    missing: list[int]
    """Tool processes that did not answer, by their number in the whole MPI job: their records are
    missing."""


@dataclass(frozen=True)
class LocationPiece(Answer):
    """One location's part of a page."""

    location: Location
    """Location of the calls."""
    calls: list[CallRecord]
    """Calls and visits of regions that overlap the interval, in order of their ends."""
    complete: bool
    """All calls of the location have been sent. The fields below are set only here."""
    comms: list[Membership]
    """Communicators of these calls, as far as they are known."""
    peers: list[PeerRank]
    """Ranks of these calls' peers, as far as they are known."""
    open: OpenCall | None
    """The current call."""
    state: str
    """State of the rank: "starting", "computing", "in MPI", "paused", "finished" or "held"."""
    ledger: Ledger
    """Account of the calls so far."""
    books: BufferBooks
    """Account of the buffer's records."""
    losses: list[BufferLoss]
    """Records that the buffer lost, by level, class and reason."""
    gone_until_ns: int | None
    """Nothing that ended after this job time is missing; absent if nothing was ever given up."""
    not_kept: int | None
    """Number of calls not kept because the location has, or for a while had, no buffer."""
    left_out: int
    """Older calls of the interval, left out because of calls_max."""
    broken: bool
    """The buffer's memory was corrupt, which is a fault of Invivo: calls are missing."""
    regions: list[RegionName]
    """With a save, and the rank's first location: the regions that the rank has met."""
    region_books: BufferBooks
    """Account of the buffer's visits of regions."""
    open_regions: list[OpenCall]
    """Regions that the location is in, the outermost first."""
    samples: list[SampleRecord]
    """Samples of the interval, in order of time."""
    contexts: list[CallingContext]
    """Calling contexts of these samples, with their callers; with a save, and the rank's first
    location, all that the rank has met."""
    sample_books: BufferBooks
    """Account of the buffer's samples."""


@dataclass(frozen=True)
class CallingContext(Answer):
    """What the number of a calling context stands for in the samples of one rank: a function with
    the functions that called it."""

    number: int
    """As samples of this rank carry it, from 1."""
    parent: int
    """Number of the caller's context, which is lower; 0 if there is no caller."""
    kind: str
    """As in StacksNode."""
    function: str
    """As in StacksNode."""
    module: str
    """As in StacksNode; "[kernel]" for time in the kernel."""


@dataclass(frozen=True)
class RegionName(Answer):
    """What the number of a region stands for in the records of one rank."""

    number: int
    """As visits of this rank carry it."""
    name: str
    """As the program marks it, or the function's; of a function that its file does not name, the
    file and the address in it."""
    line: str
    """The source line at which a function begins; empty where that is not known."""
    function: bool
    """It is a function, not a stretch that the program marks."""


@dataclass(frozen=True)
class SavePage(Answer):
    """Some locations of a save. All of it is of one moment: places hold what their buffers hold
    when the first page is asked for."""

    from_ns: int
    """Begin of the interval, in job time; bins may hold older calls. 0 without an interval: all
    that the buffers hold."""
    to_ns: int
    """End of the interval, in job time: calls that began later do not belong to it."""
    ranks: int
    """Ranks of the job."""
    locations_total: int
    """Locations that are saved."""
    bytes_total: int
    """Bytes of their bins."""
    pieces: list[SavedPiece]
    """Locations of this page."""
    groups: list[CommGroup]
    """Members of communicators, as far as the place of this page knows them; the same may come
    again."""
    host: str
    """Where the ranks of this page run."""
    clock_error_ns: int
    """How far the job time of these calls may be off, in ns: 0 on the root's node."""
    missing: list[int]
    """Tool processes that did not answer, by their number in the whole MPI job: their records are
    missing."""
    last: bool
    """This was the last page: a stream that ends without it was cut off."""
    observed_from_ns: int
    """Since when the job was observed, in job time, in ns."""


@dataclass(frozen=True)
class SavedPiece(Answer):
    """One location's part of a page."""

    location: Location
    """Location of the bins."""
    about: LocationPiece | None
    """With the location's first piece: what is known of it, without calls. Communicators stand with
    the rank's first location, for all of them."""
    clock: list[ClockPoint]
    """With the first piece: what ticks stand for."""
    comms_left_out: int
    """With the first piece: communicators of the rank that are not told, because there are too
    many."""
    bins: list[SavedBin]
    """Bins of its buffer, one chain after the other, each from its oldest bin on."""
    complete: bool
    """All bins of the location have been sent."""
    cut: bool
    """The buffer went to another thread meanwhile: bins are missing."""
    pauses: list[PauseInterval]
    """With the first piece of a rank: when it was paused. The newest 64; one in force ends with the
    save."""
    paces: list[SamplingPace]
    """With the first piece of a rank: how often it was sampled when. The newest 64."""


@dataclass(frozen=True)
class SamplingPace(Answer):
    """Since when samples of a rank stand for how much time."""

    since_ns: int
    """In job time, in ns."""
    unit_ns: int
    """What a unit of their ordinals stands for, in ns on a processor; 0 while there are none."""


@dataclass(frozen=True)
class PauseInterval(Answer):
    """A stretch of job time in which a rank was paused."""

    from_ns: int
    """Begin, in ns."""
    to_ns: int
    """End, in ns."""


@dataclass(frozen=True)
class ClockPoint(Answer):
    """A tick of a node's clock, and the job time that it stands for. Between two of them it is a
    straight line."""

    ticks: int
    """The node's clock, in its ticks."""
    job_ns: int
    """In ns."""


@dataclass(frozen=True)
class SavedBin(Answer):
    """A bin of a buffer, in the bytes of `otfx`: it can be decoded alone."""

    chain: int
    """The chain that it belongs to."""
    content: bytes
    """Its bytes."""


@dataclass(frozen=True)
class CommGroup(Answer):
    """Members of a communicator."""

    name: CommName
    """Whose members these are."""
    pieces: list[CommGroupPiece]
    """The members, or the part of them that the answering place knows."""


@dataclass(frozen=True)
class CommGroupPiece(Answer):
    """Neighbouring members, from one rank of the communicator on."""

    start: int
    """Rank in the communicator of the first of them."""
    runs: list[RankRun]
    """The ranks of the world, in the order of the communicator."""


@dataclass(frozen=True)
class RankRun(Answer):
    """Ranks of the job at equal distances."""

    first: int
    """The first of them."""
    stride: int
    """From one to the next."""
    count: int
    """How many."""


@dataclass(frozen=True)
class Membership(Answer):
    """A rank's membership in a communicator."""

    comm: int
    """The communicator as the rank numbers it."""
    name: CommName
    """The communicator's name in the job; for an intercommunicator, the local group."""
    peers: CommName
    """The group in which peers are numbered: for an intercommunicator the remote group."""
    rank: int
    """The rank in the communicator."""


@dataclass(frozen=True)
class CommName(Answer):
    """A communicator's name in the whole job."""

    leader: int
    """Its rank 0, as a rank of MPI_COMM_WORLD."""
    counter: int
    """How it was made, unique by the leader; 0 for MPI_COMM_WORLD."""


@dataclass(frozen=True)
class PeerRank(Answer):
    """The rank in MPI_COMM_WORLD of a peer on a communicator."""

    comm: int
    """The communicator as the rank numbers it."""
    peer: int
    """Rank in the communicator."""
    rank: int
    """Rank in MPI_COMM_WORLD."""


@dataclass(frozen=True)
class OpenCall(Answer):
    """A call that was entered and not left."""

    function: str
    """The function's C name, or the region's; empty if recording was off when it was entered."""
    begin_ns: int
    """Enter, in job time."""
    begin_ticks: int
    """Enter, in ticks of its node's clock."""
    occupant: int
    """Which of the threads that have the location one after the other is in it, counted from 0."""
    region: int
    """Of a region: its number in the records of the rank."""


@dataclass(frozen=True)
class AuditEntry(Answer):
    """A control command."""

    sequence: int
    """Number of the entry, from 1; a gap means that older entries were discarded."""
    unix_ns: int
    """Time of the command, in ns since 1970."""
    uid: int | None
    """User id of the caller, from the kernel; absent over TCP."""
    pid: int | None
    """Process id of the caller, from the kernel; absent over TCP."""
    client: str
    """Name that the client gave for itself."""
    command: str
    """"pause", "record-window", ..."""
    command_id: int
    """Id of the command."""
    arguments: str
    """Its arguments in words, such as "lease 600 s"."""
    outcome: str
    """Outcome in words; empty while the command is in progress."""
    peer: str
    """Address of the caller, or "unix"."""


@dataclass(frozen=True)
class InviteReply(Answer):
    """The secret of an invitation."""

    secret: str
    """Valid for one Redeem."""
    valid_ns: int
    """Validity, in ns."""
    url: str
    """The URL with the secret; empty if the gateway does not listen on TCP."""
    guest: int
    """The number of the guest, for Revoke."""


@dataclass(frozen=True)
class RedeemReply(Answer):
    """A token."""

    token: str
    """For the metadata entry authorization."""
    scope: str
    """The token's scope."""


@dataclass(frozen=True)
class GuestsReply(Answer):
    """Who was invited, the first first."""

    guests: list[Guest]
    """One entry for each invitation that was not revoked."""


@dataclass(frozen=True)
class Guest(Answer):
    """Somebody who was invited."""

    number: int
    """For Revoke; from 1 on, and never used again."""
    scope: str
    """"view" or "control"."""
    invited_by: int
    """The guest who made the invitation; 0 if it was made with a token of connect.json."""
    since_unix_ns: int
    """When the invitation was made, in ns since 1970."""
    used: bool
    """The invitation was used: the guest has a token."""


@dataclass(frozen=True)
class RevokeReply(Answer):
    """All guests whose tokens or invitations are gone."""

    guests: list[int]
    """Their numbers: the guest, and whom it had invited."""


@dataclass(frozen=True)
class HangReply(Answer):
    """Which ranks wait for which, and whether they can continue."""

    coverage: Coverage
    """How complete this answer is."""
    verdict: str
    """"computing": no rank waits. "moving": calls are pending that may return. "waiting": ranks
    wait for ranks that compute. "deadlock": ranks can never continue, whatever the others do."""
    sentence: str
    """The verdict as a sentence."""
    stuck: int
    """Ranks that can never continue."""
    quiet_ns: int
    """Time since the last progress of any rank, in ns."""
    findings: list[HangFinding]
    """Why ranks wait, the most important reason first; at most 8."""
    classes: list[HangClass]
    """Ranks grouped by their state."""
    watched: int
    """Ranks whose calls are not recorded (recording is off) and that have not been looked at for a
    second yet: whether they move is not known. The first question begins to look; ask again after a
    second."""


@dataclass(frozen=True)
class HangFinding(Answer):
    """One reason why ranks wait."""

    kind: str
    """"mismatch": different collectives at the same position in a communicator's order. "cycle":
    each of the ranks waits for the next and the last for the first. "finished": a call needs a rank
    that has finished. "missing": a collective lacks ranks. "unmatched": a message lacks its send or
    its receive."""
    collectives: list[HangCollective]
    """The collectives of a mismatch, or the one that lacks ranks."""
    ranks: list[HangRank]
    """The ranks of a cycle in its order; the missing ranks; or one example of the waiting ranks.
    Not all of many."""
    count: int
    """Number of ranks: length of the cycle, missing ranks, or waiting ranks."""


@dataclass(frozen=True)
class HangCollective(Answer):
    """A collective and the ranks that called it."""

    communicator: str
    """"MPI_COMM_WORLD", or the communicator's number in the job."""
    number: int
    """Its number among the collectives of this communicator, counted from 1."""
    function: str
    """The MPI function."""
    root: int | None
    """The root, as a rank of the communicator."""
    ranks: int
    """Number of ranks that called it."""
    named: list[int]
    """The lowest of them, at most 64."""
    site: str
    """Source location of one of them; empty if not known."""


@dataclass(frozen=True)
class HangRank(Answer):
    """A rank and what it waits for."""

    rank: int
    """Rank in MPI_COMM_WORLD."""
    doing: str
    """As in HangClass."""
    function: str
    """The MPI function that it is in; empty if none."""
    since_ns: int
    """Time in this state, in ns."""
    site: str
    """Source location; empty if not known."""
    waits_for: int | None
    """The rank that it waits for."""
    message: HangMessage | None
    """The message that it waits for."""
    threads_in_mpi: int
    """Other threads of the rank that are in MPI, too."""
    threads_outside: int
    """Other threads of the rank that have called MPI and are in the program's own code."""


@dataclass(frozen=True)
class HangMessage(Answer):
    """A message that is not complete."""

    side: str
    """"send", "receive", "probe", "collective" (a non-blocking one), "window" (the peer's part of a
    window) or "other"."""
    peer: int | None
    """The other rank; absent for any."""
    tag: int | None
    """Absent for any tag."""


@dataclass(frozen=True)
class HangClass(Answer):
    """Ranks in the same state."""

    doing: str
    """"starting", "computing", "finished", "held", "in MPI" (no more is known), "messages" (waits
    for messages) or "collective"."""
    function: str
    """The MPI function that they are in; empty if none."""
    ranks: int
    """Number of ranks."""
    named: list[int]
    """The lowest of them, at most 64."""
    shortest_ns: int
    """Time in this state of the rank that entered it last, in ns."""
    longest_ns: int
    """Time in this state of the rank that entered it first, in ns."""
    site: str
    """Source location of one of them; empty if not known."""


@dataclass(frozen=True)
class RankRange(Answer):
    """A range of ranks, both ends included."""

    first: int
    """Lowest rank."""
    last: int
    """Highest rank."""


@dataclass(frozen=True)
class StacksReply(Answer):
    """The current call paths, merged into one tree."""

    coverage: Coverage
    """How complete this answer is."""
    nodes: list[StacksNode]
    """The tree in preorder: each node before its callees, which are deeper by one. At most 2048
    nodes, those near the root first."""
    ways: list[StacksWay]
    """How the paths were obtained, and for which threads there is none."""
    ranks: int
    """Ranks that were requested."""
    threads_left_out: int
    """Threads left out: of ranks with too many, or not reached in time."""
    threads_unnamed: int
    """Threads with a frame whose name was not resolved in time: ask again."""
    longest_stop_ns: int
    """Longest stop of a thread for this, in ns; 0 if none was stopped."""
    longest_stop_rank: int
    """The rank of that thread."""
    without_python: list[StacksWithoutPython]
    """Threads that run Python whose Python functions are not in the tree, and why."""


@dataclass(frozen=True)
class ProfileReply(Answer):
    """Where the ranks spend their time on a processor. Each sample stands for one interval of its
    frequency; times are sums of these."""

    coverage: Coverage
    """How complete this answer is."""
    nodes: list[ProfileNode]
    """The tree in preorder: each node before its callees, which are deeper by one. At most 2048
    nodes, those with the most time."""
    ranks: int
    """Ranks that were requested."""
    sampled_ranks: int
    """Of these, ranks that are or were sampled."""
    without: list[ProfileWithout]
    """Why there are no samples of the others."""
    samples: int
    """Number of samples."""
    samples_lost: int
    """Samples that the kernel had no room for, or for which a timer was late; they are in no node.
    """
    cpu_ns: int
    """Time on a processor that the samples stand for, in ns."""
    elapsed_ns: int
    """Time during which sampling was on, in ns, summed over ranks."""
    sampler_cpu_ns: int
    """Time on a processor that the samplers themselves took, in ns."""
    frequency_min: int
    """The lowest frequency of any rank, in samples a second; 0 if none is sampled."""
    frequency_max: int
    """The highest."""
    ranks_without_kernel: int
    """Ranks whose time in the kernel cannot be seen."""
    samples_unnamed: int
    """Samples with a function whose name is still being read: ask again."""
    left_out_ns: int
    """Time of nodes that are left out, in ns: it is in the nodes above them only."""
    interval: ProfileInterval | None
    """It is of the samples that buffers keep of an interval."""
    ranks_by_timer: int
    """Ranks that are sampled by a timer of their own: time in the kernel counts as the function's
    that called it."""
    ranks_untimed: int
    """Of these, ranks of which some threads have no timer yet, or none any more."""


@dataclass(frozen=True)
class ProfileInterval(Answer):
    """The interval whose samples were taken from buffers, and what is missing of it."""

    from_ns: int
    """Begin, in ns since the beginning of the observed time."""
    to_ns: int
    """End, in ns since the beginning of the observed time."""
    cut_ranks: int
    """Ranks of which some samples of the interval were given up."""
    gone_until_ns: int
    """When the last of these was taken, in ns since the beginning of the observed time: what came
    later is complete; 0 if there are none."""
    samples_not_kept: int
    """Samples since the start that no buffer of these ranks has got, whenever they were taken:
    mostly those of threads that never call MPI."""


@dataclass(frozen=True)
class ProfileNode(Answer):
    """A function below the same callers."""

    depth: int
    """0 has no caller."""
    kind: str
    """As in StacksNode."""
    function: str
    """As in StacksNode."""
    module: str
    """As in StacksNode; "[kernel]" for time in the kernel."""
    ns: int
    """Time here or below, in ns."""
    own_ns: int
    """Time here and not below, in ns."""
    most_rank: int
    """The rank with the most time here or below."""
    most_ns: int
    """Its time, in ns."""
    lines: list[ProfileLine]
    """Source lines in the function with the most time, at most 4."""


@dataclass(frozen=True)
class ProfileLine(Answer):
    """A source line and the time in it or in calls from it."""

    text: str
    """As in StacksLine."""
    ns: int
    """In ns."""


@dataclass(frozen=True)
class ProfileWithout(Answer):
    """Ranks of which there are no samples."""

    reason: str
    """"off", "starting" (not in MPI_Init yet), "ended" (before sampling began), "silent" (its
    supervisor did not answer in time), "forbidden" (by the kernel), "unsupported" (by the kernel),
    "no room" (memory, descriptors or processes), "broken" (the sampler has ended), "not then" (it
    was not sampled in the interval, or its buffers keep no samples), "next call" (timers are set
    when a call of MPI returns), "signal in use" (the program handles the signal of the timers
    itself), "too often" (for timers), "no timers" (the kernel gives none, or not so many),
    "unreadable" (its memory, by what the kernel allows)."""
    ranks: int
    """Number of ranks."""
    which: str
    """The ranks, in the syntax of StacksNode.which."""
    paranoid: int
    """Of "forbidden": the value of kernel.perf_event_paranoid."""


@dataclass(frozen=True)
class StacksNode(Answer):
    """Calls of one function by the same callers."""

    depth: int
    """0 has no caller."""
    kind: str
    """"function"; "python": a Python function; "lost": the callers of the nodes below are not
    known; "left out": frames of a path that is too deep."""
    function: str
    """The function's name in the syntax of its language; empty if its file has no symbol for it."""
    module: str
    """Name of the binary or library, or of the Python source file; empty for code outside any file.
    """
    ranks: int
    """Ranks in this node or below."""
    threads: int
    """Their threads."""
    ends: int
    """Threads whose path ends here. Threads counted neither here nor in a child are in a node that
    was cut off."""
    which: str
    """The lowest of the ranks, at most 128, as "0-3,7"; ends in ",..." if there are more."""
    representative: int
    """The lowest of the ranks, as an example."""
    lines: list[StacksLine]
    """Source lines in the function, at most 4."""


@dataclass(frozen=True)
class StacksLine(Answer):
    """A source line and the number of threads that are there or called from there."""

    text: str
    """As "solve.c:42", or the offset in the file as "+0x1139" if it has no line tables."""
    threads: int
    """Number of threads."""


@dataclass(frozen=True)
class StacksWay(Answer):
    """How the paths of some threads were obtained."""

    way: str
    """"stopped": the thread was stopped for a moment. "asleep": it sleeps in a system call that a
    stop would interrupt, and was read without a stop. "unstopped": it could not be stopped; the
    path holds what is known nevertheless. "missing": no path."""
    reason: str
    """Why it was not stopped: "starting" (not in MPI_Init yet), "ended", "silent" (its supervisor
    did not answer in time), "forbidden" (by the kernel), "traced" (by another program), "in the
    kernel" (did not return in time). Else empty."""
    ranks: int
    """Number of ranks."""
    threads: int
    """A rank of which nothing is known counts as one thread."""
    which: str
    """The ranks, in the syntax of StacksNode.which."""


@dataclass(frozen=True)
class StacksWithoutPython(Answer):
    """Threads whose paths show functions of the Python interpreter instead of those that it
    executes."""

    reason: str
    """"version": how this version of CPython keeps them is not known; "free-threaded": an
    interpreter without a global lock; "no runtime": the interpreter's file does not say where its
    tables are; "unreadable": what stands in the tables makes no sense."""
    version: str
    """The version, as "3.15", where it is the reason. Else empty."""
    ranks: int
    """Number of ranks."""
    threads: int
    """Number of threads."""
    which: str
    """The ranks, in the syntax of StacksNode.which."""


@dataclass(frozen=True)
class CommandReply(Answer):
    """Outcome of a command. It is complete only if done equals targets."""

    command_id: int
    """The command's id, chosen by the gateway if the client gave none."""
    targets: int
    """Ranks that the command addresses."""
    done: int
    """Ranks on which it is done."""
    held_in_mpi: int
    """Of these, ranks in an MPI call: they are held when they leave it."""
    partly: int
    """Of these, ranks of which some threads still run."""
    slowest: SlowestRank | None
    """The rank that took longest; absent if no rank answered."""
    failures: list[CommandFailure]
    """Ranks on which it is not done; at most 16 are named."""
    missing: list[int]
    """Tool processes that did not answer, by their number in the whole MPI job; their ranks are not
    in done."""
    took_ns: int
    """Time from the gateway's request to the last acknowledgement, in ns."""
    lease_ns: int
    """For a pause or hold: its lease, in ns."""
    from_: Cut | None
    """Position of a reset, a switch of recording or the start of a window on the ranks."""
    to: Cut | None
    """Position of the end of a window on the ranks."""
    complete_ns: int
    """For a window: job time at which all its records had arrived."""
    clipped: int
    """Calls that straddle a cut: they are clipped and marked."""
    open: int
    """Calls that were still open when the window was complete."""


@dataclass(frozen=True)
class Cut(Answer):
    """Position of a cut: the same job time on all ranks if every tool place received the command in
    time."""

    earliest_ns: int
    """The earliest of any tool place, in job time."""
    latest_ns: int
    """The latest of any tool place, in job time; later than the earliest only if a place received
    the command too late."""
    error_ns: int
    """Largest error of a tool place's job time, in ns."""


@dataclass(frozen=True)
class SlowestRank(Answer):
    """The rank that took longest."""

    rank: int
    """Rank in MPI_COMM_WORLD."""
    time_ns: int
    """From the command's arrival at its tool place to its acknowledgement, in ns."""


@dataclass(frozen=True)
class CommandFailure(Answer):
    """A rank on which a command is not done."""

    rank: int
    """Rank in MPI_COMM_WORLD."""
    why: str
    """Reason, in a sentence."""
