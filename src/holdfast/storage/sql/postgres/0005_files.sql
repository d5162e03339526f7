-- The files that were seen, as the SQLite store has them.
CREATE TABLE files (
    scope  bigint NOT NULL REFERENCES scopes (number),
    root   text COLLATE "C" NOT NULL,
    path   text COLLATE "C" NOT NULL,
    memory text COLLATE "C" NOT NULL,
    size   bigint NOT NULL,
    mtime  bigint NOT NULL,
    hash   text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope, root, path)
);
CREATE INDEX files_by_memory ON files (scope, memory);

GRANT SELECT, INSERT, UPDATE, DELETE ON files TO holdfast_app, holdfast_worker;

-- The rules of 0001 for every table with owners, where the reasons are.
CREATE POLICY own ON files TO holdfast_app
    USING (CASE WHEN scope = ANY ((SELECT string_to_array(current_setting('holdfast.scopes', true), ','))::bigint[])
        THEN true ELSE false END);
CREATE POLICY upkeep ON files TO holdfast_worker USING (true);
ALTER TABLE files ENABLE ROW LEVEL SECURITY;
ALTER TABLE files FORCE ROW LEVEL SECURITY;
ALTER TABLE files ALTER COLUMN scope SET STATISTICS 0;
