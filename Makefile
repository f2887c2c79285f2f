# `make demo` and `make test` are all a newcomer needs: each sets up .venv by itself.
.PHONY: demo test check bench format lock clean
BIN := .venv/bin

demo: setup
	@$(BIN)/ralph demo

test: setup
	@$(BIN)/python -m pytest -n auto --dist worksteal

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

bench: setup
	@$(BIN)/python -m bench

.PHONY: setup
setup:
	@./scripts/setup

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: setup
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url \
		--python-version 3.11 --group dev --quiet pyproject.toml -o requirements/dev.txt

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .hypothesis .coverage
