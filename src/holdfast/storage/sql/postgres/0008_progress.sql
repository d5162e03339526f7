-- How far each sink of the extraction has read a session, as the SQLite store has it.
CREATE TABLE progress (
    scope    bigint NOT NULL REFERENCES scopes (number),
    session  text COLLATE "C" NOT NULL,
    sink     text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    at       bigint NOT NULL,
    detail   text COLLATE "C",
    PRIMARY KEY (scope, session, sink)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON progress TO holdfast_app, holdfast_worker;

-- The rules of 0001 for every table with owners, where the reasons are.
CREATE POLICY own ON progress TO holdfast_app
    USING (CASE WHEN scope = ANY ((SELECT string_to_array(current_setting('holdfast.scopes', true), ','))::bigint[])
        THEN true ELSE false END);
CREATE POLICY upkeep ON progress TO holdfast_worker USING (true);
ALTER TABLE progress ENABLE ROW LEVEL SECURITY;
ALTER TABLE progress FORCE ROW LEVEL SECURITY;
ALTER TABLE progress ALTER COLUMN scope SET STATISTICS 0;

-- The four marks of version 0.1.0, each explained in the SQLite store's file. The owner of the tables sees no rows.
SET LOCAL ROLE holdfast_worker;
DO $$
DECLARE
    one    record;
    known  json;
    policy json;
    made   json;
    held   text;
BEGIN
    FOR one IN SELECT scope, id, last_activity, metadata FROM sessions WHERE metadata IS NOT NULL LOOP
        BEGIN
            known := one.metadata::json;
            policy := known -> 'policy';
            made := known -> 'extracted';
        EXCEPTION WHEN others THEN
            CONTINUE;  -- damaged: it is read again
        END;
        -- The text of a value is kept as it was written, so that it stays canonical JSON.
        IF json_typeof(policy) = 'object'
            AND coalesce(json_typeof(policy -> 'considered'), 'number') = 'number' THEN
            held := concat_ws(',', '"failed":' || (policy -> 'failed')::text, '"private":' || (policy -> 'private')::text);
            INSERT INTO progress VALUES (one.scope, one.id, 'facts', coalesce((policy ->> 'considered')::bigint, -1),
                one.last_activity, CASE WHEN held <> '' THEN '{' || held || '}' END);
        END IF;
        IF json_typeof(made) = 'object' AND json_typeof(made -> 'to') = 'array'
            AND json_typeof(made -> 'to' -> 0) = 'number' THEN
            INSERT INTO progress VALUES (one.scope, one.id, 'records', (made -> 'to' ->> 0)::bigint,
                (made -> 'to' ->> 0)::bigint, made::text);
        END IF;
    END LOOP;
END $$;

INSERT INTO progress (scope, session, sink, position, at, detail)
SELECT scope, id, 'summary', consolidated_at, consolidated_at,
    CASE WHEN outcome <> '' THEN '{"outcome":' || to_json(outcome)::text || '}' END
FROM sessions WHERE consolidated_at IS NOT NULL;

INSERT INTO progress (scope, session, sink, position, at)
SELECT j.scope, j.key, 'projects', j.done_watermark, j.done_watermark
FROM jobs j JOIN sessions s ON s.scope = j.scope AND s.id = j.key
WHERE j.kind = 'project-extract' AND j.done_watermark > 0;

INSERT INTO events (scope, run, at, actor, verb, noun, target)
SELECT p.scope, 'migrate-0008', s.started_at, 'holdfast', 'migrate', 'progress',
    '[' || to_json(p.session)::text || ',' || to_json(p.sink)::text || ']'
FROM progress p JOIN sessions s ON s.scope = p.scope AND s.id = p.session WHERE p.sink <> 'projects';
INSERT INTO events (scope, run, at, actor, verb, noun, target, before, after)
SELECT scope, 'migrate-0008-' || position, at, 'holdfast', 'migrate', 'progress',
    '[' || to_json(session)::text || ',' || to_json(sink)::text || ']', image, image
FROM (
    SELECT p.*, '{"at":' || at || ',"detail":' || coalesce(to_json(detail)::text, 'null') || ',"position":' || position || '}'
        AS image
    FROM progress p WHERE sink <> 'projects'
) AS marks;
UPDATE totals t SET entries = t.entries + made.count
FROM (SELECT scope, count(*) FROM events WHERE verb = 'migrate' GROUP BY scope) AS made WHERE made.scope = t.scope;
RESET ROLE;

DROP INDEX IF EXISTS sessions_unread;
ALTER TABLE sessions DROP COLUMN consolidated_at, DROP COLUMN outcome;
