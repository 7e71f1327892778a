"""How tools/verify_certificate judges: relations, what a certificate says, the criterion, sums
in another order."""
