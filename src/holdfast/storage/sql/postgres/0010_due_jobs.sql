-- What is due is found by its time, as in the SQLite store, where the reasons are.

ALTER TABLE jobs ADD COLUMN due_at bigint GENERATED ALWAYS AS (
    CASE WHEN watermark <= done_watermark THEN NULL
        WHEN status = 'running' THEN lease_until
        WHEN retries_left <= 0 THEN NULL
        ELSE coalesce(retry_at, 0) END) STORED;
DROP INDEX IF EXISTS jobs_due;
CREATE INDEX jobs_due ON jobs (kind, due_at, scope, watermark, key) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_due_by_key ON jobs (kind, key, due_at, scope) WHERE due_at IS NOT NULL;

-- Beside the totals, whose row every writer of the scope changes anyway. Where they are spread over machines, each finds
-- its own changed scopes by this index.
ALTER TABLE totals ADD COLUMN changed_at bigint DEFAULT 0;
CREATE INDEX totals_changed ON totals (changed_at, scope) WHERE changed_at IS NOT NULL;

CREATE INDEX sessions_open ON sessions (scope) WHERE ended_at IS NULL AND agent = '';

CREATE TABLE watches (
    kind text COLLATE "C" NOT NULL,
    key  text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, key)
);

-- Without a key that points to `scopes`, so that it stays an ordinary table of the coordinator. A scope never goes.
CREATE TABLE looks (
    scope   bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    due_at  bigint NOT NULL,
    changes bigint NOT NULL,
    PRIMARY KEY (scope, kind, key)
);
CREATE INDEX looks_due ON looks (kind, key, due_at, scope);

-- Both are for upkeep only: who writes to a scope changes its `changed_at`, and nothing here.
GRANT SELECT, INSERT, UPDATE, DELETE ON watches, looks TO holdfast_worker;
CREATE POLICY upkeep ON watches TO holdfast_worker USING (true);
CREATE POLICY upkeep ON looks TO holdfast_worker USING (true);
ALTER TABLE watches ENABLE ROW LEVEL SECURITY;
ALTER TABLE watches FORCE ROW LEVEL SECURITY;
ALTER TABLE looks ENABLE ROW LEVEL SECURITY;
ALTER TABLE looks FORCE ROW LEVEL SECURITY;
ALTER TABLE looks ALTER COLUMN scope SET STATISTICS 0;
