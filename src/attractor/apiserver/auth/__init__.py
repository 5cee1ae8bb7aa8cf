"""Authorization: the authorizer's contract, role-based access control, reviews, tokens of service accounts."""
