"""The integrity benchmark: what is called done, and is it? Twelve behaviours of agents against loops that run them."""
