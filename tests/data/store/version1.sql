-- A run history as schema version 1 had it: without descriptions, tags and an index of plans.
PRAGMA application_id = 1213025618;
PRAGMA user_version = 1;
CREATE TABLE run (
 number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
 plan_id TEXT NOT NULL, started_wall_ns INTEGER NOT NULL, ended_wall_ns INTEGER NOT NULL,
 version TEXT NOT NULL, boot_id TEXT NOT NULL, pid INTEGER NOT NULL, environment TEXT,
 plan BLOB, secrets TEXT, redact TEXT, abort_on TEXT, slo TEXT,
 interval_ns INTEGER NOT NULL, lost_rows INTEGER NOT NULL, status TEXT NOT NULL,
 exit_code INTEGER NOT NULL, facts TEXT, totals TEXT);
CREATE INDEX run_started ON run (started_wall_ns);
CREATE TABLE snapshot (
 run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
 seq INTEGER NOT NULL, agent INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE UNIQUE INDEX snapshot_place ON snapshot (run, seq, agent);
INSERT INTO run VALUES (1, '00112233445566778899aabbccddeeff', 'first', '0123456789abcdef',
 1700000000000000000, 1700000010000000000, '0.0.9', 'boot', 42, '{}', x'80', NULL, NULL, NULL, NULL,
 1000000000, 0, 'valid', 0, '{"agents":[{"name":"a","weight":1}]}', NULL);
INSERT INTO snapshot VALUES (1, 1, 0, x'0102'), (1, 2, 0, x'03'), (1, 0, 0, x'04');
