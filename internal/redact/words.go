package redact

import (
	"sync"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
)

// engine has all forms, and finds in one pass over a line which of them it can have.
type engine struct {
	patterns []pattern
	always   []int // patterns without words
	words    *ahocorasick.Trie
	of       [][]int // which patterns a word is of
}

// theEngine is made when it is first needed: the same for all redactors, and never changed.
//
//nolint:gochecknoglobals // as said
var theEngine = sync.OnceValue(newEngine)

func newEngine() *engine {
	e := &engine{patterns: append(patterns(), rules()...)}
	b, at := ahocorasick.NewTrieBuilder(), map[string]int{}
	for i, p := range e.patterns {
		if len(p.words) == 0 {
			e.always = append(e.always, i)
		}
		for _, word := range p.words {
			n, known := at[word]
			if !known {
				n = len(e.of)
				at[word], e.of = n, append(e.of, nil)
				b.AddString(word)
			}
			e.of[n] = append(e.of[n], i)
		}
	}
	e.words = b.Build()
	return e
}

// mark sets which patterns a text in lower case has a word of.
func (e *engine) mark(lower []byte, has []bool) {
	for _, i := range e.always {
		has[i] = true
	}
	e.words.Walk(lower, func(_, _, word int64) bool {
		for _, i := range e.of[word] {
			has[i] = true
		}
		return true
	})
}
