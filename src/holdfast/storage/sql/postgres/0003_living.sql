-- How sure a memory was when it was last said, where `confidence` has faded since. NULL: it has not.
ALTER TABLE memories ADD COLUMN strength double precision;

-- Sessions that have ended and went on since they were last read: what is to be learned from, found without a search.
CREATE INDEX sessions_unread ON sessions (scope, last_activity)
    WHERE ended_at IS NOT NULL AND (consolidated_at IS NULL OR last_activity > consolidated_at);
