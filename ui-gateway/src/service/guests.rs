//! Who was invited, and taking that back.

use super::Service;
use crate::auth::caller::Caller;
use crate::connection::state::ConnectionState;
use crate::limits::rate_limited_log::LogKind;
use invivo_grpc::v1;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tonic::{Response, Status};

impl Service {
    /// All guests.
    pub(super) fn answer_guests(&self) -> v1::GuestsReply {
        let guests = self.invitations.tokens().list();
        let guests = guests.into_iter().map(|guest| v1::Guest {
            number: guest.number,
            scope: guest.scope.name().to_owned(),
            invited_by: guest.invited_by.unwrap_or(0),
            since_unix_ns: nanoseconds(guest.since),
            used: guest.is_used,
        });
        v1::GuestsReply {
            guests: guests.collect(),
        }
    }

    /// A token for whoever knows an invitation's secret.
    pub(super) fn answer_redeem(
        &self,
        connection: &ConnectionState,
        secret: &str,
    ) -> Result<Response<v1::RedeemReply>, Status> {
        let (peer, client) = (connection.peer(), connection.client_name());
        let (reply, guest) = self
            .invitations
            .redeem(secret, peer.key(), Instant::now())
            // A wrong secret counts like a call without a token, since it is an attempt to guess.
            .inspect_err(|_| {
                connection.count_refusal();
                self.audit
                    .refused("redeem", peer, client.clone(), "no such invitation");
            })?;
        let used = format!("invitation {guest} used, scope {}", reply.scope);
        self.log.info(LogKind::Invitation, &peer, &client, &used);
        Ok(Response::new(reply))
    }

    /// Takes back what a guest has.
    pub(super) fn answer_revoke(
        &self,
        caller: Caller,
        guest: u64,
    ) -> Result<Response<v1::RevokeReply>, Status> {
        let guests = self.invitations.revoke(guest);
        let gone: Vec<String> = guests.iter().map(u64::to_string).collect();
        self.audit.revoked(&caller, guest, &gone.join(", "));
        if guests.is_empty() {
            return Err(Status::not_found(format!(
                "there is no guest {guest}: see who is (invivo invite --list)"
            )));
        }
        Ok(Response::new(v1::RevokeReply { guests }))
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
