-- The timeline: memories by when they happened, which is when they began to be true or, without that, the time of the
-- event. Turns are not in it, so that capturing one takes no longer; with kind, status and time of storage beside it,
-- memories of a period are counted without reading their rows.
CREATE INDEX memories_by_moment ON memories (scope, coalesce(valid_from, event_time), kind, status, created_at)
    WHERE kind <> 'turn';
