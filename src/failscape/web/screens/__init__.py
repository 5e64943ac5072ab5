"""What each screen of the viewer shows, as plain data. One module per screen; all of them read only."""
