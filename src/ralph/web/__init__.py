"""The dashboard: what all plans and runs of some projects are doing, in a browser. It never imports the engine."""
