"""What a t2i hunt says about the whole space, beyond single findings."""
