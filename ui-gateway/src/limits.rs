//! All limits of the gateway, each with its unit and the reason for its value.
//!
//! **Memory.** A client's connection costs some 100 KiB (TLS, HTTP/2 and its windows) and, for each
//! of its [`CALLS_PER_CONNECTION_MAX`] calls, at most [`SEND_BUFFER_BYTES_MAX`],
//! [`CHUNK_BYTES_MAX`] and the answer itself, which is below 64 KiB where it does not count as
//! large: below 2 MiB. [`CLIENTS_MAX`] clients that call all the time and never read hold below 256
//! MiB, [`UNAUTHENTICATED_MAX`] unauthenticated connections, which get no answers, some 6 MiB, and
//! fifty stalled watchers some 6 MiB. Large answers add [`LARGE_ANSWER_BYTES_TOTAL_MAX`] over all
//! connections; all else is fixed.

pub mod answer_budget;
pub mod rate_limit;
pub mod rate_limited_log;
pub mod shares;

use std::time::Duration;

/// Authenticated connections at once. A user has a few terminals, a page and some scripts, and so
/// do colleagues.
pub const CLIENTS_MAX: usize = 128;
/// Of these, from one user on the socket: a script that forgets to close its connections must leave
/// room for the others.
pub const CLIENTS_PER_USER_MAX: usize = 96;
/// Of these, from one address over TCP, for the same reason.
pub const CLIENTS_PER_ADDRESS_MAX: usize = 64;
/// Of these, over TCP: whatever comes from other hosts leaves room for the job's own user, who
/// comes over the socket.
pub const CLIENTS_OVER_TCP_MAX: usize = 96;
/// Of these, with the token of one guest.
pub const CLIENTS_PER_GUEST_MAX: usize = 16;
/// Unauthenticated connections at once. Beyond, a new one closes the oldest of the source (a
/// process, an address) that has most: where each source has one, at [`ACCEPTS_PER_SECOND`] each
/// has a third of a second, several round trips, before it is closed.
pub const UNAUTHENTICATED_MAX: usize = 64;
/// The same where file descriptors are few.
pub const UNAUTHENTICATED_MIN: usize = 4;
/// Connections accepted per second at each address in the long run. More wait in the kernel's
/// queue. A TLS handshake costs some 0.2 ms: a flood takes 4 % of one core from the application,
/// and no more.
pub const ACCEPTS_PER_SECOND: u32 = 200;
/// Connections accepted at once after a quiet time: as many as a page and a handful of scripts open
/// together.
pub const ACCEPTS_BURST: u32 = 100;
/// Connections in the kernel's queue of one address.
pub const BACKLOG: u32 = 1024;
/// The wait after a failed `accept`, mostly for want of a file descriptor.
pub const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
/// File descriptors kept for everything but connections: some twenty are in use (log, audit log,
/// link, listeners, the runtime's own), the rest is room for what libraries open for a moment.
pub const DESCRIPTORS_RESERVE: usize = 48;
/// Connections that were closed to make room for others, and have not closed yet: no more are
/// accepted meanwhile. Their descriptors are of those that are kept.
pub const CLOSING_MAX: usize = 16;
/// The fewest descriptors for connections with which it makes sense to begin.
pub const CONNECTIONS_MIN: usize = 2 * UNAUTHENTICATED_MIN;

/// Calls at once on one connection. A page asks for a handful of views; more wait at the client.
pub const CALLS_PER_CONNECTION_MAX: u32 = 16;
/// Calls without a valid token after which a connection is closed: a client that guesses gets
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
/// Bytes of the chunks in which a long answer is handed to HTTP/2, so that its buffer holds little
/// more than its limit.
pub const CHUNK_BYTES_MAX: usize = 16 * 1024;
/// Default number of calls, parts of calls, samples and their values in a page of records.
pub const PAGE_DEFAULT: u32 = 4096;
/// The maximum, which is what a tool place sends.
pub const PAGE_MAX: u32 = invivo_proto::control::buffers::PAGE_MAX;
/// Bytes of one of them in a message.
pub const PAGE_ROW_BYTES: usize = 200;
/// Default length of a timeline.
pub const TIMELINE_LENGTH_DEFAULT: Duration = Duration::from_secs(5);
/// Maximum length of a timeline: buffers hold less.
pub const TIMELINE_LENGTH_MAX: Duration = Duration::from_secs(24 * 3600);
/// Default number of calls in a timeline, over all locations: some 50 MB.
pub const TIMELINE_CALLS_DEFAULT: u64 = 500_000;
/// The maximum: some 200 MB at the client, which is what a viewer can still load.
pub const TIMELINE_CALLS_MAX: u64 = 2_000_000;
/// Bytes of a page of a timeline in a message: each stream holds one at a time.
pub const TIMELINE_PAGE_BYTES: usize =
    invivo_proto::control::timeline::TIMELINE_PAGE_MAX as usize * PAGE_ROW_BYTES;
/// Bytes of a page of a save in a message, but for communicators: each stream holds one at a time.
pub const SAVE_PAGE_BYTES: usize = 2 * invivo_proto::control::saved::SAVED_PAGE_BYTES;
/// Questions for a page of a save whose place does not answer: with the time-out of a wave in each,
/// a place may be without a processor for several seconds.
pub const SAVE_TRIES_MAX: u32 = 5;
/// Watchers at once, over all connections: each holds at most one snapshot.
pub const WATCHERS_MAX: usize = 128;
/// Of these, with one token: who shows another one finds room.
pub const WATCHERS_PER_TOKEN_MAX: usize = WATCHERS_MAX * 3 / 4;
/// Followers of the audit log at once, over all connections.
pub const FOLLOWERS_MAX: usize = 64;
/// Of these, with one token.
pub const FOLLOWERS_PER_TOKEN_MAX: usize = FOLLOWERS_MAX * 3 / 4;
/// Bytes of one request. The longest has a name of 200 bytes and some numbers.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Bytes of one answer: a function table by rank with [`RANK_ROWS_MAX`] rows has about 100 bytes in
/// each.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of large answers in progress at once, over all connections, counted by their maximum size.
pub const LARGE_ANSWER_BYTES_TOTAL_MAX: usize = 64 * 1024 * 1024;
/// Of these, with one token: the longest answer still fits when somebody else's slow readers hold
/// all of theirs.
pub const LARGE_ANSWER_BYTES_PER_TOKEN_MAX: usize = 48 * 1024 * 1024;
/// Bytes a second at which a large answer is read at least, counting the time in which it could be:
/// a part of the budget must come back in some minutes, however a client drips.
pub const LARGE_ANSWER_BYTES_PER_SECOND_MIN: u64 = 64 * 1024;
/// Questions about the last minute that come within so long are one, in ns: a tenth of what a piece
/// of the run has.
pub const SAME_TIME_NS: u64 = 100_000_000;
/// Different questions to the root without an answer: as many as it takes. Beyond, a call is
/// refused at once with RESOURCE_EXHAUSTED instead of waiting in a queue. Equal ones count as one.
pub const QUESTIONS_MAX: usize = 32;
/// Of these, of all who do not come with the job's own token to steer: its owner finds room.
pub const QUESTIONS_OF_OTHERS_MAX: usize = QUESTIONS_MAX * 3 / 4;
/// Of these, with the token of one guest: three of them leave nothing to further ones for the
/// moment that an answer takes.
pub const QUESTIONS_PER_GUEST_MAX: usize = 8;
/// Requests to the root without an answer: all questions, all commands, and as many again whose
/// callers have given up, so that there is always room for a command.
pub const PENDING_REQUESTS_MAX: usize = 2 * (QUESTIONS_MAX + COMMANDS_MAX);
/// Walks (questions for call stacks, and for what ranks wait for) per second in the long run, of
/// those who may only look: each may stop the threads of ranks for some tenths of a millisecond.
pub const WALKS_PER_SECOND: u32 = 50;
/// Walks at once after a quiet time.
pub const WALKS_BURST: u32 = 100;

/// Time-out of a query to the root, longer than the root's own time-out for a wave.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(5);
/// Time-out of a command at the root, from the time at which ranks can complete it. Ranks act in
/// parallel and answer in milliseconds; after a shorter time-out of its own the root names those
/// that did not.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(30);
/// Commands remembered with their answers, so that a client can repeat a call with the same id:
/// more than all clients give in a minute. Commands in progress are included.
pub const COMMANDS_MAX: usize = 256;
/// How long a watcher waits for a snapshot beyond its interval before its stream ends with an
/// error.
pub const WATCH_SILENCE_MAX: Duration = Duration::from_secs(10);
/// The shortest interval of snapshots: a screen needs no more than ten per second.
pub const WATCH_INTERVAL_MIN: Duration = Duration::from_millis(100);
/// Default interval of snapshots.
pub const WATCH_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// The longest interval: an hour between two lines is a log, not a view.
pub const WATCH_INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// The wait before the first attempt to connect to the root again.
pub const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// The longest wait between two attempts: what a user who waits for a restarted root hardly
/// notices.
pub const BACKOFF_MAX: Duration = Duration::from_millis(500);
/// How often the gateway checks that the job's supervisor still runs.
pub const LIVENESS_INTERVAL: Duration = Duration::from_secs(2);
/// Time for calls in progress at the end: the job's end must not wait for a client.
pub const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(1);

/// Default number of rows by rank and function.
pub const RANK_ROWS_DEFAULT: u32 = 4096;
/// Maximum number of rows by rank and function: some seven MB.
pub const RANK_ROWS_MAX: u32 = 65536;
/// Bytes of the bins of a row in a message, of both its histograms, where all have the largest
/// numbers. An answer of many such rows would be longer than one may be, and counts as one that
/// just may.
pub const BINS_BYTES: usize = 2 * invivo_proto::control::histogram::BINS_MAX * 35;
/// Functions that ranks call, at most some hundred.
pub const FUNCTIONS: usize = 500;
/// Bytes of a row in a message.
pub const RANK_ROW_BYTES: usize = 128;
/// Maximum number of rows of call sites, and the default: what the tree answers.
pub const SITE_ROWS_MAX: u32 = invivo_proto::control::sites::ROWS_MAX;
/// Bytes of such a row in a message, where its names are as long as they can be and it has six ways
/// to wait, as a call may have that completes requests.
pub const SITE_ROW_BYTES: usize = 2820;
/// Maximum number of rows of regions, and the default: what the tree answers.
pub const REGION_ROWS_MAX: u32 = invivo_proto::control::regions::ROWS_MAX;
/// Bytes of such a row in a message, where its names are as long as they can be.
pub const REGION_ROW_BYTES: usize = 1800;
/// Default time without progress after which a rank is inspected, in ns: a person who asks has
/// waited for longer.
pub const HANG_OLDER_NS_DEFAULT: u64 = 1_000_000_000;
/// Default number of rows and columns of a matrix: what a terminal or a page can show.
pub const MATRIX_SIDE_DEFAULT: u32 = 64;
/// Maximum number of rows and columns: 65536 cells, some two MB.
pub const MATRIX_SIDE_MAX: u32 = 256;
/// Bytes of a cell in a message.
pub const MATRIX_CELL_BYTES: usize = 64;
/// Default number of columns of a grid: what a terminal can show.
pub const GRID_COLUMNS_DEFAULT: u32 = 64;
/// Maximum number of columns: what a page can show.
pub const GRID_COLUMNS_MAX: u32 = 256;
/// Default number of rows of a grid.
pub const GRID_ROWS_DEFAULT: u32 = 32;
/// Maximum number of rows: with as many columns 32,768 cells, some 1.5 MB.
pub const GRID_ROWS_MAX: u32 = 128;
/// Bytes of a cell in a message.
pub const GRID_CELL_BYTES: usize = 48;

/// Default number of ranks with rows of wait states.
pub const WAIT_RANKS_DEFAULT: u32 = 64;
/// The maximum, which is what the tree answers.
pub const WAIT_RANKS_MAX: u32 = invivo_proto::control::wait_states::RANKS_MAX;
/// Bytes of the rows of one rank in a message: some forty kinds of waits, each for whoever waited
/// longest and for whoever made others wait longest.
pub const WAIT_RANK_BYTES: usize = 2 * 40 * 64;

/// The longest that an invitation is good: for a colleague who reads it later.
pub const INVITE_VALID_MAX: Duration = Duration::from_secs(3600);
/// Open invitations: some a minute, or some that wait for an hour.
pub const INVITES_MAX: usize = 16;
/// Of these, made with one token.
pub const INVITES_PER_TOKEN_MAX: usize = 12;
/// Guests with a token, or with an open invitation.
pub const GUESTS_MAX: usize = 64;
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
/// Denied commands that a client can ask for, beside the entries above: they must not push out
/// those that were carried out.
pub const DENIALS_KEPT_MAX: usize = 64;
/// Denied commands written to the audit log, per minute in the long run; others are counted in the
/// next line. One a minute would fill the log on disk in a year.
pub const DENIALS_PER_MINUTE: u32 = 6;
/// Denied commands written at once after a quiet time.
pub const DENIALS_BURST: u32 = 20;
/// Bytes of the audit log after which it is renamed to `audit.1.jsonl`, replacing the one before:
/// some fifty thousand commands.
pub const AUDIT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Audit lines that wait for the disk; the log can lie on a slow network file system.
pub const AUDIT_QUEUE_MAX: usize = 1024;
/// Bytes of a client's name that are kept.
pub const CLIENT_NAME_BYTES_MAX: usize = 200;
/// Lines in the gateway's log about refused connections and calls, introductions and invitations,
/// per kind and minute: the log must not grow with what strangers or scripts do.
pub const LOG_LINES_PER_MINUTE: u32 = 6;

/// Time-outs of client connections. Tests make them shorter.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For the TLS handshake: some round trips over the slowest networks.
    pub handshake_max: Duration,
    /// From the connection to its first call with a valid token.
    pub unauthenticated_max: Duration,
    /// Silence after which the client is sent an HTTP/2 PING.
    pub ping_interval: Duration,
    /// For the answer to it: then the client is stopped or does not read from its connection, and
    /// is closed.
    pub ping_max: Duration,
    /// For reading a chunk of an answer for which HTTP/2 has no more space.
    pub stall_max: Duration,
    /// Validity of an invitation: time to click on a link or to paste it.
    pub invite: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            handshake_max: Duration::from_secs(5),
            unauthenticated_max: Duration::from_secs(10),
            ping_interval: Duration::from_secs(10),
            ping_max: Duration::from_secs(20),
            stall_max: Duration::from_secs(60),
            invite: Duration::from_secs(60),
        }
    }
}
