"""The verbs, one module each: what they read, what they change, what they answer.

Each verb is a function ``(Call) -> Response``. ``create`` and ``update`` hold the two ways of writing an object that
all other writes end in; a new verb is a new module here and a line in ``core``'s table.
"""
