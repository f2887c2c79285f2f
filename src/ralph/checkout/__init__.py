"""Ralph's own folders in which agents work and gates run; never the person's checkout."""
