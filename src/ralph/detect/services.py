"""The programs that a project's pages need: its development server, and what compose files and Procfiles name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.detect.found import FoundFact, FoundService
from ralph.detect.node import manager
from ralph.detect.project import Project, is_plain, listed, table, within

PORT = "${RALPH_PORT}"
SERVERS = ("vite", "next", "nuxt", "astro", "ng", "remix", "svelte-kit", "react-router", "vue-cli-service", "gatsby")
"""Programs whose development servers take `--port`."""
COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
URL = f"http://localhost:{PORT}/"


def services(project: Project) -> Iterator[FoundService]:
    scripts = within(project.json("package.json"), "scripts")
    for name in ("dev", "start", "serve"):
        script = scripts.get(name)
        if not isinstance(script, str) or not is_plain(script):
            continue
        program = next((word for word in re.split(r"[\s;&|]+", script) if word in SERVERS), "")
        if program and not re.search(r"(?:--port|-p)\b", script):
            tool, _ = manager(project)
            start = f"{tool} run {name}{' --' if tool == 'npm' else ''} --port $RALPH_PORT"
            yield FoundService(name=name, start=start, ready=URL, why=f'"{name}" in package.json ({script})')
            return
    if project.has("manage.py") and "django" in project.text("manage.py"):
        start = project.python("python manage.py runserver $RALPH_PORT --noreload")
        start = start if project.manager[0] or project.venv else start.replace("python ", "python3 ", 1)
        yield FoundService(name="web", start=start, ready=URL, why="there is manage.py")
        return
    web = re.search(r"(?m)^web:[ \t]*(\S.*)$", project.text("Procfile"))
    if web and is_plain(web[1]) and re.search(r"\$\{?PORT\b", web[1]):
        start = f"PORT=$RALPH_PORT; export PORT; {web[1].strip()}"
        yield FoundService(name="web", start=start, ready=URL, why="web in Procfile")


def facts(project: Project) -> Iterator[FoundFact]:
    """Return what a person starts: Ralph does not start containers."""
    path = project.has(*COMPOSE)
    for name, service in list(within(project.yaml(path), "services").items())[:10] if path else ():
        ports = [str(port) for port in listed(table(service).get("ports"))]
        published = next((match[1] for port in ports if (match := re.search(r"(\d{2,5}):\d+(?:/tcp)?$", port))), "")
        at = f" on port {published}: if gates need it, start it yourself" if published else ": you start it yourself"
        if is_plain(name):
            yield FoundFact(what=f"service {name}{at}", why=path)
