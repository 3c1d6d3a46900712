//! `Evidence -> findings -> Verdict`.
