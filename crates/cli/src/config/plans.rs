//! `[plans.NAME]`: plans of the operator's customers.

use std::collections::BTreeMap;

use probity_account::plans::{
    Entitlement, EntitlementSet, NAME_MAX, PLAN_CREDITS_MAX, Plan, Plans, Refill, TrialTerms, is_built_in, is_plan_name,
};
use toml::{Table, Value};

use super::key::repeated_table;
use super::names;
use super::sections::RATE_MAX;
use super::value::{KeyValue, ValueForm, WholeNumber, text};

/// Maximum length of a title, in bytes.
const TITLE_MAX: usize = 100;

repeated_table! {
    /// `[plans.NAME]`.
    PlanTable {
        /// Displayed name.
        title: PlanTitle = "Team", "the name";
        /// Subscription credits per month. Months start on the day the organization joined the plan, in UTC; in shorter months on
        /// the last day.
        credits: WholeNumber<i64, 0, PLAN_CREDITS_MAX> = 10000, "0";
        /// Whether unused monthly credits stay.
        keep_unused: bool = false, "false";
        /// Prepaid credits of a new organization.
        initial: WholeNumber<i64, 0, PLAN_CREDITS_MAX> = 100, "0";
        /// Maximum number of members.
        seats: WholeNumber<i64, 1, 1_000_000> = 5, "no limit";
        /// Features: `webhooks`, `instafloss`, `typo_fixer`, `exclusions`, `update_tags`, `sso`, `autofloss`, `decay_basic`,
        /// `decay_custom`.
        entitlements: EntitlementSet = ["webhooks"], "all";
        /// Length of a new organization's trial in whole days; its months start afterwards.
        trial_days: WholeNumber<i64, 1, 366> = 14, "no trial";
        /// Credits of the trial.
        trial_credits: WholeNumber<i64, 0, PLAN_CREDITS_MAX> = 500, "0";
        /// Requests per minute for all keys of an organization.
        rate_per_minute: WholeNumber<i64, 1, RATE_MAX> = 1000, "`rate.organization_per_minute`";
        /// Prepaid credits per automatic refill.
        refill_credits: WholeNumber<i64, 1, PLAN_CREDITS_MAX> = 5000, "no refills, 402";
        /// Maximum number of refills per month.
        refill_times: WholeNumber<i64, 1, 10_000> = 3, "no refills, 402";
        /// Threshold of the low-balance notice in timeline, log and mail to the owner.
        low_balance: WholeNumber<i64, 1, PLAN_CREDITS_MAX> = 500, "no notice";
    }
}

/// Returns the tables in `[plans]`, by name.
pub(super) fn tables(value: &Value) -> Result<BTreeMap<String, Table>, String> {
    let Value::Table(plans) = value else { return Err("`plans` must be written as [plans.NAME]".into()) };
    let named = |(name, value): (&String, &Value)| match value {
        Value::Table(plan) => Ok((name.clone(), plan.clone())),
        _ => Err(format!("`plans.{name}` must be written as [plans.{name}] with its keys below")),
    };
    plans.iter().map(named).collect()
}

/// Reads all plans. `first` is the plan of new organizations; `initial` is the initial grant of the metered plan. Errors name the
/// key.
pub(super) fn read(tables: &BTreeMap<String, Table>, first: &str, initial: i64) -> Result<Plans, String> {
    let configured = tables.iter().map(|(name, table)| plan(name, table)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = tables.keys().map(String::as_str).chain(["unlimited", "metered"]).collect();
    let wrong = || format!("`credits.plan`: there is no plan {first:?}; there are `{}`", names.join("`, `"));
    Plans::new(configured, first, initial).ok_or_else(wrong)
}

fn plan(name: &str, table: &Table) -> Result<Plan, String> {
    if is_built_in(name) {
        return Err(format!("`plans.{name}`: this plan always exists; choose another name"));
    }
    if !is_plan_name(name) {
        let wanted = format!("1 to {NAME_MAX} lower-case letters, digits, `-` and `_`");
        return Err(format!("`plans.{name}`: a plan's name is {wanted}"));
    }
    PlanTable::read(table, &format!("plans.{name}."))?.plan(name)
}

impl PlanTable {
    fn plan(self, name: &str) -> Result<Plan, String> {
        let (trial, refill) = (self.trial(name)?, self.refill(name)?);
        Ok(Plan {
            title: self.title.map_or_else(|| name.to_owned(), |title| title.0),
            monthly: self.credits.map_or(0, WholeNumber::get),
            keeps_unused: self.keep_unused.unwrap_or(false),
            initial: self.initial.map_or(0, WholeNumber::get),
            seats: self.seats.map(WholeNumber::get),
            entitlements: self.entitlements.unwrap_or(EntitlementSet::ALL),
            trial,
            rate_limit_per_minute: self.rate_per_minute.map(WholeNumber::get),
            refill,
            low_balance: self.low_balance.map(WholeNumber::get),
            ..Plan::bare(name)
        })
    }

    fn trial(&self, name: &str) -> Result<Option<TrialTerms>, String> {
        match (self.trial_days.map(WholeNumber::get), self.trial_credits.map(WholeNumber::get)) {
            (Some(days), credits) => Ok(Some(TrialTerms { days, credits: credits.unwrap_or(0) })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(format!("`plans.{name}.trial_credits`: needs `trial_days`")),
        }
    }

    fn refill(&self, name: &str) -> Result<Option<Refill>, String> {
        match (self.refill_credits.map(WholeNumber::get), self.refill_times.map(WholeNumber::get)) {
            (Some(credits), Some(times)) => Ok(Some(Refill { credits, times })),
            (None, None) => Ok(None),
            (Some(_), None) => {
                Err(format!("`plans.{name}.refill_credits`: needs `refill_times`, the maximum per month"))
            }
            (None, Some(_)) => Err(format!("`plans.{name}.refill_times`: needs `refill_credits`")),
        }
    }
}

/// Displayed name of a plan.
#[derive(Debug)]
pub(super) struct PlanTitle(String);

impl KeyValue for PlanTitle {
    fn wanted() -> String {
        format!("a text of 1 to {TITLE_MAX} bytes without line breaks")
    }

    fn read(value: &Value) -> Result<Self, String> {
        let title = text::<Self>(value)?;
        let fits = (1..=TITLE_MAX).contains(&title.trim().len()) && !title.chars().any(char::is_control);
        if fits { Ok(Self(title.trim().to_owned())) } else { Err(Self::mismatch(value)) }
    }
}

impl KeyValue for EntitlementSet {
    const FORM: ValueForm = ValueForm::List;

    fn wanted() -> String {
        format!("a list of some of `{}`", Entitlement::ALL.map(Entitlement::as_str).join("`, `"))
    }

    fn read(value: &Value) -> Result<Self, String> {
        let one = |value: &Value| {
            let name = value.as_str().ok_or_else(|| Self::mismatch(value))?;
            name.parse::<Entitlement>().map_err(|()| {
                let meant = names::meant(name, Entitlement::ALL.iter().map(|one| one.as_str()));
                format!("{name:?} is not an entitlement; did you mean `{meant}`?")
            })
        };
        value.as_array().ok_or_else(|| Self::mismatch(value))?.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(text: &str, first: &str) -> Result<Plans, String> {
        let table: Table = text.parse().unwrap();
        read(&tables(table.get("plans").unwrap_or(&Value::Table(Table::new())))?, first, 7)
    }

    #[test]
    fn a_plan_has_what_its_table_says() {
        let text = "[plans.team]\ntitle = \"Team\"\ncredits = 5000\nkeep_unused = true\ninitial = 3\nseats = 5\n\
            entitlements = [\"webhooks\", \"sso\"]\ntrial_days = 14\ntrial_credits = 100\nrate_per_minute = 600\n\
            refill_credits = 1000\nrefill_times = 3\nlow_balance = 200\n[plans.bare]\n";
        let all = plans(text, "team").unwrap();
        let expected = Plan {
            name: "team".into(),
            title: "Team".into(),
            monthly: 5_000,
            keeps_unused: true,
            initial: 3,
            seats: Some(5),
            entitlements: [Entitlement::Webhooks, Entitlement::Sso].into_iter().collect(),
            trial: Some(TrialTerms { days: 14, credits: 100 }),
            rate_limit_per_minute: Some(600),
            refill: Some(Refill { credits: 1_000, times: 3 }),
            low_balance: Some(200),
        };
        assert_eq!(all.first(), &expected);
        assert_eq!(all.get("bare"), Some(&Plan::bare("bare")));
        assert_eq!(all.of("metered").initial, 7);
        assert!(plans("", "unlimited").unwrap().first().is_unlimited());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, first, message) in [
            ("plans = 3", "metered", "[plans.NAME]"),
            ("plans.team = 3", "metered", "[plans.team]"),
            ("[plans.metered]", "metered", "always exists"),
            ("[plans.Team]", "metered", "lower-case"),
            ("", "team", "there is no plan \"team\"; there are `unlimited`, `metered`"),
            ("[plans.team]\ncredit = 1", "team", "`plans.team.credit`: there is no such key; did you mean `credits`?"),
            ("[plans.team]\ncredits = -1", "team", "`plans.team.credits`: must be a whole number from 0"),
            ("[plans.team]\ncredits = \"5\"", "team", "whole number"),
            ("[plans.team]\ntitle = \"\"", "team", "`plans.team.title`"),
            ("[plans.team]\nkeep_unused = 1", "team", "true or false"),
            ("[plans.team]\nentitlements = [\"webhook\"]", "team", "did you mean `webhooks`?"),
            ("[plans.team]\nentitlements = \"webhooks\"", "team", "a list of some of"),
            ("[plans.team]\ntrial_credits = 5", "team", "needs `trial_days`"),
            ("[plans.team]\nrefill_credits = 5", "team", "needs `refill_times`"),
            ("[plans.team]\nrefill_times = 5", "team", "needs `refill_credits`"),
        ] {
            let found = plans(text, first).unwrap_err();
            assert!(found.contains(message), "{text}: {found}");
        }
    }
}
