//! Faults of connector files, with their location.

use std::fmt;

/// Reason why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectorFault {
    /// Name of the file.
    pub file: String,
    /// Key at fault, as in `actions.tag.request.post`; empty for the whole file.
    pub path: String,
    /// Line number from 1, if known.
    pub line: Option<usize>,
    /// Description of the fault and of the valid forms.
    pub what: String,
}

impl fmt::Display for ConnectorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for ConnectorFault {}
