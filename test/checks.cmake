# The developer scripts as tests.
