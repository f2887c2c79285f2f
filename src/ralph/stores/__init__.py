"""How plans lie on disk: one module for each layout, atomic files, one lock."""
