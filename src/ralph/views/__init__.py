"""What a person sees; made from the journal and the state files, never from the loop."""
