//! Files as written by other programs, and their output, byte by byte.

use std::fs;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_come_back_as_they_came() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lists/tests/golden");
    let files: Vec<_> = fs::read_dir(folder.join("in")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(files.len() > 10);
    for file in files {
        let bench = Bench::new("in.csv", &fs::read(folder.join("in").join(&file)).unwrap());
        bench.run(&Arc::new(Fake::default()), "in.csv", "out.csv", &[]).await.unwrap();
        let (output, expected) = (bench.read("out.csv"), fs::read_to_string(folder.join("batch").join(&file)).unwrap());
        assert_eq!(output, expected, "{}", file.display());
    }
}
