"""What people and other programs see of an atlas: one read model and everything drawn from it."""
