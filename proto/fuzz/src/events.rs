//! The check of files of events, as saved observations have them.

use invivo_archive::saved::bins::{BinsReader, head, write_bin, write_end};
use invivo_otfx::{ChainError, Chains};

/// A file of events; and, because checksums keep the fuzzer out, the same bytes as the content of
/// two bins of a right one.
pub fn events(data: &[u8]) {
    if let Ok((mut reader, _)) = BinsReader::new(data) {
        let mut content = Vec::new();
        let mut bytes = 0;
        while let Ok(Some(bin)) = reader.next(&mut content) {
            bytes += content.len();
            assert!(bytes <= data.len(), "more than there is");
            assert_eq!(content.len(), bin.bytes as usize);
        }
        assert!(
            matches!(reader.next(&mut content), Ok(None)),
            "something behind the end"
        );
    }

    let (one, other) = data.split_at(data.len() / 2);
    let mut file = head(3, 1).to_vec();
    for (chain, content) in [(0, one), (1, other)] {
        write_bin(&mut file, chain, content).expect("short enough");
    }
    write_end(&mut file, 2).expect("two");
    let (mut reader, place) = BinsReader::new(&file[..]).expect("a right head");
    assert_eq!(place, (3, 1));
    let mut bins = [None, None];
    let mut content = Vec::new();
    while let Some(bin) = reader.next(&mut content).expect("right frames") {
        bins[bin.chain as usize] = Some(content.clone());
    }
    assert_eq!(bins, [Some(one.to_vec()), Some(other.to_vec())]);

    // Whatever is in them is read to its end or refused.
    let mut chains = Chains::new(2);
    let mut records = 0;
    while let Ok(Some(record)) = chains.next(|chain, into: &mut Vec<u8>| {
        let next = bins[chain].take();
        into.extend_from_slice(next.as_deref().unwrap_or_default());
        Ok::<bool, ChainError>(next.is_some())
    }) {
        records += 1;
        assert!(records <= data.len(), "a record takes a byte at least");
        assert!(record.head.begin() <= record.head.end());
    }
}
