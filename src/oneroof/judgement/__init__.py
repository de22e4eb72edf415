"""Judgement: rules, fact sets and verdicts."""
