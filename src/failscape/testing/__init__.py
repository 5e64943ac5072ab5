"""Planted worlds, faulty servers and conformance suites, for our tests and for plugin authors."""
