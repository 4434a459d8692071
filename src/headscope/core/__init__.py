"""What everything else stands on: the nouns, pure functions on maps, files, checks of arguments. Needs numpy alone."""
