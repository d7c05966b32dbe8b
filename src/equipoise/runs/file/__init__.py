"""The run file: everything that reads or writes the SQLite file belongs here; asking a model (`runs.ask`) does not."""
