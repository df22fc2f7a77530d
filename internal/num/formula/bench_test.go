package formula

import (
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// sums of a number of terms, in four names.
func sums(terms int) string {
	all := make([]string, terms)
	for i := range all {
		all[i] = fmt.Sprintf("%d*%c/sqrt(%c)", i+1, 'a'+rune(i%4), 'a'+rune((i+1)%4))
	}
	return strings.Join(all, " + ")
}

func BenchmarkParse(b *testing.B) {
	for _, terms := range []int{1, 10, 100} {
		text := sums(terms)
		b.Run(fmt.Sprintf("terms=%d", terms), func(b *testing.B) {
			for b.Loop() {
				parse(b, text)
			}
		})
	}
}

// BenchmarkEvaluate is a formula as a number, with what a component needs, and with all derivatives.
func BenchmarkEvaluate(b *testing.B) {
	for _, terms := range []int{1, 10, 50} {
		for _, names := range []int{2, 4} {
			text := sums(terms)
			if names == 2 {
				text = strings.NewReplacer("c", "a", "d", "b").Replace(text)
			}
			order := []string{"a", "b", "c", "d"}[:names]
			f := must.Get(parse(b, text).Bind(order))(b)
			values := []float64{1, 2, 3, 4}
			s := jet.NewSpace(names, 0)
			s.Weigh([]float64{1, 1, 1, 1}[:names])
			arguments := make([]jet.Jet, names)
			for i := range arguments {
				arguments[i] = s.New()
				s.Linear(arguments[i], i, values[i], 1)
			}
			size := fmt.Sprintf("terms=%d/names=%d", terms, names)
			b.Run(size+"/number", func(b *testing.B) {
				for b.Loop() {
					f.Value(values)
				}
			})
			for _, all := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/all=%v", size, all), func(b *testing.B) {
					s.Differentiate(all)
					for b.Loop() {
						f.Jet(s, arguments)
					}
				})
			}
		}
	}
}
