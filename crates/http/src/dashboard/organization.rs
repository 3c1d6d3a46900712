//! Pages about an organization besides its lists: first steps and name, activity of members, keys, requests and providers, searches for an address,
//! previews of settings, rules and erasures, and outbound SMTP health.

use probity_account::id::{KeyId, WebhookId};
use probity_contract::page::List;
use probity_contract::published::accounts::keys::ApiKey;
use probity_contract::published::accounts::settings::SettingsPatch;
use probity_service::accounts::first_steps::{self, FirstSteps, NamedOrganization, OrganizationName};
use probity_service::accounts::key_changes::{self, RenameKey, RotateKey, RotatedKey};
use probity_service::accounts::people::member_sessions::{self, LastUses};
use probity_service::activity::requests::{self, RequestShown, RequestsQuery};
use probity_service::connections::ConnectionPlace;
use probity_service::connections::trial::{RuleTrial, TriedAddress, try_keyword_rules};
use probity_service::lists::lookup::{AddressPlaces, LookupQuery, find_places};
use probity_service::lists::providers::{ProviderCounts, ProvidersQuery, count_providers};
use probity_service::lists::trial::{self, SettingsTrial};
use probity_service::operator::egress::{self, CheckingAgain, EgressWays, list_ways};
use probity_service::privacy::traces::{self, AddressTraces, SoughtAddresses, TracesQuery};
use probity_service::webhooks::deliveries::{DeliveryHours, count_by_hour};

use crate::handler::{Answer, Asking, Call, Created, JsonBody, PathId, answer, created};

/// Returns the outbound SMTP health of all live nodes.
pub(crate) async fn get_ways(Call(app, caller): Call) -> Answer<EgressWays> {
    answer(list_ways(&app, &caller).await)
}

/// Repeats the checkup of this node.
pub(crate) async fn check_again(Call(app, caller): Call) -> Answer<CheckingAgain> {
    answer(egress::check_again(&app, &caller).await)
}

/// Returns the steps that a new organization has taken.
pub(crate) async fn get_steps(Call(app, caller): Call) -> Answer<FirstSteps> {
    answer(first_steps::get_first_steps(&app, &caller).await)
}

/// Names the organization.
pub(crate) async fn name_it(
    Call(app, caller): Call,
    JsonBody(wish): JsonBody<OrganizationName>,
) -> Answer<NamedOrganization> {
    answer(first_steps::name_organization(&app, &caller, wish).await)
}

/// Returns when members were last active.
pub(crate) async fn get_last_uses(Call(app, caller): Call) -> Answer<LastUses> {
    answer(member_sessions::list_last_uses(&app, &caller).await)
}

/// Renames a key.
pub(crate) async fn patch_key(
    Call(app, caller): Call,
    PathId(id): PathId<KeyId>,
    JsonBody(wish): JsonBody<RenameKey>,
) -> Answer<ApiKey> {
    answer(key_changes::rename_key(&app, &caller, id, wish).await)
}

/// Rotates a key.
pub(crate) async fn rotate_key(
    Call(app, caller): Call,
    PathId(id): PathId<KeyId>,
    JsonBody(asked): JsonBody<RotateKey>,
) -> Created<RotatedKey> {
    created(key_changes::rotate_key(&app, &caller, id, asked).await)
}

/// Counts a webhook's deliveries by hour.
pub(crate) async fn get_hours(Call(app, caller): Call, PathId(id): PathId<WebhookId>) -> Answer<DeliveryHours> {
    answer(count_by_hour(&app, &caller, id).await)
}

/// Finds a part of an address in the lists.
pub(crate) async fn get_places(Call(app, caller): Call, Asking(query): Asking<LookupQuery>) -> Answer<AddressPlaces> {
    answer(find_places(&app, &caller, query).await)
}

/// Counts what an erasure would reach.
pub(crate) async fn find_traces(
    Call(app, caller): Call,
    Asking(query): Asking<TracesQuery>,
    JsonBody(sought): JsonBody<SoughtAddresses>,
) -> Answer<AddressTraces> {
    answer(traces::find_traces(&app, &caller, query, sought).await)
}

/// Returns the numbers of addresses verified in the last days, including today, by mail provider.
pub(crate) async fn get_providers(
    Call(app, caller): Call,
    Asking(query): Asking<ProvidersQuery>,
) -> Answer<ProviderCounts> {
    answer(count_providers(&app, &caller, query).await)
}

/// Lists the requests of the organization's API keys, newest first.
pub(crate) async fn list_requests(
    Call(app, caller): Call,
    Asking(query): Asking<RequestsQuery>,
) -> Answer<List<RequestShown>> {
    answer(requests::list_requests(&app, &caller, query).await)
}

/// Tries the keyword rules of a connection on an address.
pub(crate) async fn try_rules(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    JsonBody(tried): JsonBody<TriedAddress>,
) -> Answer<RuleTrial> {
    answer(try_keyword_rules(&app, &caller, &place, tried).await)
}

/// Tries settings on the organization's last list. The body is that of a settings change.
pub(crate) async fn try_settings(
    Call(app, caller): Call,
    JsonBody(patch): JsonBody<SettingsPatch>,
) -> Answer<SettingsTrial> {
    answer(trial::try_settings(&app, &caller, patch).await)
}
