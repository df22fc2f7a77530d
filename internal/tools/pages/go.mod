module github.com/campaignd/campaignd/internal/tools/pages

go 1.26.0
