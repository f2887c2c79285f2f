"""What a person sees. It is made from the journal and the state files, never from the loop."""
