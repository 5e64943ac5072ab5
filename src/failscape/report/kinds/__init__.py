"""What each kind of hunt adds to the page."""
