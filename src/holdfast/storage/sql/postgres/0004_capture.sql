-- A captured turn writes to every index of its row, so the indexes that no turn needs go or pass turns over.

-- What is said twice is kept once, but for turns: they are as often there as they were said.
DROP INDEX IF EXISTS memories_by_hash;
CREATE INDEX memories_by_hash ON memories (scope, content_hash) WHERE kind <> 'turn';

-- Sessions are listed now and then, and a scope has few: sorting them then costs less than an index at each turn.
DROP INDEX IF EXISTS sessions_by_activity;
