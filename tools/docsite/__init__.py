"""The documentation as a site: pages that are generated when it is built, and the navigation.

``hooks`` is what ``mkdocs.yml`` names; ``api``, ``commands`` and ``kinds`` write the reference of Python names, of the
command line and of the built-in kinds; ``links`` leads links out of ``docs`` to pages of the site; ``navigation`` reads
the index in ``docs/README.md``. Nothing here needs the network.
"""
