"""Batchboard: a Kanban board over piles of similar work for a language model."""
