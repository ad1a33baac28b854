"""What the objectives train, one file each: an encoder, its helpers and the loss."""
