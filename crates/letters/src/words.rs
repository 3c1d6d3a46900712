//! Words that several texts share: those of the dashboard.

use probity_account::connections::{BrakeReason, ContactAction};
use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;
use probity_mail::verdict::{Reason, Status};

use crate::form::LetterTable;
use crate::phrase::{Counted, OF_VOWEL, Wording, text};
use crate::written::number;

pub(crate) const WAITING_FOR_YOU: Wording =
    ["Waiting for you", "Wartet auf Sie", "Attend votre accord", "Pendiente de usted"];
pub(crate) const ROWS: Wording = ["Rows", "Zeilen", "Lignes", "Filas"];
/// Number of actions that wait.
pub(crate) const ACTIONS_WAIT: Counted = Counted {
    one: [
        "{n} action is waiting for you",
        "{n} Aktion wartet auf Sie",
        "{n} {of}action attend votre accord",
        "{n} {of}acción pendiente de usted",
    ],
    other: [
        "{n} actions are waiting for you",
        "{n} Aktionen warten auf Sie",
        "{n} {of}actions attendent votre accord",
        "{n} {of}acciones pendientes de usted",
    ],
    of: OF_VOWEL,
};

/// Returns the word for a status.
pub(crate) fn status(of: Status) -> Wording {
    match of {
        Status::Passed => ["Deliverable", "Zustellbar", "Distribuable", "Entregable"],
        Status::Undeliverable => ["Undeliverable", "Unzustellbar", "Non distribuable", "No entregable"],
        Status::Risky => ["Risky", "Riskant", "Risquée", "De riesgo"],
        Status::Unknown => ["Unknown", "Unbekannt", "Inconnue", "Desconocida"],
    }
}

/// Returns the word for a status of contacts, which are masculine where addresses are feminine.
pub(crate) fn contact_status(of: Status) -> Wording {
    match of {
        Status::Risky => ["Risky", "Riskant", "Risqué", "De riesgo"],
        Status::Unknown => ["Unknown", "Unbekannt", "Inconnu", "Desconocido"],
        Status::Passed | Status::Undeliverable => status(of),
    }
}

/// Returns the words for a reason.
pub(crate) fn reason(of: Reason) -> Wording {
    match of {
        Reason::Valid => ["Accepts mail", "Nimmt E-Mails an", "Accepte les e-mails", "Acepta correo"],
        Reason::Invalid => {
            ["Not a valid address", "Keine gültige Adresse", "Adresse non valide", "Dirección no válida"]
        }
        Reason::Illegitimate => {
            ["Domain accepts no mail", "Domain ohne E-Mail-Empfang", "Domaine sans e-mail", "Dominio sin correo"]
        }
        Reason::Nonexistent => ["No such mailbox", "Postfach gibt es nicht", "Boîte inexistante", "Buzón inexistente"],
        Reason::Deactivated => ["Mailbox disabled", "Postfach deaktiviert", "Boîte désactivée", "Buzón desactivado"],
        Reason::InboxFull => ["Mailbox full", "Postfach voll", "Boîte pleine", "Buzón lleno"],
        Reason::Spam => ["Spam trap", "Spamfalle", "Piège à spam", "Trampa de spam"],
        Reason::Complained => ["Complained before", "Beschwerde", "Plainte", "Queja"],
        Reason::Bounced => ["Bounced before", "Rückläufer", "Retour en erreur", "Rebote"],
        Reason::Blacklisted => [
            "“Always act” rule",
            "Regel „Immer handeln“",
            "Règle «\u{a0}Toujours agir\u{a0}»",
            "Regla «Actuar siempre»",
        ],
        Reason::Disposable => ["Disposable address", "Wegwerfadresse", "Adresse jetable", "Dirección desechable"],
        Reason::BannedWords => ["Banned word", "Gesperrtes Wort", "Mot interdit", "Palabra prohibida"],
        Reason::RoleBased => ["Role mailbox", "Funktionspostfach", "Adresse générique", "Dirección genérica"],
        Reason::Available => ["Parked domain", "Geparkte Domain", "Domaine parqué", "Dominio aparcado"],
        Reason::AcceptAll => ["Catch-all domain", "Catch-all-Domain", "Domaine catch-all", "Dominio catch-all"],
        Reason::FailedExchange => ["Probe refused", "Abfrage abgelehnt", "Interrogation refusée", "Consulta rechazada"],
        Reason::Unverified => ["Couldn't be verified", "Ungeklärt", "Vérification impossible", "No se pudo verificar"],
    }
}

/// Returns why a run waits. `None`: some of its actions failed.
pub(crate) fn held(by: Option<BrakeReason>) -> Wording {
    match by {
        Some(BrakeReason::Dry) => [
            "Dry run. Nothing was changed.",
            "Probelauf. Nichts wurde geändert.",
            "Essai à blanc. Rien n’a été modifié.",
            "Ejecución de prueba. No se ha cambiado nada.",
        ],
        Some(BrakeReason::ManualMode) => [
            "You asked to decide first. Nothing was changed.",
            "Sie wollten zuerst entscheiden. Nichts wurde geändert.",
            "Vous avez demandé à décider d’abord. Rien n’a été modifié.",
            "Usted pidió decidir antes. No se ha cambiado nada.",
        ],
        Some(BrakeReason::First) => [
            "The first run with these settings and rules asks before it acts. Nothing was changed.",
            "Der erste Lauf mit diesen Einstellungen und Regeln fragt, bevor er etwas tut. Nichts wurde geändert.",
            "La première exécution avec ces réglages et règles demande avant d’agir. Rien n’a été modifié.",
            "La primera ejecución con estos ajustes y reglas pregunta antes de actuar. No se ha cambiado nada.",
        ],
        Some(BrakeReason::TooMany) => [
            "This run would change more contacts than automatic runs may, or all of them. It waits for your decision. Nothing was changed.",
            "Dieser Lauf würde mehr Kontakte ändern, als automatische Läufe dürfen, oder alle. Er wartet auf Ihre Entscheidung und hat nichts geändert.",
            "Cette exécution modifierait plus de contacts que ne le peuvent les exécutions automatiques, ou tous. Elle attend votre décision et n’a rien modifié.",
            "Esta ejecución cambiaría más contactos de los permitidos a las automáticas, o todos. Espera su decisión y no ha cambiado nada.",
        ],
        None => [
            "Some actions failed. You decide about the rest.",
            "Ein Teil der Aktionen wurde nicht ausgeführt. Über den Rest entscheiden Sie.",
            "Une partie des actions n’a pas abouti. Vous décidez du reste.",
            "Parte de las acciones no se realizó. Usted decide sobre el resto.",
        ],
    }
}

/// Returns the name of the setting that switches reports of a kind on and off.
pub(crate) fn setting(of: ReportKind) -> Wording {
    match of {
        ReportKind::Run => [
            "After a connection's run",
            "Nach einem Lauf einer Verbindung",
            "Après une exécution d’une connexion",
            "Tras una ejecución de una conexión",
        ],
        ReportKind::Weekly => ["Weekly report", "Wöchentlicher Bericht", "Rapport hebdomadaire", "Informe semanal"],
        ReportKind::Monthly => ["Monthly report", "Monatlicher Bericht", "Rapport mensuel", "Informe mensual"],
    }
}

fn done(of: ContactAction) -> Wording {
    match of {
        ContactAction::Unsubscribe => ["Unsubscribed", "Abgemeldet", "Désabonnés", "Dados de baja"],
        ContactAction::Delete => ["Deleted", "Gelöscht", "Supprimés", "Eliminados"],
        ContactAction::UpdateTags => ["Tagged", "Mit Tag versehen", "Étiquetés", "Etiquetados"],
        ContactAction::UpdateCustomFields => ["Field written", "Feld geschrieben", "Champ écrit", "Campo escrito"],
        ContactAction::Fix => ["Address corrected", "Adresse berichtigt", "Adresse corrigée", "Dirección corregida"],
    }
}

/// Returns a table of what was verified: all, then the numbers of deliverable, risky, undeliverable and unknown ones.
pub(crate) fn verified(
    language: PageLanguage,
    (title, all): (Wording, Wording),
    label: fn(Status) -> Wording,
    total: i64,
    verdicts: [i64; 4],
) -> LetterTable {
    let statuses = [Status::Passed, Status::Risky, Status::Undeliverable, Status::Unknown];
    let labels = statuses.map(|of| text(language, label(of)));
    let mut rows = vec![(text(language, all).to_owned(), number(language, total))];
    rows.extend(labels.into_iter().zip(verdicts).map(|(label, n)| (label.to_owned(), number(language, n))));
    LetterTable { title: text(language, title), rows }
}

/// Returns rows for the numbers of actions that were done, at least one.
pub(crate) fn action_rows(language: PageLanguage, actions: &[(ContactAction, i64)]) -> Vec<(String, String)> {
    let row = |label: Wording, n: i64| (text(language, label).to_owned(), number(language, n));
    let of = |kind: ContactAction| actions.iter().filter(|(known, _)| *known == kind).map(|(_, n)| n).sum::<i64>();
    let all = ContactAction::ALL.map(|kind| (kind, of(kind)));
    let rows: Vec<_> = all.into_iter().filter(|(_, n)| *n > 0).map(|(kind, n)| row(done(kind), n)).collect();
    if rows.is_empty() {
        let none = ["Contacts changed", "Geänderte Kontakte", "Contacts modifiés", "Contactos modificados"];
        return vec![row(none, 0)];
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of the dashboard: English, German, French and Spanish.
    const PAGES: [&str; 4] = [
        include_str!("../../../web/messages/en.js"),
        include_str!("../../../web/messages/de.js"),
        include_str!("../../../web/messages/fr.js"),
        include_str!("../../../web/messages/es.js"),
    ];

    /// The dashboard leaves it to browsers whether some spaces break.
    fn spaced(text: &str) -> String {
        text.replace(['\u{a0}', '\u{202f}'], " ")
    }

    fn assert_as_in_pages(name: &str, phrase: Wording) {
        for (page, said) in PAGES.into_iter().zip(phrase) {
            let line = page.lines().find_map(|line| line.trim_start().strip_prefix(&format!("\"{name}\": \"")));
            let shown = spaced(line.unwrap_or_else(|| panic!("{name} is no text of the dashboard")));
            let is_same = ["\",", " ("].iter().any(|end| shown.starts_with(&format!("{}{end}", spaced(said))));
            assert!(is_same, "{name}: the dashboard says {shown}, letters {said}");
        }
    }

    #[test]
    fn letters_have_the_words_of_the_dashboard() {
        for of in Status::ALL {
            assert_as_in_pages(&format!("status.{}", of.as_str()), status(of));
        }
        for of in Reason::ALL {
            assert_as_in_pages(&format!("reason.{}", of.as_str()), reason(*of));
        }
        for by in BrakeReason::ALL {
            assert_as_in_pages(&format!("held.{}", by.as_str()), held(Some(by)));
        }
        assert_as_in_pages("held.again", held(None));
        assert_as_in_pages("connections.waits", WAITING_FOR_YOU);
        for (name, of) in [
            ("after_flossing", ReportKind::Run),
            ("weekly_report", ReportKind::Weekly),
            ("monthly_report", ReportKind::Monthly),
        ] {
            assert_as_in_pages(&format!("notification.{name}"), setting(of));
        }
    }
}
