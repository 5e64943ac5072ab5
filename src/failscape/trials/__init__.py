"""The words all layers share: a probe is a short list of steps, a trial is what came of it.

Everything here is pure data, plus the one rule that turns the replies of a probe's steps into a verdict.
Each identity is a type with one text form, which is written and read here and nowhere else:

| type | text form | module |
|---|---|---|
| `Subject` | `cat; Base: Colour=red` | `subjects.py` |
| `ProbeKey` | `cat; Base: Colour=red#p3` | `keys.py` |
| `QuestionStep` | `q3.7.0>` | `question_keys.py` |
| `Purpose` | `p` | `purposes.py` |
| `Status` | `certified` | `statuses.py` |
| `Missed` | none: it follows from steps and facts | `verdicts.py` |
| steps | JSON | `steps.py` |
"""

from failscape.trials.keys import (
    FIRST_FRESH_NUMBER,
    LETTER_IN_SQL,
    ProbeKey,
    key_beside,
    key_of_second_look,
    key_of_try,
    left_out_in_sql,
    next_unused_key,
    number_of_plain_try,
    subject_of_key,
)
from failscape.trials.purposes import IMPORTED, UNNAMED, Purpose, Purposes
from failscape.trials.question_keys import (
    QuestionStep,
    is_early_question_key,
    is_question_key,
    is_turn_of,
    key_of_errand,
    key_of_gate_question,
    key_of_item,
    key_of_question,
    number_of_question,
)
from failscape.trials.records import AsData, Finding, Probe, Progress, Trial
from failscape.trials.seeds import derive_seed, seed_from_text
from failscape.trials.statuses import Status
from failscape.trials.steps import (
    STEP_KINDS,
    Answer,
    Caption,
    Check,
    Classify,
    Consult,
    Decide,
    DefineSkill,
    Edit,
    Embed,
    ExpectChange,
    Facts,
    Generate,
    NameSkills,
    Propose,
    Recall,
    Reword,
    Show,
    Step,
    Verify,
    VerifyAgain,
    steps_from_json,
    steps_to_json,
    verdict_steps_from_json,
)
from failscape.trials.subjects import (
    Subject,
    SubjectForm,
    SubjectValue,
    parse_label,
    question_text,
    thing_text,
    value_label,
    without_question_separators,
    without_separators,
)
from failscape.trials.verdicts import Missed, MissedHow, Verdict, is_not_shown, missed_by, reach_verdict

__all__ = [
    "FIRST_FRESH_NUMBER",
    "IMPORTED",
    "LETTER_IN_SQL",
    "STEP_KINDS",
    "UNNAMED",
    "Answer",
    "AsData",
    "Caption",
    "Check",
    "Classify",
    "Consult",
    "Decide",
    "DefineSkill",
    "Edit",
    "Embed",
    "ExpectChange",
    "Facts",
    "Finding",
    "Generate",
    "Missed",
    "MissedHow",
    "NameSkills",
    "Probe",
    "ProbeKey",
    "Progress",
    "Propose",
    "Purpose",
    "Purposes",
    "QuestionStep",
    "Recall",
    "Reword",
    "Show",
    "Status",
    "Step",
    "Subject",
    "SubjectForm",
    "SubjectValue",
    "Trial",
    "Verdict",
    "Verify",
    "VerifyAgain",
    "derive_seed",
    "is_early_question_key",
    "is_not_shown",
    "is_question_key",
    "is_turn_of",
    "key_beside",
    "key_of_errand",
    "key_of_gate_question",
    "key_of_item",
    "key_of_question",
    "key_of_second_look",
    "key_of_try",
    "left_out_in_sql",
    "missed_by",
    "next_unused_key",
    "number_of_plain_try",
    "number_of_question",
    "parse_label",
    "question_text",
    "reach_verdict",
    "seed_from_text",
    "steps_from_json",
    "steps_to_json",
    "subject_of_key",
    "thing_text",
    "value_label",
    "verdict_steps_from_json",
    "without_question_separators",
    "without_separators",
]
