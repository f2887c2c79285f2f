"""The workflows: how a plan is made, which steps it has, when it is finished."""
