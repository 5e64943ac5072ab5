"""Model servers over HTTP: OpenAI-style images and chat, and FailureAtlas's /generate."""
