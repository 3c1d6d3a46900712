//! Letter to members who wanted to know when a list is over.

use probity_account::id::JobId;
use probity_account::language::PageLanguage;
use probity_mail::verdict::Status;

use crate::form::{Letter, LetterDraft, LetterTable, titles};
use crate::phrase::{filled, text};
use crate::words;
use crate::written::number;

/// A list that is over.
#[derive(Clone, Copy, Debug)]
pub struct ListLetter<'a> {
    /// Name of the list.
    pub title: Option<&'a str>,
    /// ID of the list.
    pub id: JobId,
    /// Number of its rows.
    pub rows: i64,
    /// Number of rows with a verdict; less than all if verification was stopped.
    pub processed: i64,
    /// Number of deliverable rows.
    pub passed: i64,
}

impl ListLetter<'_> {
    /// Writes the letter. The list is at `dashboard`, an address without a slash at the end.
    pub fn written(&self, language: PageLanguage, dashboard: &str) -> Letter {
        let is_whole = self.processed == self.rows;
        let (subject, lead) = if is_whole {
            (
                [
                    "{list} is verified",
                    "{list} ist geprüft",
                    "{list}\u{a0}: vérification terminée",
                    "{list}: verificación terminada",
                ],
                [
                    "Verification is complete.",
                    "Die Prüfung ist abgeschlossen.",
                    "La vérification est terminée.",
                    "La verificación ha terminado.",
                ],
            )
        } else {
            (
                [
                    "{list} was stopped",
                    "{list} wurde gestoppt",
                    "{list}\u{a0}: vérification arrêtée",
                    "{list}: verificación detenida",
                ],
                [
                    "Verification was stopped before all rows had a verdict.",
                    "Die Prüfung wurde gestoppt, bevor alle Zeilen ein Ergebnis hatten.",
                    "La vérification a été arrêtée avant que toutes les lignes aient un résultat.",
                    "La verificación se detuvo antes de que todas las filas tuvieran un resultado.",
                ],
            )
        };
        let unnamed = text(language, ["Your list", "Ihre Liste", "Votre liste", "Su lista"]);
        let (subject, heading) =
            titles(self.title.unwrap_or(unnamed), |list| filled(language, subject, &[("list", list)]));
        let label = ["Open the list", "Liste öffnen", "Ouvrir la liste", "Abrir la lista"];
        LetterDraft {
            language,
            subject,
            heading,
            lead: vec![text(language, lead).to_owned()],
            tables: vec![self.figures(language)],
            page: (text(language, label), format!("{dashboard}/#/lists/{}", self.id)),
            after: None,
            report: None,
        }
        .written()
    }

    fn figures(&self, language: PageLanguage) -> LetterTable {
        let row = |label, n| (text(language, label).to_owned(), number(language, n));
        let mut rows = vec![row(words::ROWS, self.rows)];
        if self.processed != self.rows {
            rows.push(row(["Verified", "Geprüft", "Vérifiées", "Verificadas"], self.processed));
        }
        rows.push(row(words::status(Status::Passed), self.passed));
        LetterTable { title: text(language, ["Verdicts", "Ergebnisse", "Résultats", "Resultados"]), rows }
    }
}
