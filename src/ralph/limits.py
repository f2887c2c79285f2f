"""How much Ralph reads of a file. What is larger is refused with a word before any of it is parsed, or left out.

Ten thousand tasks with all their results are about 30 MB.
"""

from __future__ import annotations

MB = 1_000_000

FILE = 64 * MB
"""Plans, requirements, and other files that a person or an agent wrote."""
SETTINGS = 4 * MB
"""Configurations, step configurations, answers and prompt templates."""
NOTES = MB
"""Learnings: the newest of them count."""
SESSION_FILE = 4 * MB
"""One file of a session."""
VALUES = 1_000_000
"""Objects and lists in one JSON file."""
TASKS = 20_000
"""Tasks in one plan, or entries of another list at the top of a JSON file."""
OWN = 16 * MB
"""Files that Ralph wrote itself: records, states, notes about copies."""
CRASH_COPIES = 8 * FILE
"""The copies of all files of a plan, as JSON."""
STEPS = 3 * 10**8
"""Steps of one search with a regular expression of a configuration: about a second."""
SEARCHED = 2_000
"""Characters of a line in which such an expression searches."""
