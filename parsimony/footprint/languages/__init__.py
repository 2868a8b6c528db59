"""Tracks of languages other than Python: their parsers are optional dependencies, loaded when a track is asked for."""
