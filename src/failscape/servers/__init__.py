"""Small model servers: any generator and judge behind the HTTP interfaces that our providers speak."""
