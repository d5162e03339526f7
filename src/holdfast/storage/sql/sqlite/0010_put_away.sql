-- What large memories need so that a page, an undo or a sync reads what it shows and not everything.

-- Memories that are not active: few, and what is counted about all is counted without them. Active ones are not in it, so
-- that capturing a turn takes no longer. The Postgres store has had the like from the start.
CREATE INDEX memories_put_away ON memories (scope, kind, status, id) WHERE status <> 'active';

-- The journal of a scope in its own order: SQLite keeps the rows of a key in the order of their seq. Without it, the last
-- entries and every page of a sync were found by sorting all entries.
CREATE INDEX events_by_scope ON events (scope);
