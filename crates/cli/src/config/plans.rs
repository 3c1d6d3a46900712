//! `[plans.NAME]`: plans of the operator's customers.

use std::collections::BTreeMap;

use probity_account::plans::{
    Entitlement, Entitlements, NAME_MAX, Plan, Plans, Refill, Trial, is_built_in, is_plan_name,
};
use toml::{Table, Value};

use super::schema;

const KEYS: [&str; 12] = [
    "title",
    "credits",
    "keep_unused",
    "initial",
    "seats",
    "entitlements",
    "trial_days",
    "trial_credits",
    "rate_per_minute",
    "refill_credits",
    "refill_times",
    "low_balance",
];
/// Maximum length of a title, in bytes.
const TITLE_MAX: usize = 100;
/// Maximum credits of one grant: 1/1,000 of the amount that counts as unlimited.
const CREDITS_MAX: i64 = 1_000_000_000;
/// Maximum length of a trial, in days.
const DAYS_MAX: i64 = 366;
/// Maximum number of seats.
const SEATS_MAX: i64 = 1_000_000;

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
    let read = Of { name, table };
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let near = schema::nearest(key, KEYS.into_iter());
        let hint = near.map_or_else(|| KEYS.join("`, `"), str::to_owned);
        return Err(read.wrong(key, &format!("there is no such key; did you mean `{hint}`?")));
    }
    Ok(Plan {
        title: read.title()?,
        monthly: read.whole("credits", 0, CREDITS_MAX)?.unwrap_or(0),
        keeps_unused: read.flag("keep_unused")?,
        initial: read.whole("initial", 0, CREDITS_MAX)?.unwrap_or(0),
        seats: read.whole("seats", 1, SEATS_MAX)?,
        entitlements: read.entitlements()?,
        trial: read.trial()?,
        rate_limit_per_minute: read.whole("rate_per_minute", 1, schema::RATE_MAX)?,
        refill: read.refill()?,
        low_balance: read.whole("low_balance", 1, CREDITS_MAX)?,
        ..Plan::bare(name)
    })
}

/// The table of one plan.
struct Of<'a> {
    name: &'a str,
    table: &'a Table,
}

impl Of<'_> {
    fn wrong(&self, key: &str, what: &str) -> String {
        format!("`plans.{}.{key}`: {what}", self.name)
    }

    fn whole(&self, key: &str, least: i64, most: i64) -> Result<Option<i64>, String> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::Integer(number)) if (least..=most).contains(number) => Ok(Some(*number)),
            Some(_) => Err(self.wrong(key, &format!("must be a whole number from {least} to {most}"))),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.table.get(key) {
            None => Ok(false),
            Some(Value::Boolean(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "must be true or false")),
        }
    }

    fn title(&self) -> Result<String, String> {
        let wanted = || self.wrong("title", &format!("must be a text of 1 to {TITLE_MAX} bytes without line breaks"));
        match self.table.get("title") {
            None => Ok(self.name.to_owned()),
            Some(Value::String(title)) => {
                let fits = (1..=TITLE_MAX).contains(&title.trim().len()) && !title.chars().any(char::is_control);
                if fits { Ok(title.trim().to_owned()) } else { Err(wanted()) }
            }
            Some(_) => Err(wanted()),
        }
    }

    /// Returns the named entitlements; all if none are named.
    fn entitlements(&self) -> Result<Entitlements, String> {
        let all = Entitlement::ALL.map(Entitlement::as_str).join("`, `");
        let Some(value) = self.table.get("entitlements") else { return Ok(Entitlements::ALL) };
        let wanted = || self.wrong("entitlements", &format!("must be a list of some of `{all}`"));
        let one = |value: &Value| {
            let name = value.as_str().ok_or_else(wanted)?;
            let unknown = || {
                let near = schema::nearest(name, Entitlement::ALL.iter().map(|one| one.as_str()));
                let hint = near.map_or_else(|| all.clone(), str::to_owned);
                self.wrong("entitlements", &format!("{name:?} is not an entitlement; did you mean `{hint}`?"))
            };
            name.parse::<Entitlement>().map_err(|()| unknown())
        };
        value.as_array().ok_or_else(wanted)?.iter().map(one).collect()
    }

    fn trial(&self) -> Result<Option<Trial>, String> {
        let days = self.whole("trial_days", 1, DAYS_MAX)?;
        let credits = self.whole("trial_credits", 0, CREDITS_MAX)?;
        match (days, credits) {
            (Some(days), credits) => Ok(Some(Trial { days, credits: credits.unwrap_or(0) })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.wrong("trial_credits", "needs `trial_days`")),
        }
    }

    fn refill(&self) -> Result<Option<Refill>, String> {
        let credits = self.whole("refill_credits", 1, CREDITS_MAX)?;
        let times = self.whole("refill_times", 1, 10_000)?;
        match (credits, times) {
            (Some(credits), Some(times)) => Ok(Some(Refill { credits, times })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.wrong("refill_credits", "needs `refill_times`, the maximum per month")),
            (None, Some(_)) => Err(self.wrong("refill_times", "needs `refill_credits`")),
        }
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
            trial: Some(Trial { days: 14, credits: 100 }),
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
