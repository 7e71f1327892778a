"""Libraries as arms of `polyte lab`: a worker that driver/lab starts, and what turns a Program's
array form into theirs."""
