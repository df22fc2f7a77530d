// Command ours runs campaigns of this program on the benchmark with several
// outcomes, from the starts that others had, and compares them with theirs:
//
//	GOMAXPROCS=1 go -C internal/study/papers run ./outcomes/ours -seeds 6 branin-currin dtlz2-2
//
// It prints a line for each campaign, and at the end the paired differences from
// each other arm over the seeds that both have. -write appends the campaigns to a
// file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/internal/study/papers/outcomes"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "ours:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	seeds := flag.Int("seeds", 6, "seeds of each task, from 1")
	folder := flag.String("peers", filepath.Join("..", "peers", "outcomes"), "where starts and the others' campaigns are")
	write := flag.String("write", "", "a file to append the campaigns to")
	flag.Parse()
	starts, err := read(filepath.Join(*folder, "starts.jsonl"), outcomes.ReadStarts)
	if err != nil {
		return err
	}
	others, err := read(filepath.Join(*folder, "courses.jsonl"), outcomes.ReadCourses)
	if err != nil {
		return err
	}
	var ours []outcomes.Course
	for _, name := range flag.Args() {
		task, ok := outcomes.Lookup(name)
		if !ok {
			return fmt.Errorf("there is no task %q", name)
		}
		for seed := 1; seed <= min(*seeds, task.Seeds); seed++ {
			start, ok := starts.Of(task, seed)
			if !ok {
				return errors.New("there is no start of " + name)
			}
			c, err := task.Run(ctx, seed, start)
			if err != nil {
				return err
			}
			fmt.Printf("%s, seed %d: log10 difference %.3f, %.2f s a suggestion\n",
				name, seed, c.Log10Difference, mean(c.SearchSeconds))
			ours = append(ours, c)
			if err := appendTo(*write, c); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	for _, line := range outcomes.Compare(ours, others) {
		fmt.Println(line)
	}
	return nil
}

// read reads a file.
func read[T any](name string, from func(r io.Reader) (T, error)) (out T, err error) {
	f, err := os.Open(name)
	if err != nil {
		return out, err
	}
	defer f.Close()
	return from(f)
}

// appendTo appends a campaign to a file; "" for none.
func appendTo(name string, c outcomes.Course) error {
	if name == "" {
		return nil
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
