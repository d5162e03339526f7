-- What a session's agent and its model told each other, word for word: a log that only grows. Its rows are not
-- journalled, for nothing in them ever changes; they go when their whole session is purged.
CREATE TABLE messages (
    scope      INTEGER NOT NULL REFERENCES scopes (number),
    session    TEXT NOT NULL,
    position   INTEGER NOT NULL CHECK (position >= 0),
    body       TEXT NOT NULL CHECK (substr(body, 1, 1) = '{'),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, session, position)
) STRICT, WITHOUT ROWID;
