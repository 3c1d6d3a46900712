//! Page behind the link with which a reader ends reports.

use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;

use crate::phrase::text;

/// What the page says.
#[derive(Clone, Copy, Debug)]
pub struct UnsubscribeTexts {
    /// Heading.
    pub heading: &'static str,
    /// Paragraph; empty if there is none.
    pub paragraph: &'static str,
    /// Label of the button; empty if there is none.
    pub button: &'static str,
}

impl UnsubscribeTexts {
    /// Asks whether reports of a kind are to end.
    pub fn question(language: PageLanguage, kind: ReportKind) -> Self {
        let heading = match kind {
            ReportKind::Run => [
                "Stop run reports?",
                "Berichte über Läufe abbestellen?",
                "Ne plus recevoir les rapports d’exécution\u{a0}?",
                "¿Dejar de recibir los informes de ejecuciones?",
            ],
            ReportKind::Weekly => [
                "Stop weekly reports?",
                "Wöchentliche Berichte abbestellen?",
                "Ne plus recevoir les rapports hebdomadaires\u{a0}?",
                "¿Dejar de recibir los informes semanales?",
            ],
            ReportKind::Monthly => [
                "Stop monthly reports?",
                "Monatliche Berichte abbestellen?",
                "Ne plus recevoir les rapports mensuels\u{a0}?",
                "¿Dejar de recibir los informes mensuales?",
            ],
        };
        let button = ["Unsubscribe", "Abbestellen", "Se désabonner", "Darse de baja"];
        Self { heading: text(language, heading), paragraph: "", button: text(language, button) }
    }

    /// Says that reports of a kind have ended.
    pub fn done(language: PageLanguage, kind: ReportKind) -> Self {
        let paragraph = match kind {
            ReportKind::Run => [
                "You will no longer get run reports. To get them again, switch them on in your notifications.",
                "Sie erhalten keine Berichte über Läufe mehr. In Ihren Benachrichtigungen können Sie sie wieder einschalten.",
                "Vous ne recevrez plus de rapports d’exécution. Vous pouvez les réactiver dans vos notifications.",
                "Ya no recibirá informes de ejecuciones. Puede volver a activarlos en sus notificaciones.",
            ],
            ReportKind::Weekly => [
                "You will no longer get weekly reports. To get them again, switch them on in your notifications.",
                "Sie erhalten keine wöchentlichen Berichte mehr. In Ihren Benachrichtigungen können Sie sie wieder einschalten.",
                "Vous ne recevrez plus de rapports hebdomadaires. Vous pouvez les réactiver dans vos notifications.",
                "Ya no recibirá informes semanales. Puede volver a activarlos en sus notificaciones.",
            ],
            ReportKind::Monthly => [
                "You will no longer get monthly reports. To get them again, switch them on in your notifications.",
                "Sie erhalten keine monatlichen Berichte mehr. In Ihren Benachrichtigungen können Sie sie wieder einschalten.",
                "Vous ne recevrez plus de rapports mensuels. Vous pouvez les réactiver dans vos notifications.",
                "Ya no recibirá informes mensuales. Puede volver a activarlos en sus notificaciones.",
            ],
        };
        let heading = ["Unsubscribed", "Abbestellt", "Désabonnement effectué", "Baja realizada"];
        Self { heading: text(language, heading), paragraph: text(language, paragraph), button: "" }
    }

    /// Says that the link is damaged.
    pub fn damaged(language: PageLanguage) -> Self {
        let heading = [
            "This link does not work",
            "Dieser Link funktioniert nicht",
            "Ce lien ne fonctionne pas",
            "Este enlace no funciona",
        ];
        let paragraph = [
            "It may have been cut off: copy all of it from the email. You can also sign in and change your notifications.",
            "Vielleicht wurde er abgeschnitten: Kopieren Sie ihn vollständig aus der E-Mail. Sie können sich auch anmelden und Ihre \
             Benachrichtigungen ändern.",
            "Il a peut-être été coupé\u{a0}: copiez-le en entier depuis l’e-mail. Vous pouvez aussi vous connecter et modifier vos \
             notifications.",
            "Puede que esté cortado: cópielo completo del correo. También puede iniciar sesión y cambiar sus notificaciones.",
        ];
        Self { heading: text(language, heading), paragraph: text(language, paragraph), button: "" }
    }
}
