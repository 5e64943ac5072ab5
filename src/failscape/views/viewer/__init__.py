"""The viewer: a local web app over atlases, live while a run goes on. Read-only but for review labels."""
