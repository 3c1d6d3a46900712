//! `GET /v1/verify`.

use probity_contract::published::verify::verdict::VerdictSchema;
use probity_contract::published::verify::{ShownVerdict, VerifyQuery};
use probity_service::verify::verify_address;

use crate::handler::{Answer, Asking, Call, answer};

/// Verify an address
///
/// Probes the address's MX hosts, unless a fresh verdict is cached, and returns the verdict. A verdict costs 1 credit,
/// unless its reason is `unverified` or `failed_exchange`. `sandbox.test` is for test keys: a live key gets `invalid`
/// with the meta `sandbox_name`.
#[utoipa::path(
    get,
    path = "/v1/verify",
    tag = "Verification",
    params(VerifyQuery),
    security(("bearer" = ["verify"])),
    extensions(("x-errors" = json!(["insufficient_credits"]))),
    responses((status = 200, description = "The verdict.", body = VerdictSchema))
)]
pub(crate) async fn verify_email(Call(app, caller): Call, Asking(query): Asking<VerifyQuery>) -> Answer<ShownVerdict> {
    answer(verify_address(&app, &caller, query).await)
}
