package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// problem is a table for programs of others.
type problem struct {
	Table       string                 `json:"table"`
	Parameters  []definition.Parameter `json:"parameters"`
	Experiments int                    `json:"experiments"`
	Rows        []definition.Point     `json:"rows"`
	// Scores of each row are what is measured there, greater being better.
	Scores [][]float64 `json:"scores"`
	// Starts are the initial rows of the seeds from 1 on, counted from 0.
	Starts [][]int `json:"starts"`
}

// print prints a table as a line of JSON.
func (t *table) print(seeds int) error {
	p := problem{
		Table: t.def.Name, Parameters: t.def.Parameters, Experiments: t.def.Budget.Experiments,
		Rows: t.def.Candidates, Scores: t.scores,
	}
	for seed := 1; seed <= seeds; seed++ {
		points, err := t.start(seed)
		if err != nil {
			return err
		}
		rows := make([]int, len(points))
		for i, point := range points {
			rows[i] = slices.IndexFunc(t.def.Candidates, func(row definition.Point) bool { return maps.Equal(row, point) })
		}
		p.Starts = append(p.Starts, rows)
	}
	return json.NewEncoder(os.Stdout).Encode(p)
}

// course is a campaign that another program has run on a table.
type course struct {
	Table string `json:"table"`
	Arm   string `json:"arm"`
	Seed  int    `json:"seed"`
	// Rows are what was measured, in order, counted from 0.
	Rows []int `json:"rows"`
}

// read reads what others have recorded, a line of JSON for each campaign.
func read(path string) (courses []course, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for in := json.NewDecoder(f); ; {
		var c course
		switch err := in.Decode(&c); {
		case errors.Is(err, io.EOF):
			return courses, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		courses = append(courses, c)
	}
}
