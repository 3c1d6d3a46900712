//! Letters with a one-time link: to the invited, and to members who forgot their password.

use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use crate::form::{Letter, LetterDraft, titles};
use crate::phrase::{Wording, filled, text};
use crate::written::minute;

/// What a letter with a link is about.
#[derive(Clone, Copy, Debug)]
pub struct LinkLetter<'a> {
    /// Name of the organization that invites, or to which the member belongs.
    pub org_name: Option<&'a str>,
    /// Address of the link.
    pub link: &'a str,
    /// Time at which the link expires.
    pub expires_at: Millis,
}

const SSO_REQUIRED: Wording = [
    "Your organization requires single sign-on. Choose “Sign in with single sign-on” on the sign-in page: the link sets no \
     password as long as that applies to your address.",
    "Ihre Organisation verlangt Single Sign-on. Wählen Sie auf der Anmeldeseite „Mit Single Sign-on anmelden“: Solange das für \
     Ihre Adresse gilt, setzt der Link kein Passwort.",
    "Votre organisation exige l’authentification unique. Choisissez «\u{a0}Se connecter par authentification unique\u{a0}» sur \
     la page de connexion\u{a0}: tant que cela vaut pour votre adresse, le lien ne définit pas de mot de passe.",
    "Su organización exige el inicio de sesión único. Elija «Entrar con inicio de sesión único» en la página de acceso: mientras \
     valga para su dirección, el enlace no cambia la contraseña.",
];

impl LinkLetter<'_> {
    /// Writes an invitation.
    pub fn invitation(&self, language: PageLanguage) -> Letter {
        let subject = [
            "Your invitation to {org}",
            "Ihre Einladung zu {org}",
            "Votre invitation à rejoindre {org}",
            "Su invitación a {org}",
        ];
        let (subject, heading) =
            titles(self.org_name.unwrap_or("Probity"), |org| filled(language, subject, &[("org", org)]));
        let lead = if self.org_name.is_some() {
            [
                "You are invited to {org} on Probity.",
                "Sie sind zu {org} auf Probity eingeladen.",
                "Vous avez reçu une invitation à rejoindre {org} sur Probity.",
                "Tiene una invitación para unirse a {org} en Probity.",
            ]
        } else {
            [
                "You are invited to an organization on Probity.",
                "Sie sind zu einer Organisation auf Probity eingeladen.",
                "Vous avez reçu une invitation à rejoindre une organisation sur Probity.",
                "Tiene una invitación para unirse a una organización en Probity.",
            ]
        };
        let label = ["Choose a password", "Passwort wählen", "Choisir un mot de passe", "Elegir una contraseña"];
        let after = [
            "The link works once, until {until}. If you did not expect this invitation, you can ignore this email.",
            "Der Link funktioniert einmal, bis zum {until}. Wenn Sie ihn nicht erwartet haben, müssen Sie nichts tun.",
            "Le lien fonctionne une seule fois, jusqu’au {until}. Si vous ne l’attendiez pas, vous n’avez rien à faire.",
            "El enlace funciona una sola vez, hasta el {until}. Si no lo esperaba, no tiene que hacer nada.",
        ];
        LetterDraft {
            language,
            subject,
            heading,
            lead: vec![filled(language, lead, &[("org", self.org_name.unwrap_or_default())])],
            tables: Vec::new(),
            page: (text(language, label), self.link.to_owned()),
            after: Some(self.until(language, after)),
            report: None,
        }
        .written()
    }

    /// Writes to a member who is to choose a new password. `requires_sso` is whether the organization requires single sign-on.
    pub fn new_password(&self, language: PageLanguage, requires_sso: bool) -> Letter {
        let subject = text(
            language,
            [
                "Choose a new password for Probity",
                "Wählen Sie ein neues Passwort für Probity",
                "Choisissez un nouveau mot de passe pour Probity",
                "Elija una contraseña nueva para Probity",
            ],
        );
        let lead = if self.org_name.is_some() {
            [
                "Somebody asked for a new password for your account at {org} on Probity.",
                "Für Ihr Konto bei {org} auf Probity wurde ein neues Passwort angefordert.",
                "Un nouveau mot de passe a été demandé pour votre compte chez {org} sur Probity.",
                "Se ha pedido una contraseña nueva para su cuenta de {org} en Probity.",
            ]
        } else {
            [
                "Somebody asked for a new password for your account on Probity.",
                "Für Ihr Konto auf Probity wurde ein neues Passwort angefordert.",
                "Un nouveau mot de passe a été demandé pour votre compte sur Probity.",
                "Se ha pedido una contraseña nueva para su cuenta en Probity.",
            ]
        };
        let label = [
            "Choose a new password",
            "Neues Passwort wählen",
            "Choisir un nouveau mot de passe",
            "Elegir una contraseña nueva",
        ];
        let after = [
            "The link works once, until {until}, and signs you out everywhere else. If you did not request this, \
             ignore this email: your password stays the same.",
            "Der Link funktioniert einmal, bis zum {until}, und meldet Sie überall sonst ab. Haben Sie ihn nicht angefordert, \
             müssen Sie nichts tun: Ihr Passwort bleibt unverändert.",
            "Le lien fonctionne une seule fois, jusqu’au {until}, et vous déconnecte partout ailleurs. Si vous ne l’avez pas \
             demandé, vous n’avez rien à faire\u{a0}: votre mot de passe reste inchangé.",
            "El enlace funciona una sola vez, hasta el {until}, y cierra sus demás sesiones. Si no lo ha pedido, no tiene que \
             hacer nada: su contraseña sigue igual.",
        ];
        let mut lead = vec![filled(language, lead, &[("org", self.org_name.unwrap_or_default())])];
        if requires_sso {
            lead.push(text(language, SSO_REQUIRED).to_owned());
        }
        LetterDraft {
            language,
            subject: subject.to_owned(),
            heading: subject.to_owned(),
            lead,
            tables: Vec::new(),
            page: (text(language, label), self.link.to_owned()),
            after: Some(self.until(language, after)),
            report: None,
        }
        .written()
    }

    fn until(&self, language: PageLanguage, phrase: Wording) -> String {
        filled(language, phrase, &[("until", &minute(language, self.expires_at))])
    }
}
