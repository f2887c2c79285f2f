"""The full screen of `ralph watch`: what it knows, and what it draws. It never imports the engine."""
