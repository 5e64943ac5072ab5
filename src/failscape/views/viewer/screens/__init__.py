"""What each screen of the viewer shows, as plain data. All but review read only."""
