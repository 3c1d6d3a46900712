//! Configured plans, and the two built-in ones.

use probity_account::plans::Plan;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::operator::plans::ConfiguredPlan;

use crate::app::App;

/// Lists every plan that an organization can have, by name.
pub fn list_plans(app: &App) -> List<ConfiguredPlan> {
    let plans = &app.config.plans;
    let default = &plans.first().name;
    List::whole(plans.all().map(|plan| ConfiguredPlan::of(plan, plan.name == *default)).collect())
}

/// Returns the plan with a name, or the default plan.
pub(crate) fn find_plan<'a>(app: &'a App, name: Option<&str>) -> Result<&'a Plan, ApiError> {
    let plans = &app.config.plans;
    let Some(name) = name else { return Ok(plans.first()) };
    plans.get(name).ok_or_else(|| ApiError::invalid("plan", "must be a plan listed by `GET /admin/v1/plans`"))
}
