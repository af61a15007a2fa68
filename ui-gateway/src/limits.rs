//! Every bound of the gateway, each with its unit and the reason for the number.
//!
//! **Memory.** A client's connection costs some 100 KiB (TLS, HTTP/2 and its windows) and, for each
//! of its [`CALLS_PER_CONNECTION_MAX`] calls, at most [`SEND_BUFFER_BYTES_MAX`], [`PIECE_BYTES`]
//! and the answer itself, which is below 64 KiB where it is not counted as large: below 2 MiB.
//! [`CLIENTS_MAX`] of them that all ask all the time and never read hold below 256 MiB,
//! [`NEWCOMERS_MAX`] newcomers, who get no answers, some 6 MiB, and fifty stalled watchers some 6
//! MiB. Large answers add [`LARGE_ANSWER_BYTES_TOTAL_MAX`] over all connections; all else is fixed.

use std::time::Duration;

/// Connections that have shown a token, at once. A user has a few terminals, a page and some
/// scripts, and colleagues who do.
pub const CLIENTS_MAX: usize = 128;
/// Of these, from one peer (a user on the socket, an address over TCP): a script that forgets to
/// close its connections must leave room for the others.
pub const CLIENTS_PER_PEER_MAX: usize = 96;
/// Connections that have not shown a token yet, at once. Who opens connections only pushes out
/// others like them, the oldest of whoever (a process, an address) has most: where each has one, at
/// [`ACCEPTS_PER_SECOND`] each has a third of a second, several round trips, before its turn comes.
pub const NEWCOMERS_MAX: usize = 64;
/// Newcomers at once when descriptors are few.
pub const NEWCOMERS_MIN: usize = 4;
/// Connections accepted per second at each address in the long run. More wait in the kernel's
/// queue. A TLS handshake costs some 0.2 ms: a flood takes 4 % of one core from the application,
/// and no more.
pub const ACCEPTS_PER_SECOND: u32 = 200;
/// Connections accepted at once after a quiet time: what a page and a handful of scripts open
/// together.
pub const ACCEPTS_BURST: u32 = 100;
/// Connections in the kernel's queue of one address.
pub const BACKLOG: u32 = 1024;
/// The wait after the kernel could not give a connection.
pub const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
/// File descriptors kept for everything but connections: some twenty are in use (log, audit log,
/// link, listeners, the runtime's own), the rest is room for what libraries open for a moment.
pub const DESCRIPTORS_RESERVE: usize = 48;
/// The fewest descriptors for connections with which it makes sense to begin.
pub const CONNECTIONS_MIN: usize = 2 * NEWCOMERS_MIN;

/// Calls at once on one connection. A page asks for a handful of views; more wait at the client.
pub const CALLS_PER_CONNECTION_MAX: u32 = 16;
/// Calls refused for want of a token after which a connection is closed: a client that guesses gets
/// no further.
pub const REFUSALS_PER_CONNECTION_MAX: u32 = 32;
/// Bytes of a call's headers: a token has 64, names of methods and clients some more.
pub const HEADER_BYTES_MAX: u32 = 8 * 1024;
/// Bytes of one HTTP/2 frame from a client, the least that the protocol allows to ask for.
pub const FRAME_BYTES_MAX: u32 = 16 * 1024;
/// Bytes that a client may send on one call before the gateway has read them: the longest request
/// at once.
pub const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// The same over all calls of a connection.
pub const CONNECTION_WINDOW_BYTES: u32 = 128 * 1024;
/// Bytes of answers that wait in HTTP/2 per call: a round trip's worth on a local network.
pub const SEND_BUFFER_BYTES_MAX: usize = 32 * 1024;
/// Bytes of the pieces in which a long answer is handed to HTTP/2, so that its buffer holds little
/// more than its limit.
pub const PIECE_BYTES: usize = 16 * 1024;
/// Calls, parts of calls, samples and their values in a page of records, unless a client says.
pub const PAGE_DEFAULT: u32 = 4096;
/// The same at most: what a place gives.
pub const PAGE_MAX: u32 = invivo_proto::control::buffers::PAGE_MAX;
/// Bytes of one of them, as a message.
pub const PAGE_ROW_BYTES: usize = 200;
/// The last seconds, unless a client says how many.
pub const TIMELINE_LENGTH_DEFAULT: Duration = Duration::from_secs(5);
/// Calls of all locations in the last seconds, unless a client says: some 50 MB.
pub const TIMELINE_CALLS_DEFAULT: u64 = 500_000;
/// The same at most.
pub const TIMELINE_CALLS_MAX: u64 = 2_000_000;
/// Bytes of a page of the last seconds, as a message: there is one at a time in each stream.
pub const TIMELINE_PAGE_BYTES: usize =
    invivo_proto::control::timeline::TIMELINE_PAGE_MAX as usize * PAGE_ROW_BYTES;
/// Watchers at once, over all connections: each holds at most one snapshot.
pub const WATCHERS_MAX: usize = 128;
/// Followers of the audit log at once, over all connections.
pub const FOLLOWERS_MAX: usize = 64;
/// Bytes of one request. The longest has a name of 200 bytes and some numbers.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Bytes of one answer: a function table by rank with [`RANK_ROWS_MAX`] rows has about 100 bytes in
/// each.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of large answers under way at once, over all connections, by what was asked for at most.
pub const LARGE_ANSWER_BYTES_TOTAL_MAX: usize = 64 * 1024 * 1024;
/// Requests to the root that wait for an answer: all calls of some connections. Beyond, a call is
/// refused at once with RESOURCE_EXHAUSTED instead of standing in a queue.
pub const PENDING_REQUESTS_MAX: usize = 256;

/// The time within which the root answers a question: it gives its own waves less.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(5);
/// The time within which the root answers a command, counted from when the ranks can be done with
/// it. Ranks are asked in parallel and answer in milliseconds; the root names those that do not
/// after a shorter time of its own.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(30);
/// Commands that are remembered with their answers, so that a client can ask again with the same
/// id: more than all clients give in a minute. Those under way count as well.
pub const COMMANDS_MAX: usize = 256;
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
/// The longest wait between two attempts: what a user who waits for a restarted root hardly
/// notices.
pub const BACKOFF_MAX: Duration = Duration::from_millis(500);
/// How often the gateway looks whether the job's supervisor still lives.
pub const LIVENESS_INTERVAL: Duration = Duration::from_secs(2);
/// The time that calls under way are given at the end: the job's own end must not wait for a
/// client.
pub const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(1);

/// The lease of a pause or hold that asks for none: long enough to look at something, short enough
/// that a forgotten pause does not burn a night's allocation.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(600);
/// The longest lease: a slip in the unit must not stop a job for weeks.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3600);
/// The shortest window: below, the error of the clocks would be most of it.
pub const WINDOW_MIN: Duration = Duration::from_millis(1);
/// The longest window: whoever means more switches recording on and off.
pub const WINDOW_MAX: Duration = Duration::from_secs(24 * 3600);

/// Rows by rank and function when the question names no number.
pub const RANK_ROWS_DEFAULT: u32 = 4096;
/// Rows by rank and function at most: some seven MB.
pub const RANK_ROWS_MAX: u32 = 65536;
/// Bytes of a row as a client gets it.
pub const RANK_ROW_BYTES: usize = 128;
/// Ranks that have done nothing new for so long are looked at for what they wait for, in ns, when
/// the question names no time: a person who asks has waited for longer.
pub const HANG_OLDER_NS_DEFAULT: u64 = 1_000_000_000;
/// Rows and columns of a matrix when the question names no number: what a terminal or a page can
/// show.
pub const MATRIX_SIDE_DEFAULT: u32 = 64;
/// Rows and columns at most: 65536 cells, some two MB.
pub const MATRIX_SIDE_MAX: u32 = 256;
/// Bytes of a cell as a client gets it.
pub const MATRIX_CELL_BYTES: usize = 64;

/// Secrets of invitations that wait to be redeemed: one per guest in a minute.
pub const INVITES_MAX: usize = 16;
/// Attempts to redeem a secret by one peer, per minute in the long run; a secret of 256 bits cannot
/// be guessed anyway.
pub const REDEEMS_PER_MINUTE: u32 = 10;
/// Attempts at once after a quiet time.
pub const REDEEMS_BURST: u32 = 5;
/// Peers whose attempts are counted; more are refused until the first ones are forgotten.
pub const REDEEMERS_MAX: usize = 1024;

/// Entries of the audit log that a client can ask for: some hundreds of bytes each. All are in the
/// file.
pub const AUDIT_ENTRIES_MAX: usize = 1024;
/// Refused commands that are noted in the audit log, per minute in the long run: who may not give
/// commands must not push out those that were given.
pub const DENIALS_PER_MINUTE: u32 = 60;
/// Refused commands that are noted at once after a quiet time.
pub const DENIALS_BURST: u32 = 20;
/// Bytes of the audit log after which it is put aside as `audit.1.jsonl`, one file being kept: some
/// fifty thousand commands.
pub const AUDIT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Audit lines that wait for the disk; the log can lie on a slow network file system.
pub const AUDIT_QUEUE_MAX: usize = 1024;
/// Bytes of a client's self-description that are kept.
pub const CLIENT_NAME_BYTES_MAX: usize = 200;
/// Lines in the gateway's log about refused connections and calls, per kind and minute: the log
/// must not grow with what strangers try.
pub const COMPLAINTS_PER_MINUTE: u32 = 6;

/// Times that a client has. Tests make them shorter.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From a connection to the end of its TLS handshake: some round trips over the worst of
    /// networks.
    pub handshake_max: Duration,
    /// From a connection to its first call with a token: whoever opens one has something to ask.
    pub newcomer_max: Duration,
    /// Silence after which a client is asked whether it is there (HTTP/2 PING).
    pub ping_interval: Duration,
    /// The time to answer that; a client that is stopped or does not read from its connection is
    /// closed then.
    pub ping_max: Duration,
    /// For how long a client may leave a piece of an answer unread that it has no more room for.
    pub stall_max: Duration,
    /// For how long the secret of an invitation is good: to click on a link or to paste it.
    pub invite: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            handshake_max: Duration::from_secs(5),
            newcomer_max: Duration::from_secs(10),
            ping_interval: Duration::from_secs(10),
            ping_max: Duration::from_secs(20),
            stall_max: Duration::from_secs(60),
            invite: Duration::from_secs(60),
        }
    }
}
