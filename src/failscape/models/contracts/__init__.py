"""What models are asked and how their replies are read: one contract per question."""
