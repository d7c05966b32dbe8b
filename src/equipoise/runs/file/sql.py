"""All SQL of the run file: the numbered migrations, and every statement by name. Documented in `docs/run-file.md`.

Text from outside (an answer, a prompt, a detail) has an `any` column: it is stored as TEXT, or as a BLOB of its exact
UTF-8 bytes if SQLite's TEXT cannot hold it (lone surrogates, NULs).
"""

from __future__ import annotations

APPLICATION_ID = 0x45515549
"""`EQUI`, in the header of the file."""

# In schema 1 the sample of hiring_an counted prompts; it counts pairs now, as the samples of all probes count items.
_PARAMETERS_OF_SCHEMA_1 = """
    case when name = 'hiring_an' and parameters ->> 'design' = 'matched'
        and json_type(parameters, '$.sample_k') = 'integer'
    then json_set(parameters, '$.sample_k', (parameters ->> 'sample_k' + 1) / 2) else parameters end
"""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        create table settings (
            key text primary key,
            value text not null
        ) strict, without rowid
        """,
        """
        create table probes (
            name text primary key,
            version integer not null,
            parameters text not null,
            corpus text,
            corpus_sha256 text,
            repetitions integer not null check (repetitions >= 1),
            covariates text not null
        ) strict, without rowid
        """,
        """
        create table prompts (
            probe text not null references probes (name),
            id text not null,
            position integer not null,
            item text not null,
            covariates text not null,
            prompt any not null check (typeof(prompt) <> 'integer' and typeof(prompt) <> 'real'),
            primary key (probe, id)
        ) strict
        """,
        "create unique index prompts_in_order on prompts (probe, position, id)",
        # Small columns come before large ones, so that counting does not read the answers. The checks do not use IN:
        # SQLite would build a table for each row, at four times the cost of inserting the row.
        """
        create table attempts (
            probe text not null,
            prompt text not null,
            repetition integer not null check (repetition >= 1),
            status text not null check (status = 'ok' or status = 'truncated' or status = 'filtered' or status = 'empty'
                or status = 'malformed' or status = 'too_large' or status = 'http_error' or status = 'timeout'
                or status = 'context_length'),
            tries integer not null,
            finished_at text not null,
            latency real,
            prompt_tokens integer,
            completion_tokens integer,
            served_model any check (typeof(served_model) <> 'integer' and typeof(served_model) <> 'real'),
            finish_reason any check (typeof(finish_reason) <> 'integer' and typeof(finish_reason) <> 'real'),
            fingerprint any check (typeof(fingerprint) <> 'integer' and typeof(fingerprint) <> 'real'),
            detail any check (typeof(detail) <> 'integer' and typeof(detail) <> 'real'),
            answer any check (typeof(answer) <> 'integer' and typeof(answer) <> 'real'),
            reasoning any check (typeof(reasoning) <> 'integer' and typeof(reasoning) <> 'real'),
            raw blob,
            primary key (probe, prompt, repetition),
            foreign key (probe, prompt) references prompts (probe, id)
        ) strict
        """,
        "create index attempts_by_status on attempts (probe, status)",
        """
        create table results (
            probe text not null references probes (name),
            metric text not null,
            value real,
            low real,
            high real,
            n integer,
            mark text,
            best text,
            worst text,
            primary key (probe, metric)
        ) strict
        """,
        """
        create view states as
            select probe, status, count(*) as attempts from attempts group by probe, status
            union all
            select name, 'pending', repetitions * (select count(*) from prompts where probe = name)
                - (select count(*) from attempts where probe = name) from probes
        """,
    ),
    (
        # Nothing ever read the results, and they became stale when answers were added.
        "drop table results",
        "alter table prompts add column system any check (typeof(system) <> 'integer' and typeof(system) <> 'real')",
        f"update probes set parameters = {_PARAMETERS_OF_SCHEMA_1}",  # noqa: S608 - our own constant
    ),
    (
        # `digests.write_digests` fills in what this step adds.
        "alter table attempts add column place integer",
        "alter table attempts add column digest blob",
        """
        create table earlier_failures (
            place integer primary key,
            digest blob not null,
            probe text not null,
            prompt text not null,
            repetition integer not null,
            status text not null,
            tries integer not null,
            finished_at text not null,
            latency real,
            prompt_tokens integer,
            completion_tokens integer,
            served_model any,
            finish_reason any,
            fingerprint any,
            detail any,
            answer any,
            reasoning any,
            raw blob
        ) strict
        """,
        """
        create table digests (
            part text primary key,
            digest blob not null
        ) strict, without rowid
        """,
        """
        create table head (
            id integer primary key check (id = 1),
            run text not null,
            generation integer not null,
            attempts integer not null,
            digest blob not null
        ) strict
        """,
    ),
    (
        # What is null here has no part in digests, so those of schema 3 stay right.
        "alter table probes add column max_tokens integer",
        "alter table probes add column probabilities integer",
        "alter table attempts add column first_token text",
        "alter table earlier_failures add column first_token text",
    ),
    (
        # Verdicts are links of the same chain as attempts.
        """
        create table verdicts (
            place integer primary key,
            digest blob not null,
            probe text not null,
            prompt text not null,
            repetition integer not null,
            question any not null check (typeof(question) <> 'integer' and typeof(question) <> 'real'),
            status text not null,
            tries integer not null,
            finished_at text not null,
            latency real,
            prompt_tokens integer,
            completion_tokens integer,
            served_model any,
            finish_reason any,
            fingerprint any,
            detail any,
            answer any,
            reasoning any,
            raw blob,
            foreign key (probe, prompt, repetition) references attempts (probe, prompt, repetition)
        ) strict
        """,
        "create index verdicts_by_attempt on verdicts (probe, prompt, repetition)",
    ),
    (
        # What the answers say, for other tools. Equipoise itself reads the answers anew.
        """
        create table labels (
            place integer primary key,
            label text,
            counts text,
            judged integer not null
        ) strict
        """,
        """
        create table readings (
            probe text primary key references probes (name),
            reading text not null,
            detector text not null,
            judge text,
            attempts integer not null
        ) strict, without rowid
        """,
        """
        create view answers as
            select attempts.probe, attempts.prompt as id, repetition, item, covariates, status, label, counts, judged,
                prompts.prompt, answer
            from attempts join prompts on prompts.probe = attempts.probe and prompts.id = attempts.prompt
                left join labels on labels.place = attempts.place
        """,
    ),
)
SCHEMA_WITH_DIGESTS = 3
SCHEMA_WITH_PROBABILITIES = 4
SCHEMA_WITH_VERDICTS = 5
SCHEMA_WITH_LABELS = 6
SCHEMA = len(MIGRATIONS)
"""The number of the newest schema, as in `PRAGMA user_version`."""

# Opening and closing
BEGIN, COMMIT, ROLLBACK = "begin immediate", "commit", "rollback"
SET_APPLICATION_ID = f"pragma application_id = {APPLICATION_ID}"
SET_VERSION = "pragma user_version = {}"
GET_VERSION = "pragma user_version"
USE_WAL = "pragma journal_mode = wal"
LEAVE_WAL = "pragma journal_mode = delete"
CHECKPOINT = "pragma wal_checkpoint(truncate)"
SAFE = ("pragma trusted_schema = off", "pragma cell_size_check = on", "pragma mmap_size = 0")
OWNER = (*SAFE, "pragma foreign_keys = on", "pragma synchronous = full", "pragma cache_size = -16384")
READER = (*SAFE, "pragma query_only = on")
# The ids of new prompts go to random places of their index, so all of it should fit: 200 MB for five million prompts.
USE_LARGE_CACHE = "pragma cache_size = -196608"
INTEGRITY_CHECK = "pragma integrity_check(1)"
BEGIN_READING = "begin"
OBJECTS = "select type, name, tbl_name, sql from sqlite_schema"
JOURNAL_MODE = "pragma journal_mode"
IN_USE = "select value from settings where key = 'in_use'"
PROBES_WITH_TOO_MANY_ATTEMPTS = "select probe from states where attempts < 0 limit 1"
PLAN_SIZES = "select name, repetitions, (select count(*) from prompts where probe = name) from probes"
MISPLACED_PROMPTS = """
    select probe from prompts group by probe
    having min(position) <> 0 or max(position) <> count(*) - 1 or count(distinct position) <> count(*) limit 1
"""

# Digests
ADD_HEAD = "insert into head (id, run, generation, attempts, digest) values (1, ?, 0, ?, ?)"
SET_HEAD = "update head set attempts = ?, digest = ?"
NEXT_GENERATION = "update head set generation = generation + 1"
REPEAT_GENERATION = "update head set generation = generation"
"""Changes nothing, but puts the row into the -wal, which by that says to which history it belongs."""
HEAD = "select run, generation, attempts, digest from head"
ADD_DIGEST = """
    insert into digests (part, digest) values (?, ?) on conflict (part) do update set digest = excluded.digest
"""
DIGESTS = "select part, digest from digests"
ALL_SETTINGS = "select key, value from settings"
PROBE_ROWS = """
    select name, version, parameters, corpus, corpus_sha256, repetitions, covariates, max_tokens, probabilities
    from probes
"""
PROMPT_ROWS = "select id, position, item, covariates, prompt, system from prompts where probe = ? order by position"
_CONTENT = """
    probe, prompt, repetition, status, tries, finished_at, latency, prompt_tokens, completion_tokens,
    served_model, finish_reason, fingerprint, detail, answer, reasoning, raw, first_token
"""
ATTEMPT_CHAIN = f"select place, digest, {_CONTENT} from attempts order by rowid"  # noqa: S608 - our own constant
FAILURE_CHAIN = f"select place, digest, {_CONTENT} from earlier_failures order by place"  # noqa: S608
_VERDICT = """
    probe, prompt, repetition, question, status, tries, finished_at, latency, prompt_tokens, completion_tokens,
    served_model, finish_reason, fingerprint, detail, answer, reasoning, raw
"""
# The last column is that of attempts which digests leave out where it is null, as here always.
VERDICT_CHAIN = f"select place, digest, {_VERDICT}, null from verdicts order by place"  # noqa: S608
ATTEMPTS_WITHOUT_DIGEST = f"select rowid, {_CONTENT} from attempts where rowid > ? order by rowid limit ?"  # noqa: S608
SET_ATTEMPT_DIGEST = "update attempts set place = ?, digest = ? where rowid = ?"

# Labels
REMOVE_LABELS = ("delete from labels", "delete from readings")
ADD_LABEL = """
    insert into labels (place, label, counts, judged) select place, ?, ?, ? from attempts
    where probe = ? and prompt = ? and repetition = ?
"""
ADD_READING = """
    insert into readings (probe, reading, detector, judge, attempts)
    select ?, ?, ?, ?, count(*) from attempts where probe = ?1
"""
READING_ROWS = "select probe, reading, detector, judge, attempts from readings order by probe"
LABEL_ROWS = "select place, label, counts, judged from labels order by place"

# Writing
ADD_SETTING = "insert into settings (key, value) values (?, ?)"
ADD_PROBE = """
    insert into probes (name, version, parameters, corpus, corpus_sha256, repetitions, covariates, max_tokens,
        probabilities)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
SET_PARAMETERS = "update probes set parameters = ? where name = ?"
# The plan itself refuses two prompts with the same id, after its last batch.
ADD_PROMPT = """
    insert into prompts (probe, id, position, item, covariates, prompt, system) values (?, ?, ?, ?, ?, ?, ?)
    on conflict (probe, id) do nothing
"""
_ATTEMPT_VALUES = f"({', '.join('?' * 19)})"
_ADD_ATTEMPTS = f"insert into attempts (place, digest, {_CONTENT}) values {{}}"  # noqa: S608
_STORED_AMONG = """
    with wanted (probe, prompt, repetition) as (values {}) select attempts.probe, attempts.prompt, attempts.repetition
    from wanted cross join attempts on attempts.probe = wanted.probe and attempts.prompt = wanted.prompt
        and attempts.repetition = wanted.repetition
"""
ATTEMPTS_PER_STATEMENT = 64
"""One long statement keeps the interpreter free for the thread that asks; many short ones would not."""
ADD_ATTEMPT = _ADD_ATTEMPTS.format(_ATTEMPT_VALUES)
ADD_ATTEMPTS = _ADD_ATTEMPTS.format(", ".join([_ATTEMPT_VALUES] * ATTEMPTS_PER_STATEMENT))
ADD_VERDICT = f"insert into verdicts (place, digest, {_VERDICT}) values ({', '.join('?' * 19)})"  # noqa: S608
KEEP_FAILURES = f"""
    insert into earlier_failures (place, digest, {_CONTENT}) select place, digest, {_CONTENT} from attempts
    where status = ?
"""  # noqa: S608
FAILURE_KEYS = "select probe, prompt, repetition from attempts where status = ?"
REMOVE_FAILURES = "delete from attempts where status = ?"
SET_SETTING = "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"

# Reading
SETTINGS = "select key, value from settings where key <> 'in_use' order by key"
PROBES = """
    select name, version, parameters, corpus, corpus_sha256, repetitions, covariates, max_tokens, probabilities,
           (select count(*) from prompts where probe = name)
    from probes order by name
"""
PENDING = """
    select id, prompt, system, position from prompts
    where probe = ? and position > ? and not exists (
        select 1 from attempts
        where attempts.probe = prompts.probe and attempts.prompt = prompts.id and repetition = ?
    )
    order by position limit ?
"""
# Both sides are read from end to end in the order of their indexes. When most attempts have ended, this is ten times as
# fast as one lookup per prompt.
PENDING_IDS = """
    select id from prompts where probe = ?
    except select prompt from attempts where probe = ? and repetition = ? order by 1
"""
POSITIONS = "select position from json_each(?) as wanted cross join prompts on prompts.id = wanted.value and probe = ?"
PENDING_AT = """
    select id, prompt, system, position from prompts
    where probe = ? and position in (select value from json_each(?)) order by position
"""
COUNT_ENDED = "select count(*) from attempts where probe = ? and repetition = ?"
STATES = "select probe, status, attempts from states"
_USAGE_UNTIL_SCHEMA_2 = "select total(prompt_tokens), total(completion_tokens) from attempts"
USAGE = """
    select total(prompt_tokens), total(completion_tokens) from (
        select prompt_tokens, completion_tokens from attempts
        union all select prompt_tokens, completion_tokens from earlier_failures
    )
"""
ANSWERED_BY_PROBE = """
    select probe, count(*), total(latency), total(completion_tokens) from attempts
    where latency is not null and (status = 'ok' or status = 'truncated') group by probe
"""
EMPTY_REASONS = """
    select finish_reason, count(*) from attempts where status = 'empty' and finish_reason is not null
    group by finish_reason
"""
VERDICT_USAGE = "select total(prompt_tokens), total(completion_tokens) from verdicts"
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
ANSWERS = """
    select id, repetition, status, answer, first_token
    from prompts cross join attempts on attempts.probe = prompts.probe and attempts.prompt = prompts.id
    where prompts.probe = ? and position between ? and ? order by position, repetition
"""
ATTEMPTS = """
    select id, repetition, status, tries, finished_at, latency, prompt_tokens, completion_tokens,
           served_model, finish_reason, fingerprint, detail, first_token, answer, reasoning
    from prompts cross join attempts on attempts.probe = prompts.probe and attempts.prompt = prompts.id
    where prompts.probe = ? order by position, repetition
"""


def for_schema(statement: str, schema: int) -> str:
    """The reading statement for a file of this schema, as if the file had been migrated."""
    if schema < SCHEMA_WITH_DIGESTS and statement is USAGE:
        return _USAGE_UNTIL_SCHEMA_2
    if schema < SCHEMA_WITH_PROBABILITIES:
        was_probes = statement is PROBES
        statement = statement.replace("first_token", "null").replace("max_tokens, probabilities", "null, null")
        if schema == 1 and was_probes:
            return statement.replace("parameters", _PARAMETERS_OF_SCHEMA_1)
    if schema >= 2:
        return statement
    return statement.replace("system", "null as system")


def stored_among(keys: int) -> str:
    """The statement that finds which of so many keys (probe, prompt, repetition) are stored."""
    return _STORED_AMONG.format(", ".join(["(?, ?, ?)"] * keys))
