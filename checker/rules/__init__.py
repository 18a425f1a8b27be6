"""The rules, one module per ten codes: BL204 is in bl20_accepted_length."""
