"""What bench/gpu/run is made of. Carried to machines where neither Polyte's build nor its sources
are: nothing here needs more than Python, the libraries of the pack and a CUDA driver; torch is
asked for where peers are timed."""
