"""The pump: asking a model for all pending attempts belongs here; storing them (`runs.file`) and drawing do not."""
