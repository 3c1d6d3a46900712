//! Notices to the owner of an organization. They have no number, which may have changed when they are read.

use probity_account::language::PageLanguage;

use crate::form::{Letter, LetterDraft, LetterTable, titles};
use crate::phrase::{Wording, filled, text};

/// Notice that few credits are left.
#[derive(Clone, Copy, Debug)]
pub struct CreditLetter<'a> {
    /// Name of the organization.
    pub org_name: Option<&'a str>,
    /// Address of the dashboard, without a slash at the end.
    pub dashboard: &'a str,
}

/// Connection that was lost.
#[derive(Clone, Copy, Debug)]
pub struct LostConnection<'a> {
    /// Name of the connection.
    pub name: &'a str,
    /// Platform that refuses its credentials.
    pub platform: &'a str,
}

/// Notice that a platform refuses the credentials of connections.
#[derive(Clone, Copy, Debug)]
pub struct LossLetter<'a> {
    /// Name of the organization.
    pub org_name: Option<&'a str>,
    /// The connections.
    pub connections: &'a [LostConnection<'a>],
    /// Address of the dashboard, without a slash at the end.
    pub dashboard: &'a str,
}

impl CreditLetter<'_> {
    /// Writes the notice.
    pub fn written(&self, language: PageLanguage) -> Letter {
        let subject = [
            "Credits are running low for {org}",
            "Nur noch wenige Credits für {org}",
            "Il reste peu de crédits pour {org}",
            "Quedan pocos créditos para {org}",
        ];
        let lead = [
            "Credits are running low for {org} on Probity. When they run out, verifications are refused.",
            "{org} hat auf Probity nur noch wenige Credits. Sind keine mehr übrig, werden Prüfungen abgelehnt.",
            "Le solde de {org} sur Probity est désormais faible. Quand il n’y aura plus de crédits, les vérifications seront refusées.",
            "El saldo de {org} en Probity es bajo. Cuando no queden créditos, se rechazarán las verificaciones.",
        ];
        let unnamed = ["your organization", "Ihre Organisation", "votre organisation", "su organización"];
        let label = ["View credits", "Stand ansehen", "Voir ce qui reste", "Ver lo que queda"];
        let (org_name, url) = (self.org_name, self.dashboard.to_owned());
        Notice { org_name, unnamed, subject, lead, label, tables: Vec::new(), url }.written(language)
    }
}

impl LossLetter<'_> {
    /// Writes the notice.
    pub fn written(&self, language: PageLanguage) -> Letter {
        let subject = [
            "An email platform refuses the credentials of {org}",
            "Eine E-Mail-Plattform lehnt die Zugangsdaten von {org} ab",
            "Une plateforme d’e-mailing refuse les identifiants de {org}",
            "Una plataforma de correo rechaza las credenciales de {org}",
        ];
        let lead = [
            "An email platform has refused the credentials of a connection of {org} twice, 10 minutes apart. Probity has \
             disconnected it: its contacts are neither verified nor changed. Planned actions are kept.",
            "Eine E-Mail-Plattform hat die Zugangsdaten einer Verbindung von {org} zweimal abgelehnt, im Abstand von 10 Minuten. \
             Probity hat die Verbindung getrennt: Deren Kontakte werden weder geprüft noch geändert. Geplante Aktionen bleiben \
             erhalten.",
            "Une plateforme d’e-mailing a refusé deux fois, à 10 minutes d’intervalle, les identifiants d’une connexion de {org}. \
             Probity l’a déconnectée\u{a0}: ses contacts ne sont ni vérifiés ni modifiés. Les actions prévues sont conservées.",
            "Una plataforma de correo ha rechazado dos veces, con 10 minutos de diferencia, las credenciales de una conexión de \
             {org}. Probity la ha desconectado: sus contactos no se verifican ni se modifican. Las acciones previstas se \
             conservan.",
        ];
        let title = ["Disconnected", "Getrennt", "Déconnectées", "Desconectadas"];
        let label = [
            "Enter new credentials",
            "Neue Zugangsdaten eingeben",
            "Saisir de nouveaux identifiants",
            "Introducir credenciales nuevas",
        ];
        let rows: Vec<_> =
            self.connections.iter().map(|lost| (lost.name.to_owned(), lost.platform.to_owned())).collect();
        let table = LetterTable { title: text(language, title), rows };
        let tables = if table.rows.is_empty() { Vec::new() } else { vec![table] };
        let url = format!("{}/#/connections", self.dashboard);
        let unnamed = ["your organization", "Ihrer Organisation", "votre organisation", "su organización"];
        Notice { org_name: self.org_name, unnamed, subject, lead, label, tables, url }.written(language)
    }
}

struct Notice<'a> {
    org_name: Option<&'a str>,
    /// What stands for the name of an organization without one, in the case that the texts need.
    unnamed: Wording,
    subject: Wording,
    lead: Wording,
    label: Wording,
    tables: Vec<LetterTable>,
    url: String,
}

impl Notice<'_> {
    fn written(self, language: PageLanguage) -> Letter {
        let org = self.org_name.unwrap_or(text(language, self.unnamed));
        let (subject, heading) = titles(org, |org| filled(language, self.subject, &[("org", org)]));
        LetterDraft {
            language,
            subject,
            heading,
            lead: vec![filled(language, self.lead, &[("org", org)])],
            tables: self.tables,
            page: (text(language, self.label), self.url),
            after: None,
            report: None,
        }
        .written()
    }
}
