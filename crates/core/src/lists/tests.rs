use super::*;

fn lists() -> &'static Lists {
    Lists::embedded()
}
