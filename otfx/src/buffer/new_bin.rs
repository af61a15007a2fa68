//! Stores a record whose level has no open bin, or one that is too full: opens a bin, for which
//! others may have to go.

use super::store::{call_record, region_record};
use super::{Buffer, Item, Last, Stored, first_posted};
use crate::encoding::Key;
use crate::event::{Attributes, EventClass, Pass, VALUES_MAX};
use crate::ledger::Reason;
use crate::writer::{Body, Writer};
use invivo_proto::record::{Call, Part};

impl Buffer {
    #[cold]
    #[inline(never)]
    pub(super) fn store_reading_in_new_bin(
        &mut self,
        level: usize,
        class: EventClass,
        key: Key,
        body: Body,
        values: &[u64],
    ) -> Stored {
        let item = Item {
            level,
            class,
            end: body.end,
            request: None,
        };

        if values.len() > VALUES_MAX {
            let gone = self.given_up();
            return self.give_up(&item, Reason::Refused, gone);
        }

        self.store_in_new_bin(&item, &|writer, bin| {
            writer.reading(bin, class, key, body, values)
        })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn store_region_in_new_bin(
        &mut self,
        level: usize,
        pass: &Pass,
        attributes: Attributes,
    ) -> Stored {
        let marks = self.marks();
        let item = Item {
            level,
            class: EventClass::Region,
            end: pass.end,
            request: None,
        };

        self.store_in_new_bin(&item, &|writer, bin| {
            let record = || region_record(pass, attributes, marks);
            writer.timed(bin, EventClass::Region, record, &[])
        })
    }

    #[cold]
    pub(super) fn store_in_new_bin(
        &mut self,
        item: &Item,
        write: &dyn Fn(&mut Writer, &mut [u8]) -> bool,
    ) -> Stored {
        let gone = self.given_up();
        let bin = match self.open_bin(item) {
            Ok(bin) => bin,
            Err(reason) => return self.give_up(item, reason, gone),
        };

        let written = write(&mut self.levels[item.level].writer, self.arena.bin_mut(bin));
        assert!(
            written,
            "the smallest bin holds any record that has no parts"
        );
        Stored {
            kept: true,
            given_up: self.given_up() - gone,
        }
    }

    /// The open bin has no room, or there is none.
    #[cold]
    #[inline(never)]
    pub(super) fn store_call_in_new_bin(
        &mut self,
        level: usize,
        call: &Call,
        parts: &[Part],
        attributes: Attributes,
    ) -> Stored {
        let marks = self.marks();
        let record = || call_record(call, attributes, marks);
        self.last = Last::Gone;
        let item = Item {
            level,
            class: EventClass::Call,
            end: call.end,
            request: record().1.request.or_else(|| first_posted(parts)),
        };

        let gone = self.given_up();
        // A completion is only valid as a part of the call that completed it.
        if call.facts.kind.completes() {
            return self.give_up(&item, Reason::Refused, gone);
        }

        let bin = match self.open_bin(&item) {
            Ok(bin) => bin,
            Err(reason) => {
                // What was tried in the bin before has counted its requests, as far as it came.
                let writer = &mut self.levels[level].writer;
                writer.expect_request(item.request);
                return self.give_up(&item, reason, gone);
            }
        };

        let writer = &mut self.levels[level].writer;
        let (base_time, next_request) = (writer.last_end(), writer.next_request());
        let memory = self.arena.bin_mut(bin);
        if writer.timed(memory, EventClass::Call, record, parts) {
            self.last = Last::Call { level, bin };
            return Stored {
                kept: true,
                given_up: self.given_up() - gone,
            };
        }

        // More than a bin holds: the head takes what surely fits, continuations the rest.
        // The failed attempt left its keys in the dictionary: the bin is begun again.
        writer.begin(memory, base_time, next_request);
        let (beside, rest) = parts.split_at(writer.certain(memory, parts.len()));
        let written = writer.timed(memory, EventClass::Call, record, beside);
        assert!(
            written,
            "the smallest bin holds any call and ten of its parts"
        );
        self.last = Last::Call { level, bin };
        let parts_reduced = self.parts_reduced;
        self.store_more(rest);
        let kept = matches!(self.last, Last::Call { .. });
        Stored {
            kept: kept && self.parts_reduced == parts_reduced,
            // The call itself may have been given up for its own parts; it is not one of the
            // others.
            given_up: self.given_up() - gone - u64::from(!kept),
        }
    }

    /// The record itself goes.
    #[cold]
    pub(super) fn give_up(&mut self, item: &Item, reason: Reason, gone_before: u64) -> Stored {
        if let Last::Call { .. } = self.last {
            self.last = Last::Over;
        }
        let given_up = self.given_up().saturating_sub(gone_before);
        self.levels[item.level]
            .chain
            .refuse(item.class, reason, item.end);
        self.gone[reason as usize] += 1;
        Stored {
            kept: false,
            given_up,
        }
    }

    /// Records that were kept and are gone, or never were.
    pub(super) fn given_up(&self) -> u64 {
        self.gone.iter().sum()
    }
}
