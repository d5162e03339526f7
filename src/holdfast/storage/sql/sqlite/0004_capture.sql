-- A captured turn is checked by every rule of its row and written to every index of it: here both become cheaper.

-- For a list in a CHECK, SQLite fills a table of its own with every row that it checks. The same without lists:
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'kind IN (''turn'',''document'',''episode'',''fact'',''reflection'',''rule'',''skill'')',
    'kind = ''turn'' OR kind = ''fact'' OR kind = ''episode'' OR kind = ''document'' OR kind = ''reflection'''
    || ' OR kind = ''rule'' OR kind = ''skill'''),
    'status IN (''active'',''held'',''proposed'',''archived'',''superseded'',''faded'',''evicted'')',
    'status = ''active'' OR status = ''held'' OR status = ''proposed'' OR status = ''archived'''
    || ' OR status = ''superseded'' OR status = ''faded'' OR status = ''evicted''')
WHERE name = 'memories';
PRAGMA writable_schema = RESET;

-- What is said twice is kept once, but for turns: they are there as often as they were said.
DROP INDEX IF EXISTS memories_by_hash;
CREATE INDEX memories_by_hash ON memories (scope, content_hash) WHERE kind <> 'turn';

-- Sessions are listed now and then, and a scope has few: sorting them then costs less than an index at each turn.
DROP INDEX IF EXISTS sessions_by_activity;

-- SQLite takes a partial index only for a statement that repeats its condition, and none does.
DROP INDEX IF EXISTS memories_by_kind;
