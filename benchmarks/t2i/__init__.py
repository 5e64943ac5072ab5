"""Strategies of the t2i hunt side by side: planted worlds, toy-painter, and our own cost."""
