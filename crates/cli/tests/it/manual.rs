//! Shell completions, man pages and licenses.

use crate::program::Place;

#[test]
fn completions_and_manual_pages_need_no_configuration() {
    let place = Place::with("broken.toml", "not toml");
    for (shell, word) in
        [("bash", "complete -F _probity"), ("zsh", "#compdef probity"), ("fish", "complete -c probity")]
    {
        let ran = place.run(&["completions", shell, "--config", "broken.toml"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains(word) && ran.out.contains("restore"), "{shell}");
    }
    assert_eq!(place.run(&["completions", "dash"]).code, Some(2));
    assert_eq!(place.run(&["man", "new/man1", "--config", "broken.toml"]).code, Some(0));
    assert!(place.read("new/man1/probity-batch.1").contains("finish"));
    assert!(place.read("new/man1/probity.1").contains("backup"));
    place.write("file", "");
    let ran = place.run(&["man", "file"]);
    assert!(ran.code != Some(0) && ran.err.contains("cannot write to file"), "{ran:?}");
}

#[test]
fn licenses_name_crates_data_and_scripts() {
    let ran = Place::with("broken.toml", "not toml").run(&["licenses", "--config", "broken.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in ["\nring 0.", "\nrustls 0.", "| mailchecker |", "preact"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}
