"""The vocabulary of signals as it is shipped: families that say what their types share, made into one entry per type.

The file is `vocabulary.yaml` (doc 41 §41.4 families A to E, doc 39 §39.0); a type is data and never code.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from oneroof import yaml_file

HEADING = "events"


@cache
def shipped() -> tuple[dict[str, Any], ...]:
    """Every type with all that its row has, in the order of the file."""
    text = files("oneroof").joinpath("signals", "vocabulary.yaml").read_text(encoding="utf-8")
    return tuple(
        _entry(family.values, dict(said))
        for family in yaml_file.read(text, heading=HEADING)
        for said in family.values["types"]
    )


def _entry(family: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """What a type does not say, its family does; keys of a payload come on top."""
    return {
        "event_type": said["event_type"],
        "family": family["family"],
        "event_stream": family["event_stream"],
        "delivery_lane": said.get("delivery_lane", family["delivery_lane"]),
        "default_severity": said.get("severity", family["severity"]),
        "owner_hint": said.get("owner_hint", family["owner_hint"]),
        "subject_table": family.get("subject_table"),
        "payload_keys": [*family["payload_keys"], *said.get("payload_keys", [])],
        "description": said["description"],
    }
