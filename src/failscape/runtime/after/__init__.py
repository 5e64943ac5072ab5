"""What is done with a hunt after it ran: other judges, other targets, names for skills; corpus matching."""
