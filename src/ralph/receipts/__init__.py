"""Receipts: in-toto statements about each commit that Ralph makes, signed with the person's git key if there is one."""
