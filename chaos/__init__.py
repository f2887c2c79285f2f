"""Chaos: random plans, agents that misbehave and random faults, until something that must hold does not."""
