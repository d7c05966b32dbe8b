"""Every statement of the run file by name. `layout` has the statements that make its tables."""

from __future__ import annotations

APPLICATION_ID = 0x45515549
"""`EQUI`, in the header of the file."""

# Lists of columns
_OUTCOME = """
    status, tries, finished_at, latency, prompt_tokens, completion_tokens, served_model, finish_reason, fingerprint,
    detail
"""
_ATTEMPT = f"probe, prompt, repetition, {_OUTCOME}, answer, reasoning, raw, first_token"
_VERDICT = f"probe, prompt, repetition, question, {_OUTCOME}, answer, reasoning, raw"
_EXAM_ANSWER = "probe, number, label, gender, question, status, prompt_tokens, completion_tokens, answer"
_PROBE = """
    name, version, parameters, corpus, corpus_sha256, repetitions, covariates, max_tokens, opening
"""


def _insert(table: str, columns: str, rows: int = 1) -> str:
    """The statement that adds so many rows with these columns."""
    row = f"({', '.join('?' * len(columns.split(',')))})"
    return f"insert into {table} ({columns}) values {', '.join([row] * rows)}"  # noqa: S608 - our own constants


# Opening and closing
BEGIN, COMMIT, ROLLBACK = "begin immediate", "commit", "rollback"
SET_APPLICATION_ID = f"pragma application_id = {APPLICATION_ID}"
SET_VERSION = "pragma user_version = {}"
GET_VERSION = "pragma user_version"
GET_APPLICATION_ID = "pragma application_id"
USE_WAL = "pragma journal_mode = wal"
LEAVE_WAL = "pragma journal_mode = delete"
CHECKPOINT = "pragma wal_checkpoint(truncate)"
SAFE = ("pragma trusted_schema = off", "pragma cell_size_check = on", "pragma mmap_size = 0")
OWNER = (*SAFE, "pragma foreign_keys = on", "pragma synchronous = full", "pragma cache_size = -16384")
READER = (*SAFE, "pragma query_only = on")
# The ids of new prompts go to random places of their index, so all of it should fit: 200 MB for five million prompts.
USE_CACHE = "pragma cache_size = -{}"
MIN_CACHE, MAX_CACHE, CACHE_PER_PROMPT = 16_384, 196_608, 48
"""The cache in KiB at least and at most, and the bytes of it for each prompt."""
INTEGRITY_CHECK = "pragma integrity_check(1)"
BEGIN_READING = "begin"
OBJECTS = "select type, name, tbl_name, sql from sqlite_schema"
JOURNAL_MODE = "pragma journal_mode"
IN_USE = "select value from settings where key = 'in_use'"
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
ALL_SETTINGS = "select key, value from settings"
PROBE_ROWS = f"select {_PROBE} from probes"  # noqa: S608 - our own constants
PROMPT_ROWS = "select id, position, item, covariates, prompt, system from prompts where probe = ? order by position"
ATTEMPT_CHAIN = f"select place, digest, {_ATTEMPT} from attempts order by rowid"  # noqa: S608
FAILURE_CHAIN = f"select place, digest, {_ATTEMPT} from earlier_failures order by place"  # noqa: S608
EXAM_ROWS = f"select {_EXAM_ANSWER} from exam order by probe, number"  # noqa: S608
VERDICT_CHAIN = f"select place, digest, {_VERDICT} from verdicts order by place"  # noqa: S608
LAST_LINKS = tuple(f"{chain} desc limit 2" for chain in (ATTEMPT_CHAIN, FAILURE_CHAIN, VERDICT_CHAIN))

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
ADD_PROBE = _insert("probes", _PROBE)
SET_PARAMETERS = "update probes set parameters = ?, repetitions = ? where name = ?"
RAISE_LIMITS = "update probes set max_tokens = ? where opening is null"
# The plan itself refuses two prompts with the same id, after its last batch.
ADD_PROMPT = (
    _insert("prompts", "probe, id, position, item, covariates, prompt, system") + " on conflict (probe, id) do nothing"
)
ATTEMPTS_PER_STATEMENT = 64
"""One long statement keeps the interpreter free for the thread that asks; many short ones would not."""
ADD_ATTEMPT = _insert("attempts", f"place, digest, {_ATTEMPT}")
ADD_ATTEMPTS = _insert("attempts", f"place, digest, {_ATTEMPT}", rows=ATTEMPTS_PER_STATEMENT)
ADD_VERDICT = _insert("verdicts", f"place, digest, {_VERDICT}")
ADD_EXAM_ANSWER = _insert("exam", _EXAM_ANSWER)
REMOVE_EXAM = "delete from exam"
REMOVE_DIGEST = "delete from digests where part = ?"
KEEP_FAILURES = f"""
    insert into earlier_failures (place, digest, {_ATTEMPT}) select place, digest, {_ATTEMPT} from attempts
    where status = ?
"""  # noqa: S608
_THIS_FAILURE = "probe = ? and prompt = ? and repetition = ? and status not in ('ok', 'truncated')"
KEEP_FAILURE = KEEP_FAILURES.replace("status = ?", _THIS_FAILURE)
REMOVE_FAILURE = f"delete from attempts where {_THIS_FAILURE}"  # noqa: S608
REMOVE_FAILURES = "delete from attempts where status = ?"
SET_SETTING = "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"

# Reading
SETTINGS = "select key, value from settings where key <> 'in_use' order by key"
PROBES = f"""
    select {_PROBE}, (select coalesce(max(position), -1) + 1 from prompts where probe = name) from probes order by name
"""  # noqa: S608
PENDING = """
    select id, item, prompt, system, covariates, position from prompts
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
    select id, item, prompt, system, covariates, position from prompts
    where probe = ? and position in (select value from json_each(?)) order by position
"""
COUNT_ENDED = "select count(*) from attempts where probe = ? and repetition = ?"
COUNT_STORED = """
    select attempts - (select count(*) from earlier_failures) - (select count(*) from verdicts) from head
"""
STATES = "select probe, status, attempts from states"
USAGE = """
    select total(prompt_tokens), total(completion_tokens) from (
        select prompt_tokens, completion_tokens from attempts
        union all select prompt_tokens, completion_tokens from earlier_failures
    )
"""
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
VERDICT_USAGE = """
    select total(prompt_tokens), total(completion_tokens) from (
        select prompt_tokens, completion_tokens from verdicts union all
        select prompt_tokens, completion_tokens from exam
    )
"""
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
    select id, repetition, {_OUTCOME}, first_token, answer, reasoning {_ATTEMPTS_OF_PROMPTS}
"""
ATTEMPTS = f"{_WHOLE_ATTEMPTS} order by position, repetition"
ATTEMPTS_AMONG = f"{_WHOLE_ATTEMPTS} and position between ? and ? order by position, repetition"


def stored_among(keys: int) -> str:
    """The statement that finds which of so many keys (probe, prompt, repetition) are stored."""
    return f"""
        with wanted (probe, prompt, repetition) as (values {", ".join(["(?, ?, ?)"] * keys)})
        select attempts.probe, attempts.prompt, attempts.repetition
        from wanted cross join attempts on attempts.probe = wanted.probe and attempts.prompt = wanted.prompt
            and attempts.repetition = wanted.repetition
    """  # noqa: S608
