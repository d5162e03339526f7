-- Which file of a folder was seen as what, so that a folder in which nothing changed is recognised without opening
-- one. A projection of the disk, not of the journal: when it is lost, the files are read once more.
CREATE TABLE files (
    scope  INTEGER NOT NULL REFERENCES scopes (number),
    root   TEXT NOT NULL,
    path   TEXT NOT NULL,
    memory TEXT NOT NULL,
    size   INTEGER NOT NULL,
    mtime  INTEGER NOT NULL,
    hash   TEXT NOT NULL,
    PRIMARY KEY (scope, root, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_memory ON files (scope, memory);
