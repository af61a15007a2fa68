//! Merges answers of a save: what is held is summed up, and a page is that of the place that has
//! the rank.

use invivo_proto::control::saved::Saved;

/// Adds `from` to `into`. Two pages are a fault of this program; then that with more in it is kept.
pub fn merge(into: &mut Saved, from: Saved) {
    into.locations = into.locations.saturating_add(from.locations);
    into.bytes = into.bytes.saturating_add(from.bytes);
    into.busy = into.busy.saturating_add(from.busy);
    let weight = |saved: &Saved| {
        let page = saved.page.as_ref();
        page.map(|page| (page.pieces.len(), page.groups.len(), page.number))
    };
    if weight(&from) > weight(into) {
        into.page = from.page;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::saved::SavedPage;

    #[test]
    fn sums_add_up_and_the_owners_page_is_kept() {
        let owner = Saved {
            locations: 2,
            bytes: 3,
            busy: 0,
            page: Some(SavedPage::default()),
        };
        let other = Saved {
            locations: 4,
            bytes: 5,
            busy: 1,
            page: None,
        };
        for (mut into, from) in [(owner.clone(), other.clone()), (other, owner.clone())] {
            merge(&mut into, from);
            let expected = Saved {
                locations: 6,
                bytes: 8,
                busy: 1,
                page: owner.page.clone(),
            };
            assert_eq!(into, expected);
        }
    }
}
