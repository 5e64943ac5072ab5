"""Small model servers: any models behind the HTTP interfaces that our providers speak."""
