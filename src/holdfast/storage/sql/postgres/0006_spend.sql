-- How much a language model was asked for an owner, as the SQLite store has it.
CREATE TABLE spend (
    scope  bigint NOT NULL REFERENCES scopes (number),
    day    bigint NOT NULL,
    calls  bigint NOT NULL,
    tokens bigint NOT NULL,
    PRIMARY KEY (scope, day)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON spend TO holdfast_app, holdfast_worker;

-- The rules of 0001 for every table with owners, where the reasons are.
CREATE POLICY own ON spend TO holdfast_app
    USING (CASE WHEN scope = ANY ((SELECT string_to_array(current_setting('holdfast.scopes', true), ','))::bigint[])
        THEN true ELSE false END);
CREATE POLICY upkeep ON spend TO holdfast_worker USING (true);
ALTER TABLE spend ENABLE ROW LEVEL SECURITY;
ALTER TABLE spend FORCE ROW LEVEL SECURITY;
ALTER TABLE spend ALTER COLUMN scope SET STATISTICS 0;
