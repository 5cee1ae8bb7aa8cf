"""The controller of database clusters: observe, plan, carry out."""
