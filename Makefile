# `make demo` and `make test` are all a newcomer needs: each makes .venv by itself, with no more than it uses.
.PHONY: demo test test-agents check bench chaos integrity screenshots format lock clean setup
BIN := .venv/bin
COMPILE = $(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11 --quiet

demo:
	@./scripts/setup run
	@$(BIN)/ralph demo

test: setup
	@$(BIN)/python -m pytest -n auto --dist loadgroup

test-agents: setup
	@RALPH_TEST_AGENTS=all $(BIN)/python -m pytest -n auto --dist loadgroup tests/e2e

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python scripts/check_structure.py

bench: setup
	@$(BIN)/python -m bench $(filter integrity,$(MAKECMDGOALS))

chaos: setup # CHAOS_MINUTES=10, or CHAOS_SEED=… to play one round again
	@$(BIN)/python -m chaos

integrity: bench # `make bench integrity`; the recipe above does it
	@:

screenshots: setup # the pictures in docs/images
	@$(BIN)/python scripts/screenshots.py

setup:
	@./scripts/setup

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: setup
	@$(BIN)/python -m pip install --quiet uv
	@$(COMPILE) --group run pyproject.toml -o requirements/run.txt
	@$(COMPILE) --group dev --constraints requirements/run.txt pyproject.toml -o requirements/dev.txt

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .hypothesis .coverage
