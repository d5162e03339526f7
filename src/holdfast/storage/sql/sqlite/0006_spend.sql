-- How much a language model was asked for an owner, day by day: what caps are held against. It tells what it cost, and
-- nothing that was said, so it is neither journalled nor exported.
CREATE TABLE spend (
    scope  INTEGER NOT NULL REFERENCES scopes (number),
    day    INTEGER NOT NULL,  -- days since 1970, UTC
    calls  INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (scope, day)
) STRICT, WITHOUT ROWID;
