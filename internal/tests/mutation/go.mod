module github.com/campaignd/campaignd/internal/tests/mutation

go 1.26.0
