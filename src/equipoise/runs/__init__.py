"""The run file (SQLite) and the pump that fills it.

RunFile.create(path, settings=…, plans=…)   a new run, with every prompt in it
RunFile.open(path)                          the same run later, as its one owner
RunFile.read(path)                          for reading, also while its owner writes
pump(run, model, policy, on_event)          ask for what is pending
"""

from equipoise.errors import Interrupted
from equipoise.runs.changes import changes, refuse_changes
from equipoise.runs.events import Event, Note, OnEvent, Progress
from equipoise.runs.policy import ALLOW_MISSING, Policy, Price, check_complete, missing_share
from equipoise.runs.pump import Pump, pump
from equipoise.runs.signals import interruptible
from equipoise.runs.store import RESERVE, RunFile
from equipoise.runs.values import Attempt, Pending, Planned

__all__ = [
    "ALLOW_MISSING",
    "RESERVE",
    "Attempt",
    "Event",
    "Interrupted",
    "Note",
    "OnEvent",
    "Pending",
    "Planned",
    "Policy",
    "Price",
    "Progress",
    "Pump",
    "RunFile",
    "changes",
    "check_complete",
    "interruptible",
    "missing_share",
    "pump",
    "refuse_changes",
]
