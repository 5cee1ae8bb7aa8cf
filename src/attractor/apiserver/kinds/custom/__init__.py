"""CustomResourceDefinitions: ordinary objects that register kinds.

``definition`` has the rules of a CustomResourceDefinition itself, ``resource`` those of the objects of a custom kind,
``registry`` turns a stored definition into the kinds that it serves, and ``status`` plans the status that says whether
a definition's names were accepted and the kind is served.
"""
