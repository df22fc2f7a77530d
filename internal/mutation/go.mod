module github.com/campaignd/campaignd/internal/mutation

go 1.26.0
