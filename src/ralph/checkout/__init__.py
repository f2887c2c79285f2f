"""Working copies: folders of Ralph's own in which agents work and gates run. The person's checkout is never one."""
