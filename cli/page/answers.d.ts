// Made by `cargo xtask generate` from proto/gateway.proto. Do not edit.
// What a gateway answers, as `--json` prints it. Fields are explained in gateway.proto. Numbers are
// exact up to 2^53; identities of commands may be beyond, and are only shown.

export interface HelloReply {
  gateway_version: string;
  capabilities: string[];
  scope: string;
  job: Job | null;
  root_connected: boolean;
}

export interface Job {
  id: string;
  ranks: number;
  places: number;
  nodes: number;
  family: string;
  library: string;
  observation: Observation | null;
}

export interface Observation {
  from_ns: number;
  to_ns: number;
  saved_unix_ns: number;
  calls: number;
  reduced: number;
}

export interface Coverage {
  ranks: number;
  ranks_reporting: number;
  members_missing: number;
  lag_ns: number;
  ledger: Ledger | null;
  overhead_ns: number;
  tool_cpu_ns: number;
  packets_mpi: number;
  packets_shm: number;
  payload_bytes: number;
  packets_refused: number;
  buffer_bytes: number;
  missing: number[];
  overhead_regions_ns: number;
  overhead_samples_ns: number;
  observer_cpu_ns: number;
  displaced_ns: number;
}

export interface Ledger {
  entered: number;
  open: number;
  in_flight: number;
  kept: number;
  reduced: number;
  dropped: DroppedByShim | null;
  dropped_by_place: number;
  reset: number;
  not_selected: number;
}

export interface DroppedByShim {
  no_packet: number;
  no_location: number;
}

export interface StatusReply {
  coverage: Coverage | null;
  status: JobStatus | null;
}

export interface JobStatus {
  ranks: RankCounts | null;
  named: RankStatus[];
  pause: PauseStatus | null;
  observed_ns: number;
  notes: string[];
  recording: RecordingStatus | null;
  analyses: AnalysisStatus[];
  governance: Governance | null;
  measuring: Measuring | null;
}

export interface Measuring {
  sampling_frequency: number;
  metrics: string[];
  metrics_interval_ns: number;
  selection_rules: number;
  sampling_by_timer: boolean;
}

export interface Governance {
  cap: number | null;
  share: number | null;
  given_up: string[];
  decided: string[];
  is_exhausted: boolean;
  events: GovernanceEvent[];
}

export interface GovernanceEvent {
  at_ns: number;
  sentence: string;
}

export interface AnalysesReply {
  coverage: Coverage | null;
  analyses: AnalysisStatus[];
}

export interface AnalysisStatus {
  name: string;
  answers: string;
  on: number;
  off: number;
  since_ns: number;
  off_intervals: OffInterval[];
  earlier_intervals: number;
  earlier_off_ns: number;
  now_ns: number;
  cost_ns: number;
}

export interface OffInterval {
  from_ns: number;
  to_ns: number | null;
}

export interface RecordingStatus {
  on: number;
  off: number;
  since_ns: number;
  now_ns: number;
  clock_error_ns: number;
  window: WindowStatus | null;
  shut_down: boolean;
}

export interface WindowStatus {
  command_id: number;
  from_ns: number;
  to_ns: number;
  complete: number;
}

export interface RankCounts {
  starting: number;
  computing: number;
  in_mpi: number;
  paused: number;
  finished: number;
  held: number;
}

export interface RankStatus {
  rank: number;
  state: string;
  function: string;
  since_ns: number;
  entered: number;
  mpi_ns: number;
}

export interface PauseStatus {
  command_id: number;
  lease_left_ns: number;
}

export interface Snapshot {
  sequence: number;
  unix_ns: number;
  coverage: Coverage | null;
  status: JobStatus | null;
  functions: FunctionRow[];
}

export interface TableInterval {
  from_ns: number;
  to_ns: number;
}

export interface FunctionsReply {
  coverage: Coverage | null;
  rows: FunctionRow[];
  rank_rows: FunctionRow[];
  rank_rows_total: number;
  analysis: AnalysisStatus | null;
  interval: TableInterval | null;
  call_sites: AnalysisStatus | null;
}

export interface FunctionRow {
  function: string;
  rank: number | null;
  calls: number;
  time_ns: number;
  mean_ns: number;
  stddev_ns: number;
  min_ns: number;
  max_ns: number;
  max_rank: number;
  bytes_out: number;
  bytes_in: number;
  clipped: number;
  durations: Distribution | null;
  sizes: Distribution | null;
}

export interface Distribution {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  bins: HistogramBin[];
  error: number;
}

export interface HistogramBin {
  least: number;
  most: number;
  count: number;
}

export interface CallSitesReply {
  coverage: Coverage | null;
  rows: CallSiteRow[];
  rows_left_out: number;
  left_out: FunctionRow | null;
  rows_unnamed: number;
  analysis: AnalysisStatus | null;
  waits_left_out: WaitStateRow | null;
  wait_states: AnalysisStatus | null;
  messages: AnalysisStatus | null;
  interval: TableInterval | null;
}

export interface CallSiteRow {
  kind: string;
  file: string;
  offset: number;
  build_id: string;
  functions: CodeFunction[];
  ranks: number;
  calls: FunctionRow | null;
  waits: SiteWaitRow[];
}

export interface SiteWaitRow {
  wait_state: string;
  waits: number;
  time_ns: number;
  max_ns: number;
  max_rank: number;
  causers: Causer[];
  part_of: string;
}

export interface Causer {
  rank: number;
  time_ns: number;
}

export interface CodeFunction {
  function: string;
  line: string;
}

export interface IterationsReply {
  coverage: Coverage | null;
  rows: LoopRow[];
  analysis: AnalysisStatus | null;
  interval: TableInterval | null;
  begin_ns: number;
}

export interface LoopRow {
  begin: CallSiteRow | null;
  bursts: boolean;
  places: number;
  ranks: number;
  iterations_min: number;
  iterations_max: number;
  usual: number;
  time_ns: number;
  mean_ns: number;
  stddev_ns: number;
  min_ns: number;
  max_ns: number;
  max_rank: number;
  max_from_ns: number;
  first_from_ns: number;
  last_from_ns: number;
  last_to_ns: number;
  others: number;
  others_ns: number;
  share: number;
  max_to_ns: number;
}

export interface RegionsReply {
  coverage: Coverage | null;
  rows: RegionRow[];
  rows_left_out: number;
  left_out: RegionRow | null;
  rows_unnamed: number;
  dropped: number;
  repaired: number;
  too_deep: number;
  analysis: AnalysisStatus | null;
  interval: TableInterval | null;
}

export interface RegionRow {
  kind: string;
  name: string;
  file: string;
  offset: number;
  build_id: string;
  functions: CodeFunction[];
  visits: number;
  time_ns: number;
  own_ns: number;
  mpi_ns: number;
  own_mpi_ns: number;
  ranks: number;
  max_rank: number;
  max_ns: number;
  min_rank: number;
  min_ns: number;
  off_ranks: number;
}

export interface MatrixReply {
  coverage: Coverage | null;
  ranks: number;
  block_ranks: number;
  cells: MatrixCell[];
  unresolved: Traffic | null;
  analysis: AnalysisStatus | null;
  outside: Traffic | null;
  interval: TableInterval | null;
}

export interface MatrixCell {
  source: number;
  destination: number;
  sent: Traffic | null;
  received: Traffic | null;
}

export interface Traffic {
  messages: number;
  bytes: number;
}

export interface GridReply {
  coverage: Coverage | null;
  metric: string;
  unit: string;
  ranks: number;
  block_ranks: number;
  from_ns: number;
  width_ns: number;
  columns: number;
  rows: GridRow[];
  ranks_unresolved: number;
  clock_error_ns: number;
  observed_ns: number;
  begin_ns: number;
  efficiency: Efficiency | null;
  efficiencies: ColumnEfficiency[];
  analysis: AnalysisStatus | null;
  absolute: boolean;
}

export interface Efficiency {
  parallel_efficiency: number;
  load_balance: number;
  communication_efficiency: number;
  max_rank: number;
  min_rank: number;
  ranks: number;
}

export interface ColumnEfficiency {
  column: number;
  efficiency: Efficiency | null;
}

export interface GridRow {
  row: number;
  cells: GridCell[];
  total: GridCell | null;
}

export interface GridCell {
  ranks: number;
  recorded_ns: number;
  sum: number;
  min: number;
  min_rank: number;
  max: number;
  max_rank: number;
}

export interface MessagesReply {
  coverage: Coverage | null;
  sent: Traffic | null;
  received: Traffic | null;
  matched: Traffic | null;
  unmatched: Unmatched | null;
  transfer: Durations | null;
  late_sender: Durations | null;
  untimed: number;
  clock_error_ns: number;
  analysis: AnalysisStatus | null;
  interval: TableInterval | null;
}

export interface Unmatched {
  unresolved: number;
  limit: number;
  cut: number;
  missing: number;
  outside: number;
}

export interface Durations {
  count: number;
  sum_ns: number;
  mean_ns: number;
  stddev_ns: number;
  min_ns: number;
  max_ns: number;
  max_rank: number;
}

export interface WaitStatesReply {
  coverage: Coverage | null;
  rows: WaitStateRow[];
  ranks: RankWaits[];
  ranks_total: number;
  communicators: CommunicatorWaits[];
  communicators_left_out: WaitStateRow | null;
  unblamed_ns: number;
  calls: CollectiveCalls | null;
  clock_error_ns: number;
  analysis: AnalysisStatus | null;
  messages: AnalysisStatus | null;
  interval: TableInterval | null;
}

export interface WaitStateRow {
  wait_state: string;
  function: string;
  waits: number;
  time_ns: number;
  max_ns: number;
  max_rank: number;
  part_of: string;
}

export interface RankWaits {
  rank: number;
  waited_ns: number;
  caused_ns: number;
  rows: RankWaitRow[];
}

export interface RankWaitRow {
  wait_state: string;
  function: string;
  waits: number;
  time_ns: number;
  caused_waits: number;
  caused_ns: number;
  part_of: string;
}

export interface CommunicatorWaits {
  communicator: string;
  rows: WaitStateRow[];
}

export interface CollectiveCalls {
  met: number;
  untimed: number;
  open: number;
  limit: number;
  unresolved: number;
  outside: number;
}

export interface SelectionRule {
  include: boolean;
  fits: string;
}

export interface SelectionReply {
  rules: SelectionRuleStatus[];
  regions_on: number;
  regions_off: number;
  regions_undecided: number;
  functions_off: string[];
  functions_kept: string[];
  calls_off: number;
  since_ns: number;
  ranks_differing: number;
  coverage: Coverage | null;
}

export interface SelectionRuleStatus {
  rule: SelectionRule | null;
  regions: number;
}

export interface MetricsReply {
  coverage: Coverage | null;
  ranks: number;
  ranks_measured: number;
  interval_min_ns: number;
  interval_max_ns: number;
  readings: number;
  cost_ns: number;
  metrics: MetricStatus[];
  more: boolean;
  ranks_program: number;
  threads_unseen: number;
}

export interface MetricStatus {
  name: string;
  unit: string;
  absolute: boolean;
  tells: string;
  ranks_now: number;
  ranks_kept: number;
  without: MetricWithout[];
}

export interface MetricWithout {
  reason: string;
  ranks: number;
  which: string;
  paranoid: number;
}

export interface BuffersReply {
  coverage: Coverage | null;
  strategies: StrategyInForce[];
  locations: number;
  without: number;
  recycled: number;
  bytes: number;
  bytes_used: number;
  bins: number;
  bins_used: number;
  stored: number;
  kept: number;
  parts_reduced: number;
  bytes_per_call: number;
  span: Spans | null;
  complete: Spans | null;
  levels: BufferLevel[];
  losses: BufferLoss[];
  named: LocationBuffer[];
  reductions: number;
  capped: BufferCaps | null;
  thinned: ThinnedSamples | null;
  regions: BufferBooks | null;
  samples: BufferBooks | null;
}

export interface ThinnedSamples {
  locations: number;
  untold: number;
  least: number;
  most: number;
}

export interface Halvings {
  buffer: number;
  known: number;
}

export interface BufferCaps {
  buffers: number;
  first_ns: number;
  last_ns: number;
}

export interface StrategyInForce {
  strategy: string;
  ranks: number;
}

export interface Location {
  rank: number;
  thread: number;
}

export interface Spans {
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  shortest: Location | null;
}

export interface BufferLevel {
  holds: string;
  former: boolean;
  shorter_than_log2_ticks: number | null;
  iteration_log2: number | null;
  closed: number;
  bins: number;
  kept: number;
  given_up: number;
  gone_until_ns: number | null;
}

export interface BufferLoss {
  level: string;
  class: string;
  reason: string;
  records: number;
  first_ns: number;
  last_ns: number;
}

export interface BufferBooks {
  stored: number;
  kept: number;
  reduced: number;
  dropped: number;
  reset: number;
  parts_reduced: number;
}

export interface LocationBuffer {
  location: Location | null;
  bins: number;
  bins_used: number;
  bytes_used: number;
  books: BufferBooks | null;
  span_ns: number;
  complete_ns: number;
  reductions: number;
  capped_ns: number | null;
  halvings: Halvings | null;
}

export interface RecordsCursor {
  end_ticks: number;
  given: number;
}

export interface RecordsReply {
  coverage: Coverage | null;
  location: Location | null;
  records: CallRecord[];
  next: RecordsCursor | null;
  books: BufferBooks | null;
  losses: BufferLoss[];
  gone_until_ns: number | null;
  not_kept: number | null;
  broken: boolean;
  samples: SampleRecord[];
  contexts: CallingContext[];
}

export interface SampleRecord {
  at_ns: number;
  at_ticks: number;
  ordinal: number;
  context: number;
  values: number[];
  function: string;
  occupant: number;
}

export interface CallRecord {
  function: string;
  end_ns: number;
  duration_ns: number;
  end_ticks: number;
  duration_ticks: number;
  facts: CallFacts | null;
  ordinal: number;
  request: number;
  clipped: boolean;
  parts: CallPart[];
  parts_left_out: number;
  occupant: number;
  depth: number;
}

export interface CallFacts {
  kind: string;
  comm: number | null;
  peer: number;
  tag: number;
  bytes_out: number;
  bytes_in: number;
}

export interface CallPart {
  function: string;
  facts: CallFacts | null;
  request: number;
  posted_ticks: number;
}

export interface TimelinePage {
  from_ns: number;
  to_ns: number;
  ranks: number;
  pieces: LocationPiece[];
  clock_error_ns: number;
  missing: number[];
}

export interface LocationPiece {
  location: Location | null;
  calls: CallRecord[];
  complete: boolean;
  comms: Membership[];
  peers: PeerRank[];
  open: OpenCall | null;
  state: string;
  ledger: Ledger | null;
  books: BufferBooks | null;
  losses: BufferLoss[];
  gone_until_ns: number | null;
  not_kept: number | null;
  left_out: number;
  broken: boolean;
  regions: RegionName[];
  region_books: BufferBooks | null;
  open_regions: OpenCall[];
  samples: SampleRecord[];
  contexts: CallingContext[];
  sample_books: BufferBooks | null;
}

export interface CallingContext {
  number: number;
  parent: number;
  kind: string;
  function: string;
  module: string;
}

export interface RegionName {
  number: number;
  name: string;
  line: string;
  function: boolean;
}

export interface SavePage {
  from_ns: number;
  to_ns: number;
  ranks: number;
  locations_total: number;
  bytes_total: number;
  pieces: SavedPiece[];
  groups: CommGroup[];
  host: string;
  clock_error_ns: number;
  missing: number[];
  last: boolean;
  observed_from_ns: number;
}

export interface SavedPiece {
  location: Location | null;
  about: LocationPiece | null;
  clock: ClockPoint[];
  comms_left_out: number;
  bins: SavedBin[];
  complete: boolean;
  cut: boolean;
  pauses: PauseInterval[];
  paces: SamplingPace[];
}

export interface SamplingPace {
  since_ns: number;
  unit_ns: number;
}

export interface PauseInterval {
  from_ns: number;
  to_ns: number;
}

export interface ClockPoint {
  ticks: number;
  job_ns: number;
}

export interface SavedBin {
  chain: number;
  content: number[];
}

export interface CommGroup {
  name: CommName | null;
  pieces: CommGroupPiece[];
}

export interface CommGroupPiece {
  start: number;
  runs: RankRun[];
}

export interface RankRun {
  first: number;
  stride: number;
  count: number;
}

export interface Membership {
  comm: number;
  name: CommName | null;
  peers: CommName | null;
  rank: number;
}

export interface CommName {
  leader: number;
  counter: number;
}

export interface PeerRank {
  comm: number;
  peer: number;
  rank: number;
}

export interface OpenCall {
  function: string;
  begin_ns: number;
  begin_ticks: number;
  occupant: number;
  region: number;
}

export interface AuditEntry {
  sequence: number;
  unix_ns: number;
  uid: number | null;
  pid: number | null;
  client: string;
  command: string;
  command_id: number;
  arguments: string;
  outcome: string;
  peer: string;
}

export interface InviteReply {
  secret: string;
  valid_ns: number;
  url: string;
  guest: number;
}

export interface RedeemReply {
  token: string;
  scope: string;
}

export interface GuestsReply {
  guests: Guest[];
}

export interface Guest {
  number: number;
  scope: string;
  invited_by: number;
  since_unix_ns: number;
  used: boolean;
}

export interface RevokeReply {
  guests: number[];
}

export interface HangReply {
  coverage: Coverage | null;
  verdict: string;
  sentence: string;
  stuck: number;
  quiet_ns: number;
  findings: HangFinding[];
  classes: HangClass[];
  watched: number;
}

export interface HangFinding {
  kind: string;
  collectives: HangCollective[];
  ranks: HangRank[];
  count: number;
}

export interface HangCollective {
  communicator: string;
  number: number;
  function: string;
  root: number | null;
  ranks: number;
  named: number[];
  site: string;
}

export interface HangRank {
  rank: number;
  doing: string;
  function: string;
  since_ns: number;
  site: string;
  waits_for: number | null;
  message: HangMessage | null;
  threads_in_mpi: number;
  threads_outside: number;
}

export interface HangMessage {
  side: string;
  peer: number | null;
  tag: number | null;
}

export interface HangClass {
  doing: string;
  function: string;
  ranks: number;
  named: number[];
  shortest_ns: number;
  longest_ns: number;
  site: string;
}

export interface RankRange {
  first: number;
  last: number;
}

export interface StacksReply {
  coverage: Coverage | null;
  nodes: StacksNode[];
  ways: StacksWay[];
  ranks: number;
  threads_left_out: number;
  threads_unnamed: number;
  longest_stop_ns: number;
  longest_stop_rank: number;
  without_python: StacksWithoutPython[];
}

export interface ProfileReply {
  coverage: Coverage | null;
  nodes: ProfileNode[];
  ranks: number;
  sampled_ranks: number;
  without: ProfileWithout[];
  samples: number;
  samples_lost: number;
  cpu_ns: number;
  elapsed_ns: number;
  sampler_cpu_ns: number;
  frequency_min: number;
  frequency_max: number;
  ranks_without_kernel: number;
  samples_unnamed: number;
  left_out_ns: number;
  interval: ProfileInterval | null;
  ranks_by_timer: number;
  ranks_untimed: number;
}

export interface ProfileInterval {
  from_ns: number;
  to_ns: number;
  cut_ranks: number;
  gone_until_ns: number;
  samples_not_kept: number;
}

export interface ProfileNode {
  depth: number;
  kind: string;
  function: string;
  module: string;
  ns: number;
  own_ns: number;
  most_rank: number;
  most_ns: number;
  lines: ProfileLine[];
}

export interface ProfileLine {
  text: string;
  ns: number;
}

export interface ProfileWithout {
  reason: string;
  ranks: number;
  which: string;
  paranoid: number;
}

export interface StacksNode {
  depth: number;
  kind: string;
  function: string;
  module: string;
  ranks: number;
  threads: number;
  ends: number;
  which: string;
  representative: number;
  lines: StacksLine[];
}

export interface StacksLine {
  text: string;
  threads: number;
}

export interface StacksWay {
  way: string;
  reason: string;
  ranks: number;
  threads: number;
  which: string;
}

export interface StacksWithoutPython {
  reason: string;
  version: string;
  ranks: number;
  threads: number;
  which: string;
}

export interface CommandReply {
  command_id: number;
  targets: number;
  done: number;
  held_in_mpi: number;
  partly: number;
  slowest: SlowestRank | null;
  failures: CommandFailure[];
  missing: number[];
  took_ns: number;
  lease_ns: number;
  from: Cut | null;
  to: Cut | null;
  complete_ns: number;
  clipped: number;
  open: number;
}

export interface Cut {
  earliest_ns: number;
  latest_ns: number;
  error_ns: number;
}

export interface SlowestRank {
  rank: number;
  time_ns: number;
}

export interface CommandFailure {
  rank: number;
  why: string;
}
