-- How far each sink of the extraction has read a session: one table for what version 0.1.0 kept in four places. What
-- `position` counts and what `detail` holds is the sink's own affair; see extraction/progress.py.
CREATE TABLE progress (
    scope    INTEGER NOT NULL REFERENCES scopes (number),
    session  TEXT NOT NULL,
    sink     TEXT NOT NULL,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    detail   TEXT,
    PRIMARY KEY (scope, session, sink)
) STRICT, WITHOUT ROWID;

-- The marks of 0.1.0. A session whose metadata is damaged has none that could be read; it is read again.

-- 1. In the metadata under `policy`: the last turn that was considered after a reply.
INSERT INTO progress (scope, session, sink, position, at, detail)
SELECT scope, id, 'facts', coalesce(metadata ->> '$.policy.considered', -1), last_activity,
    nullif(json_patch('{}', json_object('failed', metadata -> '$.policy.failed', 'private', metadata -> '$.policy.private')), '{}')
FROM sessions
WHERE CASE WHEN json_valid(metadata) THEN json_type(metadata, '$.policy') = 'object'
    AND coalesce(json_type(metadata, '$.policy.considered'), 'integer') = 'integer' END;

-- 2. In a column: the last activity up to which a session that had ended was read.
INSERT INTO progress (scope, session, sink, position, at, detail)
SELECT scope, id, 'summary', consolidated_at, consolidated_at,
    CASE WHEN outcome <> '' THEN json_object('outcome', outcome) END
FROM sessions WHERE consolidated_at IS NOT NULL;

-- 3. In the metadata under `extracted`: how much was read for records, and which notes were made of it.
INSERT INTO progress (scope, session, sink, position, at, detail)
SELECT scope, id, 'records', metadata ->> '$.extracted.to[0]', metadata ->> '$.extracted.to[0]', metadata -> '$.extracted'
FROM sessions
WHERE CASE WHEN json_valid(metadata) THEN json_type(metadata, '$.extracted.to[0]') = 'integer' END;

-- 4. In the job that reads a session for the memory of its project: the last activity up to which it is done.
INSERT INTO progress (scope, session, sink, position, at)
SELECT j.scope, j.key, 'projects', j.done_watermark, j.done_watermark
FROM jobs j JOIN sessions s ON s.scope = j.scope AND s.id = j.key
WHERE j.kind = 'project-extract' AND j.done_watermark > 0;

-- Marks travel to other stores with their entries in the journal. Two stores that were migrated apart have the same
-- first entry, and of the second ones the later counts.
INSERT INTO events (scope, run, at, actor, verb, noun, target)
SELECT p.scope, 'migrate-0008', s.started_at, 'holdfast', 'migrate', 'progress', json_array(p.session, p.sink)
FROM progress p JOIN sessions s ON s.scope = p.scope AND s.id = p.session WHERE p.sink <> 'projects';
INSERT INTO events (scope, run, at, actor, verb, noun, target, before, after)
SELECT scope, 'migrate-0008-' || position, at, 'holdfast', 'migrate', 'progress', json_array(session, sink),
    json_object('at', at, 'detail', detail, 'position', position),
    json_object('at', at, 'detail', detail, 'position', position)
FROM progress WHERE sink <> 'projects';

DROP INDEX IF EXISTS sessions_unread;
ALTER TABLE sessions DROP COLUMN consolidated_at;
ALTER TABLE sessions DROP COLUMN outcome;
