"""Admission: what may change or refuse a write before it happens. Read ``plugin``, then ``chain``."""
