-- Items of LangGraph's store are found by the namespace that they are in, below which there may be others. Only they are
-- in the index, so that nothing else takes longer to write.
CREATE INDEX memories_by_namespace ON memories (scope, metadata ->> '$.namespace') WHERE source = 'langgraph';
