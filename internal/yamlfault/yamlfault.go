// Package yamlfault explains why a text is not YAML: the line, the mistake, and its fix.
//
// A YAML parser reports where it gave up, in the terms of its grammar. The mistake of the author
// is often in another line: a tab, a missing space, an open quote. This package looks for it.
package yamlfault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Fault is the first syntax error of a text.
type Fault struct {
	Line    int // from 1
	Message string
}

func (f *Fault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Message) }

// Find returns the first syntax error of a text; nil if all its documents are YAML.
func Find(text []byte) *Fault {
	err := parse(text)
	if err == nil {
		return nil
	}
	if f := encoding(text); f != nil {
		return f
	}
	return explain(text, err)
}

// parse reads all documents of a text. It resolves no aliases.
func parse(text []byte) error {
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		if err := documents.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var numbered = regexp.MustCompile(`^line (\d+): `)

// split returns the parser's line, 0 if it has none, and its words.
func split(err error) (line int, words string) {
	words = strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
	if m := numbered.FindStringSubmatch(words); m != nil {
		line, _ = strconv.Atoi(m[1])
		words = strings.TrimPrefix(words, m[0])
	}
	return line, words
}

// explain looks for the mistake in the lines near the place where the parser gave up.
func explain(text []byte, err error) *Fault {
	line, words := split(err)
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n")
	stopped := stop(lines, max(line, 1), words)
	for _, m := range mistakes() {
		for _, at := range []int{stopped, stopped - 1} {
			if at >= 1 && at <= len(lines) && m.is(lines[at-1]) && (at == stopped || m.before) {
				return &Fault{at, m.message}
			}
		}
	}
	if message, known := meanings()[words]; known {
		return &Fault{stopped, message}
	}
	return &Fault{stopped, words}
}

// maxLines limits the work for the exact line: the search parses the text several times.
const maxLines = 100_000

// stop returns the line at which the parser gave up. For a block, the parser names the line
// before the block begins: then it is the last line of the shortest beginning of the text with the
// same error.
func stop(lines []string, line int, words string) int {
	switch {
	case strings.Contains(words, "tab character"):
		for at := max(line-1, 1); at <= len(lines); at++ {
			if indentedByTab(lines[at-1]) {
				return at
			}
		}
	case strings.HasPrefix(words, "did not find expected ',' or"):
		return min(line+1, len(lines)) // the parser counts these lines from 0
	case strings.HasPrefix(words, "did not find expected") && len(lines) < maxLines:
		return 1 + sort.Search(len(lines)-1, func(i int) bool {
			err := parse([]byte(strings.Join(lines[:i+1], "\n")))
			if err == nil {
				return false
			}
			_, same := split(err)
			return same == words
		})
	}
	return min(line, len(lines))
}
