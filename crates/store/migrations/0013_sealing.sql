-- With what bodies are sealed that hold addresses, where the installation has a master key (`sealing.rs`).
CREATE TABLE org_key (
    org_no BIGINT NOT NULL PRIMARY KEY,
    -- The organization's data key, encrypted under the master key, which lies outside the database.
    wrapped {bytes} NOT NULL
);
