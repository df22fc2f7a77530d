module github.com/campaignd/campaignd/internal/pages

go 1.26.0
