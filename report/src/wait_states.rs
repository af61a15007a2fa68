//! Who waits for whom: by wait state, by rank, and by communicator.

use crate::table::{Side, Table};
use crate::units::{count, counted, duration, share};
use invivo_grpc::v1::{CollectiveCalls, RankWaits, WaitStateRow, WaitStatesReply};

/// The sentence about who is waited for, then the tables.
pub fn text(waits: &WaitStatesReply) -> String {
    let calls = waits.calls.unwrap_or_default();
    if waits.rows.is_empty() {
        let met = counted(calls.met, "call");
        return format!(
            "nobody has waited for anybody yet: {met} of collectives met\n{}",
            unmet(&calls)
        );
    }
    let mut text = String::new();
    if let Some(causer) = worst(waits) {
        text.push_str(&format!("{causer}\n\n"));
    }
    text.push_str(&by_state(&waits.rows).text());
    text.push('\n');
    text.push_str(&by_rank(waits).text());
    text.push_str(&more_ranks(waits));
    if waits.communicators.len() > 1 {
        text.push('\n');
        text.push_str(&by_communicator(waits));
    }
    if waits.unblamed_ns > 0 {
        let time = duration(waits.unblamed_ns);
        text.push_str(&format!("without {time} whose causer could not be told\n"));
    }
    text.push_str(&unmet(&calls));
    if waits.clock_error_ns > 0 {
        let error = duration(waits.clock_error_ns);
        text.push_str(&format!("between nodes the clocks are known to {error}\n"));
    }
    text
}

/// Who made the others wait longest, and where.
pub fn worst(waits: &WaitStatesReply) -> Option<String> {
    let causer = waits.ranks.iter().max_by_key(|of| of.caused_ns)?;
    let most = causer.rows.iter().max_by_key(|row| row.caused_ns)?;
    if causer.caused_ns == 0 {
        return None;
    }
    Some(format!(
        "rank {} made others wait {}, most of it ({}) in {} ({})",
        causer.rank,
        duration(causer.caused_ns),
        duration(most.caused_ns),
        most.function,
        most.wait_state
    ))
}

/// All ranks together, by wait state and function.
pub fn by_state(rows: &[WaitStateRow]) -> Table {
    let sides = [Side::Left, Side::Left]
        .into_iter()
        .chain([Side::Right].into_iter().cycle());
    let heads = [
        "wait state",
        "in",
        "time",
        "share",
        "waits",
        "max",
        "of rank",
    ];
    let mut table = Table::of(heads.map(str::to_owned).into_iter().zip(sides));
    let all = whole_ns(rows) as f64;
    for row in rows {
        table.row([
            row.wait_state.clone(),
            row.function.clone(),
            duration(row.time_ns),
            share_of(row, all),
            count(row.waits),
            duration(row.max_ns),
            row.max_rank.to_string(),
        ]);
    }
    table
}

/// A row's share of all waiting. A part is told later than its whole: in an interval there may be
/// more of it.
fn share_of(row: &WaitStateRow, all: f64) -> String {
    let time = row.time_ns as f64;
    match time > all {
        true => "-".to_owned(),
        false => share(time, all),
    }
}

/// All that was waited, in ns: what is a part of another wait state is in that one.
pub fn whole_ns(rows: &[WaitStateRow]) -> u64 {
    let whole = rows.iter().filter(|row| row.part_of.is_empty());
    whole.map(|row| row.time_ns).sum()
}

/// The worst ranks: those that waited, and those that were waited for.
pub fn by_rank(waits: &WaitStatesReply) -> Table {
    let sides = [Side::Right, Side::Right, Side::Right, Side::Left];
    let heads = ["rank", "waited", "made others wait", "mostly in"];
    let mut table = Table::of(heads.map(str::to_owned).into_iter().zip(sides));
    for of in &waits.ranks {
        table.row([
            of.rank.to_string(),
            duration(of.waited_ns),
            duration(of.caused_ns),
            mostly(of),
        ]);
    }
    table
}

/// How many ranks there are besides; nothing where there are none.
fn more_ranks(waits: &WaitStatesReply) -> String {
    let more = u64::from(waits.ranks_total).saturating_sub(waits.ranks.len() as u64);
    if more > 0 {
        format!("and {}\n", counted(more, "more rank"))
    } else {
        String::new()
    }
}

/// The function in which a rank made others wait longest, or waited where it made nobody wait.
fn mostly(of: &RankWaits) -> String {
    let whole = of.rows.iter().filter(|row| row.part_of.is_empty());
    let caused = whole.max_by_key(|row| (row.caused_ns, row.time_ns));
    caused.map_or(String::new(), |row| {
        format!("{} ({})", row.function, row.wait_state)
    })
}

fn by_communicator(waits: &WaitStatesReply) -> String {
    let sides = [Side::Left, Side::Left, Side::Right, Side::Right];
    let heads = ["communicator", "wait state", "time", "waits"];
    let mut table = Table::of(heads.map(str::to_owned).into_iter().zip(sides));
    for of in &waits.communicators {
        for row in &of.rows {
            table.row([
                of.communicator.clone(),
                row.wait_state.clone(),
                duration(row.time_ns),
                count(row.waits),
            ]);
        }
    }
    let left_out = waits.communicators_left_out.clone().unwrap_or_default();
    if left_out.waits > 0 {
        table.row([
            "others".to_owned(),
            String::new(),
            duration(left_out.time_ns),
            count(left_out.waits),
        ]);
    }
    table.text()
}

/// Calls of collectives without waits, by reason; nothing where all were met.
fn unmet(of: &CollectiveCalls) -> String {
    let reasons = [
        (of.untimed, "touched by a pause or a cut"),
        (of.open, "waiting for the others"),
        (of.limit, "given up: too many"),
        (of.unresolved, "communicator not known"),
        (
            of.outside,
            "of two groups, or with processes outside of the job",
        ),
    ];
    let reasons = reasons.iter().filter(|(calls, _)| *calls > 0);
    let reasons: Vec<String> = reasons
        .map(|(calls, why)| format!("{} {why}", count(*calls)))
        .collect();
    if reasons.is_empty() {
        String::new()
    } else {
        format!(
            "calls of collectives without times: {}\n",
            reasons.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{CommunicatorWaits, RankWaitRow};

    fn row(wait_state: &str, function: &str, time_ns: u64) -> WaitStateRow {
        WaitStateRow {
            wait_state: wait_state.into(),
            part_of: String::new(),
            function: function.into(),
            waits: 3,
            time_ns,
            max_ns: time_ns / 2,
            max_rank: 1,
        }
    }

    #[test]
    fn the_causer_comes_first_then_the_tables() {
        let of_rank = |rank, time_ns, caused_ns| RankWaits {
            rank,
            waited_ns: time_ns,
            caused_ns,
            rows: vec![RankWaitRow {
                wait_state: "Wait at N x N".into(),
                part_of: String::new(),
                function: "MPI_Allreduce".into(),
                waits: 3,
                time_ns,
                caused_waits: 2,
                caused_ns,
            }],
        };
        let communicator = |name: &str| CommunicatorWaits {
            communicator: name.into(),
            rows: vec![row("Wait at N x N", "", 6_000_000_000)],
        };
        let waits = WaitStatesReply {
            rows: vec![
                row("Wait at N x N", "MPI_Allreduce", 12_000_000_000),
                row("Late Broadcast", "MPI_Bcast", 4_000_000_000),
            ],
            ranks: vec![of_rank(3, 0, 12_000_000_000), of_rank(1, 8_000_000_000, 0)],
            ranks_total: 4,
            communicators: vec![communicator("MPI_COMM_WORLD"), communicator("0.0/1")],
            calls: Some(CollectiveCalls {
                met: 9,
                open: 2,
                ..CollectiveCalls::default()
            }),
            ..WaitStatesReply::default()
        };
        assert_eq!(
            text(&waits),
            "rank 3 made others wait 12.0 s, most of it (12.0 s) in MPI_Allreduce (Wait at N x N)\n\
             \n\
             wait state      in               time   share  waits     max  of rank\n\
             Wait at N x N   MPI_Allreduce  12.0 s  75.0 %      3  6.00 s        1\n\
             Late Broadcast  MPI_Bcast      4.00 s  25.0 %      3  2.00 s        1\n\
             \n\
             rank  waited  made others wait  mostly in\n\
             \x20  3     0 s            12.0 s  MPI_Allreduce (Wait at N x N)\n\
             \x20  1  8.00 s               0 s  MPI_Allreduce (Wait at N x N)\n\
             and 2 more ranks\n\
             \n\
             communicator    wait state       time  waits\n\
             MPI_COMM_WORLD  Wait at N x N  6.00 s      3\n\
             0.0/1           Wait at N x N  6.00 s      3\n\
             calls of collectives without times: 2 waiting for the others\n"
        );
    }

    #[test]
    fn where_nobody_waits_it_says_so() {
        let nobody = text(&WaitStatesReply::default());
        assert!(
            nobody.starts_with("nobody has waited for anybody yet"),
            "{nobody}"
        );
    }
}
