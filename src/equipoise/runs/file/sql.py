"""The run file in SQL: its tables, which `docs/run-file.md` documents, and every statement by name."""

from __future__ import annotations

APPLICATION_ID = 0x45515549
"""`EQUI`, in the header of the file."""
SCHEMA = 1
"""The number of the schema, as in `PRAGMA user_version`."""


def _text(name: str) -> str:
    """A column for text from outside: TEXT, or a BLOB of UTF-8 bytes that TEXT cannot hold (lone surrogates)."""
    return f"{name} any check (typeof({name}) <> 'integer' and typeof({name}) <> 'real')"


# Columns that several tables have. Small ones come before large ones, so that counting does not read the answers. The
# checks do not use IN: SQLite would build a table for each row, at four times the cost of inserting the row.
_STATUS = """
    status text not null check (status = 'ok' or status = 'truncated' or status = 'filtered' or status = 'empty'
        or status = 'malformed' or status = 'too_large' or status = 'http_error' or status = 'timeout'
        or status = 'context_length')
"""
_LINK = "place integer primary key, digest blob not null"
_ATTEMPT = f"""
    probe text not null,
    prompt text not null,
    repetition integer not null check (repetition >= 1),
    {_STATUS},
    tries integer not null,
    finished_at text not null,
    latency real,
    prompt_tokens integer,
    completion_tokens integer,
    {_text("served_model")},
    {_text("finish_reason")},
    {_text("fingerprint")},
    {_text("detail")},
    {_text("answer")},
    {_text("reasoning")},
    raw blob,
    first_token text
"""
_VERDICT = f"{_ATTEMPT}, {_text('question')}"
_EXAM = f"""
    probe text not null references probes (name),
    number integer not null,
    label text not null,
    gender text not null,
    {_text("question")},
    {_STATUS},
    prompt_tokens integer,
    completion_tokens integer,
    {_text("answer")}
"""
_PROBE = """
    name text primary key,
    version integer not null,
    parameters text not null,
    corpus text,
    corpus_sha256 text,
    repetitions integer not null check (repetitions >= 1),
    covariates text not null,
    max_tokens integer,
    opening text
"""
_PROMPT = f"""
    id text not null,
    position integer not null,
    item text not null,
    covariates text not null,
    {_text("prompt")} not null,
    {_text("system")}
"""

TABLES = (
    "create table settings (key text primary key, value text not null) strict, without rowid",
    f"create table probes ({_PROBE}) strict, without rowid",
    f"create table prompts (probe text not null references probes (name), {_PROMPT}, primary key (probe, id)) strict",
    "create unique index prompts_in_order on prompts (probe, position, id)",
    f"""
    create table attempts (
        {_LINK},
        {_ATTEMPT},
        unique (probe, prompt, repetition),
        foreign key (probe, prompt) references prompts (probe, id)
    ) strict
    """,
    "create index attempts_by_status on attempts (probe, status)",
    f"create table earlier_failures ({_LINK}, {_ATTEMPT}) strict",
    f"""
    create table verdicts (
        {_LINK},
        {_VERDICT},
        foreign key (probe, prompt, repetition) references attempts (probe, prompt, repetition)
    ) strict
    """,
    "create index verdicts_by_attempt on verdicts (probe, prompt, repetition)",
    f"create table exam ({_EXAM}, primary key (probe, number)) strict",
    # What the answers say, for other tools. Equipoise itself reads the answers anew.
    "create table labels (place integer primary key, label text, counts text, judged integer not null) strict",
    """
    create table readings (
        probe text primary key references probes (name),
        reading text not null,
        detector text not null,
        judge text,
        attempts integer not null
    ) strict, without rowid
    """,
    "create table digests (part text primary key, digest blob not null) strict, without rowid",
    """
    create table head (
        id integer primary key check (id = 1),
        run text not null,
        attempts integer not null,
        digest blob not null
    ) strict
    """,
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


def _names(columns: str) -> str:
    """The names of columns that are defined so."""
    return ", ".join(column.split()[0] for column in columns.split(","))


def _insert(table: str, columns: str, rows: int = 1) -> str:
    """The statement that adds so many rows with these columns."""
    row = f"({', '.join('?' * len(columns.split(',')))})"
    return f"insert into {table} ({_names(columns)}) values {', '.join([row] * rows)}"  # noqa: S608 - our own constants


# Opening and closing
BEGIN, COMMIT, ROLLBACK = "begin immediate", "commit", "rollback"
BEGIN_READING = "begin"
SET_HEADER = (f"pragma application_id = {APPLICATION_ID}", f"pragma user_version = {SCHEMA}")
GET_VERSION = "pragma user_version"
GET_APPLICATION_ID = "pragma application_id"
USE_WAL = "pragma journal_mode = wal"
LEAVE_WAL = ("pragma wal_checkpoint(truncate)", "pragma journal_mode = delete")
SAFE = ("pragma trusted_schema = off", "pragma cell_size_check = on", "pragma mmap_size = 0")
OWNER = (*SAFE, "pragma foreign_keys = on", "pragma synchronous = full", "pragma cache_size = -16384")
READER = (*SAFE, "pragma query_only = on")
# The ids of new prompts go to random places of their index, so all of it should fit: 200 MB for five million prompts.
USE_CACHE = "pragma cache_size = -{}"
MIN_CACHE, MAX_CACHE, CACHE_PER_PROMPT = 16_384, 196_608, 48
"""The cache in KiB at least and at most, and the bytes of it for each prompt."""

# Checking
INTEGRITY_CHECK = "pragma integrity_check(1)"
OBJECTS = "select type, name, tbl_name, sql from sqlite_schema"
PROBES_WITH_TOO_MANY_ATTEMPTS = "select probe from states where attempts < 0 limit 1"
PLAN_SIZES = "select name, repetitions, (select count(*) from prompts where probe = name) from probes"
COVARIATES = "select id, covariates from prompts where probe = ?"
MISPLACED_PROMPTS = """
    select probe from prompts group by probe
    having min(position) <> 0 or max(position) <> count(*) - 1 or count(distinct position) <> count(*) limit 1
"""

# Digests
ADD_HEAD = "insert into head (id, run, attempts, digest) values (1, ?, ?, ?)"
SET_HEAD = "update head set attempts = ?, digest = ?"
HEAD = "select run, attempts, digest from head"
ADD_DIGEST = """
    insert into digests (part, digest) values (?, ?) on conflict (part) do update set digest = excluded.digest
"""
DIGESTS = "select part, digest from digests"
PROMPT_ROWS = f"select {_names(_PROMPT)} from prompts where probe = ? order by position"  # noqa: S608
SETTING_ROW = "select key, value from settings where key = ?"
PROBE_ROW = f"select {_names(_PROBE)} from probes where name = ?"  # noqa: S608
EXAM_ROWS = f"select {_names(_EXAM)} from exam order by probe, number"  # noqa: S608
READING_ROWS = "select probe, reading, detector, judge, attempts from readings order by probe"
LABEL_ROWS = "select place, label, counts, judged from labels order by place"
CHAINS = tuple(
    f"select place, digest, {_names(columns)} from {table} where place > ? order by place"  # noqa: S608
    for table, columns in (("attempts", _ATTEMPT), ("earlier_failures", _ATTEMPT), ("verdicts", _VERDICT))
)
LINK = " union all ".join(
    f"select digest from {table} where place = ?1"  # noqa: S608
    for table in ("attempts", "earlier_failures", "verdicts")
)
PARTS = """
    select 'setting ' || key from settings union all select 'probe ' || name from probes
    union all values ('exam'), ('labels')
"""

# Writing
ADD_PROBE = _insert("probes", _PROBE)
SET_PARAMETERS = "update probes set parameters = ?, repetitions = ? where name = ?"
RAISE_LIMITS = "update probes set max_tokens = ? where opening is null"
# The plan itself refuses two prompts with the same id, after its last batch.
ADD_PROMPT = _insert("prompts", f"probe, {_PROMPT}") + " on conflict (probe, id) do nothing"
ATTEMPTS_PER_STATEMENT = 64
"""One long statement keeps the interpreter free for the thread that asks; many short ones would not."""
ADD_ATTEMPT = _insert("attempts", f"{_LINK}, {_ATTEMPT}")
ADD_ATTEMPTS = _insert("attempts", f"{_LINK}, {_ATTEMPT}", rows=ATTEMPTS_PER_STATEMENT)
ADD_VERDICT = _insert("verdicts", f"{_LINK}, {_VERDICT}")
ADD_EXAM_ANSWER = _insert("exam", _EXAM)
REMOVE_EXAM = "delete from exam"
SET_SETTING = "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"
IN_STATE = "status = ?"
THIS_FAILURE = "probe = ? and prompt = ? and repetition = ? and status not in ('ok', 'truncated')"
KEEP_FAILURES = "insert into earlier_failures select * from attempts where {}"
REMOVE_FAILURES = "delete from attempts where {}"
REMOVE_LABELS = ("delete from labels", "delete from readings")
ADD_LABEL = """
    insert into labels (place, label, counts, judged) select place, ?, ?, ? from attempts
    where probe = ? and prompt = ? and repetition = ?
"""
ADD_READING = """
    insert into readings (probe, reading, detector, judge, attempts)
    select ?, ?, ?, ?, count(*) from attempts where probe = ?1
"""

# Reading
SETTINGS = "select key, value from settings order by key"
PROBES = f"""
    select {_names(_PROBE)}, (select coalesce(max(position), -1) + 1 from prompts where probe = name) from probes
    order by name
"""  # noqa: S608
PENDING = """
    select id, prompt, system, position from prompts
    where probe = ? and position > ? and not exists (
        select 1 from attempts
        where attempts.probe = prompts.probe and attempts.prompt = prompts.id and repetition = ?
    )
    order by position limit ?
"""
POSITIONS = "select position from json_each(?) as wanted cross join prompts on prompts.id = wanted.value and probe = ?"
COUNT_STORED = """
    select attempts - (select count(*) from earlier_failures) - (select count(*) from verdicts) from head
"""
STATES = "select probe, status, attempts from states"
_USAGE = """
    select total(prompt_tokens), total(completion_tokens) from (
        select prompt_tokens, completion_tokens from {} union all select prompt_tokens, completion_tokens from {}
    )
"""
USAGE = _USAGE.format("attempts", "earlier_failures")
JUDGE_USAGE = _USAGE.format("verdicts", "exam")
EMPTY_REASONS = """
    select finish_reason, count(*) from attempts where status = 'empty' and finish_reason is not null
    group by finish_reason
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
EXAM = "select probe, number, label, gender, question, status, answer from exam order by probe, number"
# An attempt may have several: one that failed may be asked for again, and the last counts.
VERDICTS = """
    select prompt, repetition, status, answer, max(place) from verdicts where probe = ?
    group by prompt, repetition order by prompt, repetition
"""
LAST_VERDICT = """
    select probe, prompt, repetition, question from verdicts where status = 'ok' order by place desc limit 1
"""
PROMPTS = "select id, item, prompt, system, covariates from prompts where probe = ? order by position"
PROMPTS_AFTER = """
    select id, item, prompt, system, covariates, position from prompts
    where probe = ? and position > ? order by position limit ?
"""
_ATTEMPTS_OF_PROMPTS = """
    from prompts cross join attempts on attempts.probe = prompts.probe and attempts.prompt = prompts.id
    where prompts.probe = ?
"""
ENDED = f"select position, repetition, status {_ATTEMPTS_OF_PROMPTS}"
ANSWERS = f"""
    select id, repetition, status, answer, first_token {_ATTEMPTS_OF_PROMPTS}
    and position between ? and ? order by position, repetition
"""
_WHOLE_ATTEMPTS = f"""
    select id, repetition, status, tries, finished_at, latency, prompt_tokens, completion_tokens, served_model,
        finish_reason, fingerprint, detail, first_token, answer, reasoning {_ATTEMPTS_OF_PROMPTS}
"""
ATTEMPTS = f"{_WHOLE_ATTEMPTS} order by position, repetition"
ATTEMPTS_AMONG = f"{_WHOLE_ATTEMPTS} and position between ? and ? order by position, repetition"
