//! Every bound of the gateway, each with its unit and the reason for the number.

use std::time::Duration;

/// Connections at once. A user has a few terminals, a page and some scripts; each costs two descriptors and
/// some ten KiB.
pub const CONNECTIONS_MAX: usize = 64;
/// Calls at once on one connection. A page asks for a handful of views; more wait at the client.
pub const CALLS_PER_CONNECTION_MAX: u32 = 64;
/// Watchers at once, over all connections: each holds at most one snapshot and its connection's send buffer.
pub const WATCHERS_MAX: usize = 64;
/// Bytes of one request. The longest has a name of 200 bytes and some numbers.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Bytes of one answer: a function table by rank with [`RANK_ROWS_MAX`] rows has about 100 bytes in each.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Requests to the root that wait for an answer: all calls of some connections. Beyond, a call is refused at
/// once with RESOURCE_EXHAUSTED instead of standing in a queue.
pub const PENDING_REQUESTS_MAX: usize = 256;

/// The time within which the root answers a question: it gives its own waves less.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(5);
/// The time within which the root answers a command. Ranks are asked in parallel and answer in milliseconds;
/// the root names those that do not after a shorter time of its own.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a watcher waits for a snapshot beyond its interval until it is told that there is none.
pub const WATCH_SILENCE_MAX: Duration = Duration::from_secs(10);
/// The shortest interval of snapshots: a screen needs no more than ten per second.
pub const WATCH_INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The interval of a watcher who does not ask for one.
pub const WATCH_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// The longest interval: an hour between two lines is a log, not a view.
pub const WATCH_INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// The wait before the first attempt to connect to the root again.
pub const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// The longest wait between two attempts: what a user who waits for a restarted root hardly notices.
pub const BACKOFF_MAX: Duration = Duration::from_millis(500);
/// How often the gateway looks whether the job's supervisor still lives.
pub const LIVENESS_INTERVAL: Duration = Duration::from_secs(2);
/// The time that calls under way are given at the end: the job's own end must not wait for a client.
pub const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(1);

/// The lease of a pause that asks for none: long enough to look at something, short enough that a forgotten
/// pause does not burn a night's allocation.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(600);
/// The longest lease: a slip in the unit must not stop a job for weeks.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3600);

/// Rows by rank and function when the question names no number.
pub const RANK_ROWS_DEFAULT: u32 = 4096;
/// Rows by rank and function at most: some seven MB.
pub const RANK_ROWS_MAX: u32 = 65536;
/// Rows and columns of a matrix when the question names no number: what a terminal or a page can show.
pub const MATRIX_SIDE_DEFAULT: u32 = 64;
/// Rows and columns at most: 65536 cells, some two MB.
pub const MATRIX_SIDE_MAX: u32 = 256;

/// Bytes of the audit log after which it is put aside as `audit.1.jsonl`, one file being kept: some fifty
/// thousand commands.
pub const AUDIT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Audit lines that wait for the disk; the log can lie on a slow network file system.
pub const AUDIT_QUEUE_MAX: usize = 1024;
/// Bytes of a client's self-description that are kept in the log.
pub const CLIENT_NAME_BYTES_MAX: usize = 200;
