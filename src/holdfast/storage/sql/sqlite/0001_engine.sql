-- Truth first, projections last. Times are microseconds UTC. A scope is one row of `scopes`;
-- every other table carries its number, so that no index walks another owner's rows.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- `active` and `terms` are running totals over the scope's active memories: they make document
-- frequencies comparable without counting rows at each recall.
CREATE TABLE scopes (
    number     INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL,
    key        TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    active     INTEGER NOT NULL DEFAULT 0,
    terms      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, key)
) STRICT;

CREATE TABLE sessions (
    scope           INTEGER NOT NULL REFERENCES scopes (number),
    id              TEXT NOT NULL,
    agent           TEXT NOT NULL,
    started_at      INTEGER NOT NULL,
    last_activity   INTEGER NOT NULL,
    ended_at        INTEGER,
    end_reason      TEXT NOT NULL,
    consolidated_at INTEGER,
    outcome         TEXT NOT NULL,
    metadata        TEXT,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_activity ON sessions (scope, last_activity);

CREATE TABLE memories (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    scope           INTEGER NOT NULL REFERENCES scopes (number),
    id              TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('turn','document','episode','fact','reflection','rule','skill')),
    category        TEXT NOT NULL,
    status          TEXT NOT NULL
        CHECK (status IN ('active','held','proposed','archived','superseded','faded','evicted')),
    status_at       INTEGER,
    status_reason   TEXT NOT NULL,
    title           TEXT NOT NULL,
    content         TEXT NOT NULL,
    author          TEXT NOT NULL,
    role            TEXT NOT NULL,
    session         TEXT,
    position        INTEGER,
    event_time      INTEGER NOT NULL,
    valid_from      INTEGER,
    valid_until     INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    confidence      REAL NOT NULL,
    decay_rate      REAL NOT NULL,
    decayed_at      INTEGER,
    protected       INTEGER NOT NULL,
    source          TEXT NOT NULL,
    trust           TEXT NOT NULL,
    quote           TEXT NOT NULL,
    triple          TEXT,
    consolidated_at INTEGER,
    outcome         TEXT NOT NULL,
    tags            TEXT,
    metadata        TEXT,
    access_count    INTEGER NOT NULL,
    last_accessed   INTEGER,
    content_hash    BLOB NOT NULL,
    terms           INTEGER NOT NULL,
    UNIQUE (scope, id)
) STRICT;
CREATE INDEX memories_by_seq ON memories (scope);  -- SQLite keeps the rows of a key in the order of their seq
CREATE INDEX memories_by_author ON memories (scope, author) WHERE author <> '';
CREATE INDEX memories_by_time ON memories (scope, event_time);
CREATE INDEX memories_by_hash ON memories (scope, content_hash);
CREATE INDEX memories_by_session ON memories (scope, session, position) WHERE session IS NOT NULL;
CREATE INDEX memories_by_kind ON memories (scope, kind, seq) WHERE kind NOT IN ('turn', 'document');
CREATE INDEX memories_by_validity ON memories (scope, valid_until, valid_from)
    WHERE status = 'active' AND (valid_until IS NOT NULL OR valid_from IS NOT NULL);

CREATE TABLE edges (
    scope      INTEGER NOT NULL REFERENCES scopes (number),
    source     TEXT NOT NULL,
    target     TEXT NOT NULL,
    relation   TEXT NOT NULL CHECK (relation IN ('derived_from','supersedes','conflicts_with')),
    created_at INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (scope, source, target, relation)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (scope, target);

CREATE TABLE entities (
    scope      INTEGER NOT NULL REFERENCES scopes (number),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    type       TEXT NOT NULL,
    summary    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;

-- Every name an entity goes by, its own among them, folded for comparison.
CREATE TABLE entity_names (
    scope  INTEGER NOT NULL REFERENCES scopes (number),
    folded TEXT NOT NULL,
    entity TEXT NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (scope, folded, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_names_by_entity ON entity_names (scope, entity);

CREATE TABLE mentions (
    scope  INTEGER NOT NULL REFERENCES scopes (number),
    entity TEXT NOT NULL,
    memory TEXT NOT NULL,
    PRIMARY KEY (scope, entity, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_memory ON mentions (scope, memory);

CREATE TABLE jobs (
    scope          INTEGER NOT NULL REFERENCES scopes (number),
    kind           TEXT NOT NULL,
    key            TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending','running','done','error')),
    token          TEXT NOT NULL,
    worker         TEXT NOT NULL,
    lease_until    INTEGER,
    retry_at       INTEGER,
    retries_left   INTEGER NOT NULL,
    error          TEXT NOT NULL,
    watermark      INTEGER NOT NULL,
    done_watermark INTEGER NOT NULL,
    PRIMARY KEY (scope, kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
    scope    INTEGER PRIMARY KEY REFERENCES scopes (number),
    settings TEXT NOT NULL
) STRICT;

-- The journal. `before` and `after` hold only the columns that changed; both are NULL for an added row
-- (the row itself is the record), and `before` is the whole row for a removed one.
CREATE TABLE events (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    scope  INTEGER NOT NULL REFERENCES scopes (number),
    run    TEXT NOT NULL,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    verb   TEXT NOT NULL,
    noun   TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT,
    after  TEXT
) STRICT;
CREATE INDEX events_by_run ON events (scope, run);
CREATE INDEX events_by_target ON events (scope, noun, target);

-- Projections: all of this can be rebuilt from the tables above.

CREATE TABLE models (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    identity   TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
) STRICT;

CREATE TABLE vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    model  INTEGER NOT NULL REFERENCES models (number) ON DELETE CASCADE,
    scope  INTEGER NOT NULL REFERENCES scopes (number),
    seq    INTEGER NOT NULL REFERENCES memories (seq) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;
-- Every memory of the scope up to and including `seq` has a vector of the model: where embedding goes on.
CREATE TABLE embedded (
    model INTEGER NOT NULL REFERENCES models (number) ON DELETE CASCADE,
    scope INTEGER NOT NULL REFERENCES scopes (number),
    seq   INTEGER NOT NULL,
    PRIMARY KEY (model, scope)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX vectors_by_memory ON vectors (model, scope, seq);
CREATE INDEX vectors_of_memory ON vectors (seq);

-- Terms come from our own tokenizer, each behind its scope's number: '12~theme' while the memory is
-- active, '12_theme' otherwise. A query therefore reads the posting lists of its own scope only.
CREATE VIRTUAL TABLE memory_terms USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_~'"
);
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_terms, row);
