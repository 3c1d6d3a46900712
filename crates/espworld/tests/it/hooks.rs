//! Webhooks: registered, believed if they are signed, understood, and removed.

use probity_connectors::{
    HookBody, HookEndpoint, HookProof, HookStep, ProofFault, Registering, hints, look, prove, removal,
};
use probity_espworld::{EspFaults, EspState, EspVendor};

use crate::rig::{Rig, for_each_of};

#[test]
fn notifications_of_new_contacts_are_believed_and_understood() {
    for_each_of(&EspVendor::ALL, &[1, 2, 3], |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let Some(rule) = rig.file.hook.clone() else { return };
        let (file, credentials) = (rig.file.clone(), rig.credentials.clone());
        let in_list = rule.scope == probity_connectors::ContactScope::List;
        let endpoint = HookEndpoint {
            url: "https://probity.example.org/hooks/con_1/secret".to_owned(),
            secret: "0123456789abcdef0123456789abcdef".to_owned(),
            list: in_list.then(|| rig.world.list_id(2)),
        };
        let mut registering = Registering::new(&file, &credentials, endpoint.clone()).unwrap();
        let registration = loop {
            match registering.next(rig.now()).unwrap() {
                HookStep::Done(registration) => break registration,
                HookStep::Send(request) => registering.answer(&rig.send_described(&request).await.unwrap()).unwrap(),
            }
        };
        let hooks = rig.world.account(|account| account.hooks().to_vec());
        assert_eq!(hooks.iter().map(|hook| hook.url.as_str()).collect::<Vec<_>>(), [endpoint.url.as_str()]);

        let number = rig.world.account(|account| account.add("Zoë+new@example.org", EspState::Subscribed, &[2]));
        let contact = rig.world.account(|account| account.contact(number)).unwrap();
        let notices = rig.world.notices(number);
        let [notice] = notices.as_slice() else { panic!("{notices:?}") };
        assert_eq!(notice.url, endpoint.url);
        let now = rig.now();
        prove(&rule.proof, &registration.secret, (&notice.headers, &notice.body), now).unwrap();
        if let HookProof::Hmac { .. } = rule.proof {
            let mut other = notice.body.clone();
            other.push(b' ');
            let proof = prove(&rule.proof, &registration.secret, (&notice.headers, &other), now);
            assert_eq!(proof, Err(ProofFault::Wrong));
        }
        let hints = hints(&rule, &notice.body).unwrap();
        let [hint] = hints.as_slice() else { panic!("{hints:?}") };
        let id = rig.world.contact_id(&contact, in_list.then_some(2));
        assert!(hint.id.as_ref() == Some(&id) || hint.email.as_ref() == Some(&contact.email), "{hint:?}");
        assert!(matches!(rule.body, HookBody::Json | HookBody::Form));

        // Klaviyo truncates the URL.
        let looks = look(&file, &credentials, (&endpoint, &registration), now).map(Result::unwrap);
        assert_eq!(looks.is_none(), file.provider.slug == "klaviyo");
        if let Some(looks) = &looks {
            rig.world.clock().advance(2_000);
            let shown = rig.send(looks).await.unwrap();
            assert!(shown.status == 200 && String::from_utf8_lossy(&shown.body).contains("con_1/secret"), "{shown:?}");
        }
        let request = removal(&file, &credentials, (&endpoint, &registration), now).unwrap();
        rig.world.clock().advance(2_000);
        assert!(matches!(rig.send_described(&request).await.unwrap().status, 200 | 204));
        assert!(rig.world.account(|account| account.hooks().is_empty()));
        if let Some(looks) = &looks {
            rig.world.clock().advance(2_000);
            let missing = rig.send(looks).await.unwrap();
            let is_shown = String::from_utf8_lossy(&missing.body).contains("con_1/secret");
            assert!(matches!(missing.status, 200 | 404) && !is_shown, "{missing:?}");
        }
        rig.assert_welcome();
    });
}
