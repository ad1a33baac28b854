"""What each objective reads, its options and its presets, one file each, whose name is the command's.

No torch.
"""
