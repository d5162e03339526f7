-- The messages of sessions, as the SQLite store has them. Like all truth it points to `scopes` only: a key that
-- points to `sessions` could not be made where these are already spread over machines.
CREATE TABLE messages (
    scope      bigint NOT NULL REFERENCES scopes (number),
    session    text COLLATE "C" NOT NULL,
    position   bigint NOT NULL CHECK (position >= 0),
    body       text COLLATE "C" NOT NULL CHECK (substr(body, 1, 1) = '{'),
    created_at bigint NOT NULL,
    PRIMARY KEY (scope, session, position)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON messages TO holdfast_app, holdfast_worker;

-- The rules of 0001 for every table with owners, where the reasons are.
CREATE POLICY own ON messages TO holdfast_app
    USING (CASE WHEN scope = ANY ((SELECT string_to_array(current_setting('holdfast.scopes', true), ','))::bigint[])
        THEN true ELSE false END);
CREATE POLICY upkeep ON messages TO holdfast_worker USING (true);
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE messages FORCE ROW LEVEL SECURITY;
ALTER TABLE messages ALTER COLUMN scope SET STATISTICS 0;
