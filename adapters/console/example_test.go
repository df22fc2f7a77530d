package console_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
)

// An adapter asks for a line of text; whoever is at the terminal answers. Here the lines were
// written beforehand.
func Example() {
	in := strings.NewReader("e1 12.9\n")
	lines := console.NewLines(in, os.Stdout, false)

	answer, err := lines.Prompt(context.Background(), console.Form{
		Key:   "e1",
		Title: "What is the conductivity?",
		Body:  console.Sentences("1.1 mol/kg LiPF6, at 25 °C."),
		Hint:  "a number in mS/cm",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("answer:", answer)
	// Output:
	// e1  What is the conductivity?
	//     1.1 mol/kg LiPF6, at 25 °C.
	// e1> a number in mS/cm
	// answer: 12.9
}
