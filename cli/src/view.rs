//! Answers as text: pure functions from messages to strings. What the report at a job's end shows,
//! too, is in the crate `report`.

pub mod audit;
pub mod buffers;
pub mod command;
pub mod efficiency;
pub mod hang;
pub mod heatmap;
pub mod messages;
pub mod metrics;
pub mod overhead;
pub mod profile;
pub mod quantity;
pub mod records;
pub mod since_start;
pub mod stacks;

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1;
    use invivo_report::{functions, status, terminal};
    use proptest::prelude::*;

    /// Every text view, where the names that come from elsewhere are this one.
    fn views(name: &str) -> Vec<String> {
        let name = || name.to_owned();
        let row = v1::FunctionRow {
            function: name(),
            ..v1::FunctionRow::default()
        };
        let class = v1::HangClass {
            doing: name(),
            function: name(),
            site: name(),
            ..v1::HangClass::default()
        };
        let line = v1::StacksLine {
            text: name(),
            ..v1::StacksLine::default()
        };
        let node = v1::StacksNode {
            kind: "function".into(),
            function: name(),
            module: name(),
            which: "0".into(),
            lines: vec![line],
            ..v1::StacksNode::default()
        };
        let call = v1::CallRecord {
            function: name(),
            ..v1::CallRecord::default()
        };
        let buffer_loss = v1::BufferLoss {
            level: name(),
            class: name(),
            reason: name(),
            ..v1::BufferLoss::default()
        };
        let named = v1::RankStatus {
            function: name(),
            ..v1::RankStatus::default()
        };
        let job = v1::JobStatus {
            named: vec![named],
            notes: vec![name()],
            ..v1::JobStatus::default()
        };
        let failure = v1::CommandFailure {
            why: name(),
            ..v1::CommandFailure::default()
        };
        let failed = v1::CommandReply {
            failures: vec![failure],
            ..v1::CommandReply::default()
        };
        let records = v1::RecordsReply {
            records: vec![call],
            losses: vec![buffer_loss.clone()],
            ..v1::RecordsReply::default()
        };
        vec![
            functions::text(std::slice::from_ref(&row)),
            functions::by_rank(std::slice::from_ref(&row), 1, 1),
            status::text(&job),
            status::line(
                &v1::Snapshot {
                    status: Some(job),
                    functions: vec![row],
                    ..v1::Snapshot::default()
                },
                None,
            ),
            hang::text(&v1::HangReply {
                sentence: name(),
                classes: vec![class],
                ..v1::HangReply::default()
            }),
            stacks::text(
                &v1::StacksReply {
                    nodes: vec![node],
                    ..v1::StacksReply::default()
                },
                stacks::Shown::default(),
            ),
            records::head(&records),
            records::lines(&records),
            buffers::text(&v1::BuffersReply {
                losses: vec![buffer_loss],
                ..v1::BuffersReply::default()
            }),
            command::failures(&failed).join("\n"),
            audit::line(&v1::AuditEntry {
                client: name(),
                command: name(),
                arguments: name(),
                outcome: name(),
                peer: name(),
                ..v1::AuditEntry::default()
            }),
        ]
    }

    /// Letters, escape sequences, control characters, and one that turns the direction round.
    const HOSTILE: &str = concat!(
        "([a-z]|\\x1b\\[[0-9;]{0,3}[A-Zm]",
        "|\\x1b\\]0;x\\x07|[\\x00-\\x1f\\x7f-\\u{9f}]|\u{202e}){1,12}"
    );

    proptest! {
        /// A name of the program steers no terminal and makes up no line.
        #[test]
        fn hostile_names_are_text_in_every_view(
            name in HOSTILE
        ) {
            for (hostile, plain) in views(&name).iter().zip(views("name")) {
                let shown = terminal::lines(hostile);
                let obeyed = |c: char| c != '\n' && c.is_control();
                let own = shown.replace(terminal::RED, "").replace(terminal::PLAIN, "");
                prop_assert!(!own.contains(obeyed), "{own:?}");
                prop_assert_eq!(shown.lines().count(), plain.lines().count(), "{}", shown);
            }
        }
    }
}
