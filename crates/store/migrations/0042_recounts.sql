-- Columns of uploads that were counted before names in front of addresses were read: they are counted again when they are next read.

UPDATE upload SET counted = 0, domains = NULL WHERE state = 'ready';
