"""Whether two statements say the same, differ or contradict each other."""
