-- What is due is found by its time, whatever the number of scopes: a scope in which nothing changed costs nothing.

-- When a job can be claimed: 0 at once, NULL never as it stands. A running one can be when its lease has ended.
ALTER TABLE jobs ADD COLUMN due_at INTEGER GENERATED ALWAYS AS (
    CASE WHEN watermark <= done_watermark THEN NULL
        WHEN status = 'running' THEN lease_until
        WHEN retries_left <= 0 THEN NULL
        ELSE coalesce(retry_at, 0) END) VIRTUAL;
-- Scope by scope, so that workers serve them in turns; by key for a worker that can do some keys only.
CREATE INDEX jobs_due ON jobs (kind, due_at, scope, watermark, key) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_due_by_key ON jobs (kind, key, due_at, scope) WHERE due_at IS NOT NULL;

-- When something was first written to a scope after workers were last told of it; NULL: they know of everything.
ALTER TABLE scopes ADD COLUMN changed_at INTEGER DEFAULT 0;
CREATE INDEX scopes_changed ON scopes (changed_at, number) WHERE changed_at IS NOT NULL;

-- Open sessions that no agent leads: a worker ends them when they have been idle for long. Without the last activity, so
-- that a captured turn takes no longer.
CREATE INDEX sessions_open ON sessions (scope) WHERE ended_at IS NULL AND agent = '';

-- What workers look for. A change to a scope gives it a look for each of these.
CREATE TABLE watches (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- Scopes at which a worker has to look from `due_at` on, because there may be jobs for them. `changes` counts what was
-- written meanwhile: a look that began before does not end the one that is due for it.
CREATE TABLE looks (
    scope   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    due_at  INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    PRIMARY KEY (scope, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX looks_due ON looks (kind, key, due_at, scope);
