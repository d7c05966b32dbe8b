"""The run file in SQL: its tables, which `docs/run-file.md` documents, and every statement by name."""

from __future__ import annotations

APPLICATION_ID = 0x45515549
"""`EQUI`, in the header of the file."""
SCHEMA = 1
"""The number of the schema, as in `PRAGMA user_version`."""
MAX_PLANNED = 10**9
"""Attempts of one probe. Whatever plans more was not written to be asked."""
MAX_TOKENS = 10**9
"""Of one attempt. What claims to be more is no count."""

# Columns that several tables have. Small ones come before large ones, so that counting does not read the answers.
_LINK = "place integer primary key, digest blob not null"
_ATTEMPT = """
    probe text not null,
    prompt text not null,
    repetition integer not null check (repetition >= 1),
    status text not null,
    tries integer not null,
    finished_at text not null,
    latency real,
    prompt_tokens integer,
    completion_tokens integer,
    served_model text,
    finish_reason text,
    fingerprint text,
    detail text,
    answer text,
    reasoning text,
    raw blob,
    first_token text,
    question text
"""
_PROMPT = """
    probe text not null,
    id text not null,
    position integer not null,
    item text not null,
    covariates text not null,
    prompt text not null,
    system text
"""

_TABLES = (
    "create table settings (key text primary key, value text not null) strict, without rowid",
    "create table probes (name text primary key, repetitions integer not null, plan text not null) strict",
    f"create table prompts ({_PROMPT}, primary key (probe, id)) strict",
    "create unique index prompts_in_order on prompts (probe, position, id)",
    f"""
    create table attempts (
        {_LINK},
        {_ATTEMPT},
        unique (probe, prompt, repetition),
        foreign key (probe, prompt) references prompts (probe, id)
    ) strict
    """,
    # With the tokens, so that neither states nor usage are counted from the answers.
    "create index attempts_by_status on attempts (probe, status, prompt_tokens, completion_tokens)",
    f"create table earlier_failures ({_LINK}, {_ATTEMPT}) strict",
    f"create table verdicts ({_LINK}, {_ATTEMPT}) strict",
    "create index verdicts_by_attempt on verdicts (probe, prompt, repetition)",
    # What the answers say, for other tools. Equipoise itself reads the answers anew.
    "create table labels (place integer primary key, label text, counts text, judged integer not null) strict",
    "create table digests (part text primary key, digest blob not null) strict, without rowid",
    """
    create view states as
        select probe, status, count(*) as attempts from attempts group by probe, status
        union all
        select name, 'pending', repetitions * (select count(*) from prompts where probe = name)
            - (select count(*) from attempts where probe = name) from probes
    """,
    """
    create view answers as
        select attempts.probe, attempts.prompt as id, repetition, item, covariates, status, label, counts, judged,
            prompts.prompt, answer
        from attempts join prompts on prompts.probe = attempts.probe and prompts.id = attempts.prompt
            left join labels on labels.place = attempts.place
    """,
)


TABLES = tuple(" ".join(statement.split()) for statement in _TABLES)


ATTEMPT_COLUMNS = {column.split()[0]: column.split()[1] for column in _ATTEMPT.split(",")}
"""The columns of an attempt, and their types."""


def _names(columns: str) -> str:
    """The names of columns that are defined so."""
    return ", ".join(column.split()[0] for column in columns.split(","))


def _insert(table: str, columns: str) -> str:
    """The statement that adds a row with these columns."""
    values = ", ".join("?" * len(columns.split(",")))
    return f"insert into {table} ({_names(columns)}) values ({values})"  # noqa: S608 - our own constants


# Opening and closing
BEGIN, BEGIN_READING = "begin immediate", "begin"
SET_HEADER = (f"pragma application_id = {APPLICATION_ID}", f"pragma user_version = {SCHEMA}")
GET_VERSION = "pragma user_version"
GET_APPLICATION_ID = "pragma application_id"
SAFE = ("pragma trusted_schema = off", "pragma cell_size_check = on", "pragma mmap_size = 0")
READER = (*SAFE, "pragma query_only = on")
OWNER = (*SAFE, "pragma foreign_keys = on", "pragma synchronous = extra", "pragma cache_size = -16384")
# The ids of new prompts go to random places of their index, so all of it should fit: 200 MB for five million prompts.
CREATOR = (*OWNER, "pragma cache_size = -196608")

# Checking
INTEGRITY_CHECK = "pragma integrity_check(1)"
OBJECTS = "select type, name, tbl_name, sql from sqlite_schema"
COUNT_PLACES = "select count(*), count(distinct position), min(position), max(position) from prompts where probe = ?"
IMPOSSIBLE = """
    select probe from states where attempts < 0 or status not in ('ok', 'truncated', 'filtered', 'empty', 'malformed',
        'too_large', 'http_error', 'timeout', 'context_length', 'key_in_answer',
        'pending')
"""

# Digests
SET_DIGEST = "replace into digests (part, digest) values (?, ?)"
GET_DIGEST = "select digest from digests where part = ?"
DIGESTS = "select part, digest from digests order by part"
DIGESTED = {
    "settings": "select key, value from settings order by key",
    "probes": "select name, repetitions, plan from probes order by name",
}
"""The rows that the digest of a table covers."""
BLOCK = f"select {_names(_PROMPT)} from prompts where probe = ? and position >= ? and position < ? order by position"  # noqa: S608
"""The prompts that a digest covers."""
CHAIN = f"""
    select place, digest, {_names(_ATTEMPT)} from attempts where place >= :first
    union all select place, digest, {_names(_ATTEMPT)} from earlier_failures where place >= :first
    union all select place, digest, {_names(_ATTEMPT)} from verdicts where place >= :first order by place
"""  # noqa: S608
LAST_PLACE = """
    select max(place) from (
        select 0 as place union all select max(place) from attempts
        union all select max(place) from earlier_failures union all select max(place) from verdicts
    )
"""

# Writing
SET_PLAN = "replace into probes (name, repetitions, plan) values (?, ?, json_remove(?, '$.parameters.repeat'))"
# The plan itself refuses two prompts with the same id, after its last batch.
ADD_PROMPT = _insert("prompts", _PROMPT) + " on conflict (probe, id) do nothing"
SET_SETTING = "replace into settings (key, value) values (?, ?)"
IN_STATE = "status = ?"
THIS_FAILURE = "probe = ? and prompt = ? and repetition = ? and status not in ('ok', 'truncated')"
KEEP_FAILURES = "insert into earlier_failures select * from attempts where {}"
REMOVE_FAILURES = "delete from attempts where {}"
REMOVE_LABELS = "delete from labels"
ADD_LABEL = """
    insert into labels (place, label, counts, judged) select place, ?, ?, ? from attempts
    where probe = ? and prompt = ? and repetition = ?
"""
ADD_ENDED = {
    role: _insert(table, f"{_LINK}, {_ATTEMPT}") for role, table in {"model": "attempts", "judge": "verdicts"}.items()
}
"""The statements that add what has ended, by who was asked."""

# Reading
SETTINGS = DIGESTED["settings"]
PLANS = "select json_set(plan, '$.parameters.repeat', repetitions) from probes order by name"
# By id, as both indexes are sorted: a million prompts take a third of the time that they take by position.
PENDING = """
    select position from prompts
    where probe = ? and not exists (
        select 1 from attempts
        where attempts.probe = prompts.probe and attempts.prompt = prompts.id and repetition = ?
    )
    order by id
"""
STATES = "select probe, status, attempts from states order by probe"
USAGE = {
    "model": """
        select total(prompt_tokens), total(completion_tokens) from (
            select prompt_tokens, completion_tokens from attempts
            union all select prompt_tokens, completion_tokens from earlier_failures
        )
    """,
    "judge": "select total(prompt_tokens), total(completion_tokens) from verdicts",
}
COUNT_EMPTY = """
    select count(*) from attempts
    where status = 'empty' and lower(finish_reason) in (select value from json_each(?))
"""
SERVED = """
    select served_model, fingerprint, count(*), min(finished_at), max(finished_at) from attempts
    group by served_model, fingerprint order by count(*) desc, served_model, fingerprint
"""
COMMON_FAILURES = """
    select status, detail, count(*) from attempts where status not in ('ok', 'truncated')
    group by status, detail order by count(*) desc, status, detail limit 10
"""
COUNT_EARLIER_FAILURES = "select count(*) from earlier_failures"
# An attempt may have several: one that failed may be asked for again, and the last counts.
VERDICTS = """
    select prompt, repetition, status, answer, max(place) from verdicts where probe = ? and place > ?
    group by prompt, repetition order by prompt, repetition
"""
LAST_VERDICT = """
    select probe, prompt, repetition, question from verdicts where status = 'ok' order by place desc limit 1
"""
LAST_ANSWER = """
    select attempts.probe, repetition, position
    from attempts join prompts on prompts.probe = attempts.probe and prompts.id = attempts.prompt
    where status in ('ok', 'truncated') order by place desc limit 1
"""
_PLANNED = "select position, item, id, prompts.prompt, system, covariates"
PROMPTS = f"{_PLANNED} from prompts where probe = :probe and position > :last order by position"
ATTEMPTS = f"""
    {_PLANNED}, {{}}
    from prompts left join attempts on attempts.probe = prompts.probe and attempts.prompt = prompts.id
    where prompts.probe = :probe and position > :last
    and (:ids is null or id in (select value from json_each(:ids)))
    order by position, repetition
"""  # noqa: S608
"""Each prompt with these columns of the attempts at it, or of one that is null; of all prompts, or of some."""
ENDED = "select probe, prompt, repetition, status from attempts"
