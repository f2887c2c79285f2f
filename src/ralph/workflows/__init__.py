"""The workflows: how a plan is made, what its steps are, when it is finished."""
