//! Splits what a rank's definition ring holds into definitions, each behind a length of two bytes.

use invivo_proto::definition::{Definition, DefinitionError};

/// The entries of some whole stretch of the ring. Ends behind the first that is cut off; a length
/// comes before every entry, so one that cannot be read costs no other.
pub fn entries(mut bytes: &[u8]) -> impl Iterator<Item = Result<Definition<'_>, DefinitionError>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let cut_off = DefinitionError {
            offset: 0,
            why: "entry of the ring is cut off",
        };
        let Some((length, rest)) = bytes.split_first_chunk::<2>() else {
            bytes = &[];
            return Some(Err(cut_off));
        };
        let Some((entry, rest)) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
        else {
            bytes = &[];
            return Some(Err(cut_off));
        };
        bytes = rest;
        Some(Definition::decode(entry))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::ids::{CommId, CommLocal, Rank};
    use proptest::prelude::*;

    fn entry(definition: &Definition<'_>) -> Vec<u8> {
        let mut bytes = [0u8; 200];
        let length = definition.encode(&mut bytes).unwrap();
        [&(length as u16).to_le_bytes()[..], &bytes[..length]].concat()
    }

    #[test]
    fn a_bad_entry_costs_no_other() {
        let id = CommId {
            leader: Rank(2),
            counter: 5,
        };
        let first = Definition::Communicator {
            local: CommLocal(2),
            id,
            rank: 0,
            size: 3,
            remote: None,
        };
        let last = Definition::Name { id, name: b"rows" };
        let bad = [3, 0, 0xee, 0xee, 0xee];
        let bytes = [&entry(&first)[..], &bad, &entry(&last), &[200, 0, 1]].concat();
        let all: Vec<_> = entries(&bytes).collect();
        assert_eq!(all.len(), 4);
        assert_eq!((all[0], all[2]), (Ok(first), Ok(last)));
        assert!(all[1].is_err() && all[3].is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(entries(&bytes).count() <= bytes.len());
        }
    }
}
