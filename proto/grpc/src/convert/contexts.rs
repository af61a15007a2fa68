//! Converts samples and their calling contexts to messages for clients.

use super::stacks::frame;
use crate::v1;
use invivo_proto::control::buffers::SampleRow;
use invivo_proto::control::contexts::Contexts;
use invivo_proto::control::stacks::Frame;

pub(super) fn contexts(all: &Contexts) -> Vec<v1::CallingContext> {
    let all = all.iter().map(|(number, context)| {
        let (kind, function, module) = frame(&context.frame);
        v1::CallingContext {
            number: *number,
            parent: context.parent,
            kind: kind.to_owned(),
            function: function.to_owned(),
            module: module.to_owned(),
        }
    });
    all.collect()
}

pub(super) fn samples(rows: &[SampleRow], contexts: &Contexts) -> Vec<v1::SampleRecord> {
    let samples = rows.iter().map(|row| v1::SampleRecord {
        at_ns: row.at_ns,
        at_ticks: row.at_ticks,
        ordinal: row.ordinal,
        context: row.context,
        values: row.values.clone(),
        function: function(row.context, contexts),
        occupant: row.occupant,
    });
    samples.collect()
}

/// The function of a context in words.
fn function(number: u32, contexts: &Contexts) -> String {
    match contexts.get(&number).map(|context| &context.frame) {
        Some(Frame::Function { module, name }) if name.is_empty() => match module.as_str() {
            "" => "(code in no file)".to_owned(),
            file => file.to_owned(),
        },
        Some(Frame::Function { name, .. } | Frame::Python { name, .. }) => name.clone(),
        Some(Frame::Lost) => "(callers that are not known)".to_owned(),
        Some(Frame::LeftOut) => "(...)".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::contexts::Context;

    #[test]
    fn a_sample_has_the_name_of_its_function() {
        let of = |module: &str, name: &str| Frame::Function {
            module: module.into(),
            name: name.into(),
        };
        let frames = [
            of("app", "solve"),
            of("[kernel]", ""),
            of("libm.so.6", ""),
            of("", ""),
            Frame::Lost,
        ];
        let context = |frame| Context { parent: 0, frame };
        let all: Contexts = (1..).zip(frames.map(context)).collect();
        let names = [1, 2, 3, 4, 5, 6, 0].map(|number| function(number, &all));
        let told = [
            "solve",
            "[kernel]",
            "libm.so.6",
            "(code in no file)",
            "(callers that are not known)",
            "",
            "",
        ];
        assert_eq!(names, told);
    }
}
