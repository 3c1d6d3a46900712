//! Headings of the summary in a workbook.

use probity_account::language::PageLanguage;
use probity_mail::verdict::{Reason, Status};

use crate::phrase::{Wording, text};
use crate::words;

/// Heading of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheetHeading {
    /// Rows of the list that are in the file.
    Selection,
    /// Number of rows.
    Rows,
    /// Status of rows.
    Status,
    /// Share of all rows.
    Share,
    /// Reason of rows.
    Reason,
    /// Word for a status or a reason in the columns of results.
    Code,
    /// Title of the chart.
    Verdicts,
    /// What the chart shows, for those who do not see it.
    ChartText,
    /// Rows without a verdict.
    Pending,
    /// Selection of all rows.
    AllRows,
    /// Selection by other conditions than the verdict.
    FilteredRows,
}

impl SheetHeading {
    /// Returns the words in a language.
    pub fn text(self, language: PageLanguage) -> &'static str {
        let phrase: Wording = match self {
            Self::Selection => ["Selection", "Auswahl", "Sélection", "Selección"],
            Self::Rows => words::ROWS,
            Self::Status => ["Status", "Status", "Statut", "Estado"],
            Self::Share => ["Share", "Anteil", "Part", "Proporción"],
            Self::Reason => ["Reason", "Grund", "Motif", "Motivo"],
            Self::Code => ["In the results", "In den Ergebnissen", "Dans les résultats", "En los resultados"],
            Self::Verdicts => ["Verdicts", "Ergebnisse", "Résultats", "Resultados"],
            Self::ChartText => [
                "Rows by verdict, as in the table beside it",
                "Zeilen nach Ergebnis, wie in der Tabelle daneben",
                "Lignes par résultat, comme dans le tableau à côté",
                "Filas por resultado, como en la tabla de al lado",
            ],
            Self::AllRows => ["All rows", "Alle Zeilen", "Toutes les lignes", "Todas las filas"],
            Self::FilteredRows => {
                ["The filtered rows", "Die gefilterten Zeilen", "Les lignes filtrées", "Las filas filtradas"]
            }
            Self::Pending => ["Pending", "Ausstehend", "En attente", "Pendiente"],
        };
        text(language, phrase)
    }
}

/// Returns the word for a status.
pub fn status_words(language: PageLanguage, of: Status) -> &'static str {
    text(language, words::status(of))
}

/// Returns the words for a reason.
pub fn reason_words(language: PageLanguage, of: Reason) -> &'static str {
    text(language, words::reason(of))
}
