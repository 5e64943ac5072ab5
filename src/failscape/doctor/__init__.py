"""Experiments that tell whether models can be trusted, before money is spent on a hunt."""
