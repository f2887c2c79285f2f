"""Small real servers with good pages and bad ones, on loopback."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ralph.process.ports import free_port

OVERLAYS = """
const add = (name, text) => {
  const overlay = document.createElement(name);
  overlay.attachShadow({mode: 'open'}).innerHTML = text;
  document.body.append(overlay);
};
add('vite-error-overlay', '<pre><span class=message-body>Failed to resolve import ./x</span></pre>');
add('nextjs-portal', '<div data-nextjs-dialog>Unhandled Runtime Error: oops</div>');
"""

BANNERS = {
    "by-name": "<div class='error-banner'>Something went wrong</div>",
    "bootstrap": "<div class='alert alert-danger'><b>Something</b> <i class='alert-message error'>went wrong</i></div>",
    "bulma": "<div class='notification is-danger'>Something went wrong</div>",
    "semantic": "<div class='ui negative message'>Something went wrong</div>",
    "module": "<div class='Cart_errorMessage__x1f'>Something went wrong</div>",
    "flash": "<p class='flash error'>Something went wrong</p>",
    "rails": "<div id='error_explanation'>Something went wrong</div>",
    "django": "<ul class='errorlist'><li>Something went wrong</li></ul>",
}
"""Errors as libraries and people show them, without a role."""

PAGES = {
    "/good": "<h1>Welcome</h1><p>All is well.</p>",
    "/throws": "<h1>Page</h1><script>setTimeout(() => { missing.thing() })</script>",
    "/rejects": "<h1>Page</h1><script>Promise.reject(new TypeError('nobody catches me'))</script>",
    "/console": "<h1>Page</h1><script>console.error('the cart is broken', {items: 3}); console.warn('fine')</script>",
    "/no-script": "<h1>Page</h1><script src='/missing.js'></script>",
    "/api-error": "<h1>Page</h1><script>fetch('/error').then((r) => r.text())</script>",
    "/late-api-error": "<h1>Page</h1><script>fetch('/slow-data').then(() => console.error('late, but seen'))</script>",
    "/gives-up": "<h1>Page</h1><script>const stop = new AbortController();"
    "fetch('/slow-data', {signal: stop.signal}).catch(() => 0); stop.abort()</script>",
    "/banner": "<h1>Page</h1><div role='alert'>Something went\n wrong</div>",
    **{f"/banner/{name}": f"<h1>Page</h1>{banner}" for name, banner in BANNERS.items()},
    "/no-banner": "<h1>Page</h1><button class='btn alert-danger'>Delete</button><p class='text-danger'>Required</p>"
    "<section class='danger-zone'>Delete this project</section><div class='error-banner' hidden>Hidden</div>"
    "<div class='error-message'></div><div class='message'>3 errors were fixed</div>"
    "<div class='error-boundary'><p>The application</p></div><div class='alert alert-info'>All green</div>",
    "/well": "<h1>Page</h1><script>const dev = document.createElement('nextjs-portal');"
    "dev.attachShadow({mode: 'open'}).innerHTML = '<button>Dev tools</button>'; document.body.append(dev)</script>"
    "<div role='alert' class='alert alert-success'>Saved</div><div role='alert'></div>"
    "<div role='alert' style='display:none'>Hidden</div>"
    "<p role='alert' style='position:absolute;width:1px;height:1px;overflow:hidden'>Route announcer</p>",
    "/blank": "<div id='root'></div>",
    "/picture": "<svg width='100' height='100'><circle r='40' cx='50' cy='50'/></svg>",
    "/overlays": "<script src='/overlays.js'></script>"
    "<iframe id='webpack-dev-server-client-overlay' srcdoc='Compiled with problems: x'></iframe>"
    "<div id='summary'><h1>ValueError at /</h1><pre class='exception_value'>bad value</pre></div>"
    "<div id='traceback'>File views.py</div>"
    "<div class='debugger'><h1>NameError</h1><p class='errormsg'>NameError: name 'x' is not defined</p>"
    "<div class='traceback'>File app.py</div></div>"
    "<header><h1>NoMethodError in Posts#index</h1></header><div id='container'>"
    "<h2>undefined method 'title'</h2><div id='Application-Trace-0'>app/x.rb</div></div>",
    "/dialog": "<h1>Page</h1><script>alert('Look!'); confirm('Sure?'); console.error('after the dialog')</script>",
    "/goes-on": "<script>location.href = '/console'</script>",
    "/streams": "<h1>Page</h1><script>new EventSource('/events')</script>",
    "/foreign": "<h1>Page</h1><img src='http://no-such-host.invalid/x.png'>",
    "/noisy": "<h1>Page</h1><script>console.error('[HMR] known noise'); console.error('same\\nthing');"
    "console.error('same\\nthing'); console.error('token s3cret-0123456789 leaked')</script>",
    "/chatty": "<h1>Page</h1><script>for (let i = 0; i < 40; i++) console.error(i, 'x'.repeat(5000))</script>",
}


NEVER_DONE = {
    "/reloads": "<h1>Page</h1><script>onload = () => location.reload()</script>",
    "/endless": "<h1>Page</h1><script>while (true) {}</script>",
}
ALL = PAGES | NEVER_DONE


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        special = getattr(self, "special_" + path.strip("/").replace("-", "_").replace(".", "_"), None)
        if special:
            special()
        elif path in ALL:
            self.answer(200, f"<!doctype html><title>{path}</title><body>{ALL[path]}</body>")
        else:
            self.answer(404, "<h1>Not here</h1>")

    def answer(self, status: int, text: str, kind: str = "text/html; charset=utf-8", **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def special_missing_as_asked(self) -> None:
        self.answer(404, "<h1>Page</h1><div class='error-message' role='alert'>There is no such page</div>")

    def special_overlays_js(self) -> None:
        self.answer(200, OVERLAYS, "text/javascript")

    def special_error(self) -> None:
        self.answer(500, "<h1>Sorry</h1>")

    def special_empty_error(self) -> None:
        self.answer(503, "")

    def special_refused(self) -> None:
        nobody = f"http://127.0.0.1:{free_port()}/"
        self.answer(200, f"<h1>Page</h1><script>fetch('{nobody}').catch(() => 0)</script>")

    def special_moved(self) -> None:
        self.answer(302, "", Location="/good")

    def special_circle(self) -> None:
        self.answer(302, "", Location="/circle")

    def special_data(self) -> None:
        self.answer(200, '{"fine": true}', "application/json")

    def special_file(self) -> None:
        self.answer(200, "a,b\n1,2\n", "text/csv", Content_Disposition="attachment; filename=report.csv")

    def special_slow_data(self) -> None:
        time.sleep(0.3)
        self.answer(200, "{}", "application/json")

    def special_slow(self) -> None:
        time.sleep(0.5)
        self.answer(200, "<h1>Here at last</h1>")

    def special_too_slow(self) -> None:
        time.sleep(4)
        self.answer(200, "<h1>Here at last</h1>")

    def special_hangs_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def special_events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: hello\n\n")
        self.wfile.flush()
        time.sleep(4)
        self.close_connection = True


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[str]:
    """A server in a thread; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a browser may hang up at any time
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
