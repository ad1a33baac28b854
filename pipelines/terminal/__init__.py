"""What a terminal shows and takes."""
