"""The tables of the run file. `docs/run-file.md` documents them.

Text from outside (an answer, a prompt, a detail) has an `any` column: it is stored as TEXT, or as a BLOB of its exact
UTF-8 bytes if SQLite's TEXT cannot hold it (lone surrogates, NULs).
"""

from __future__ import annotations

SCHEMA = 1
"""The number of the schema, as in `PRAGMA user_version`."""

STATEMENTS = (
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
        covariates text not null,
        max_tokens integer,
        opening text
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
        system any check (typeof(system) <> 'integer' and typeof(system) <> 'real'),
        primary key (probe, id)
    ) strict
    """,
    "create unique index prompts_in_order on prompts (probe, position, id)",
    # Small columns come before large ones, so that counting does not read the answers. The checks do not use IN:
    # SQLite would build a table for each row, at four times the cost of inserting the row.
    """
    create table attempts (
        place integer not null,
        digest blob not null,
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
        first_token text,
        primary key (probe, prompt, repetition),
        foreign key (probe, prompt) references prompts (probe, id)
    ) strict
    """,
    "create index attempts_by_status on attempts (probe, status)",
    """
    create view states as
        select probe, status, count(*) as attempts from attempts group by probe, status
        union all
        select name, 'pending', repetitions * (select count(*) from prompts where probe = name)
            - (select count(*) from attempts where probe = name) from probes
    """,
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
        raw blob,
        first_token text
    ) strict
    """,
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
    """
    create table exam (
        probe text not null references probes (name),
        number integer not null,
        label text not null,
        gender text not null,
        question any not null check (typeof(question) <> 'integer' and typeof(question) <> 'real'),
        status text not null,
        prompt_tokens integer,
        completion_tokens integer,
        answer any check (typeof(answer) <> 'integer' and typeof(answer) <> 'real'),
        primary key (probe, number)
    ) strict
    """,
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
        attempts integer not null,
        digest blob not null
    ) strict
    """,
)
