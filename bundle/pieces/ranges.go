package pieces

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// Ranges writes sorted piece numbers for people and for pack --only: 3,7-9.
func Ranges(numbers []int) string {
	var all []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		text := strconv.Itoa(numbers[i])
		if j > i {
			text += "-" + strconv.Itoa(numbers[j])
		}
		all = append(all, text)
		i = j + 1
	}
	return strings.Join(all, ",")
}

// maxRanges is the largest text of ranges, in bytes.
const maxRanges = 1 << 20

// selection are the pieces of --only.
type selection struct {
	set    string // short ID of the set; "" if the text has none
	chosen map[int]bool
}

// has reports whether piece n, from 0, is selected. Without --only, all are.
func (s selection) has(n int) bool { return s.chosen == nil || s.chosen[n+1] }

// readSelection reads "3,7-9", "1a2b3c4d:3,7-9" or the name of a file with such a text.
func readSelection(only string) (selection, error) {
	s := selection{}
	if only == "" {
		return s, nil
	}
	text := only
	if strings.Trim(only, "0123456789abcdef:,- ") != "" || !strings.ContainsAny(only, "0123456789") {
		data, err := host.ReadInput(only, host.MaxInput)
		if errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("--only %q: want piece numbers such as 3,7-9, or a file of airgap unpack --missing", only)
		}
		if err != nil {
			return s, fmt.Errorf("--only: %w", err)
		}
		if len(data) > maxRanges {
			return s, fmt.Errorf("--only: %s is larger than %d bytes", only, maxRanges)
		}
		text = string(data)
	}
	text = strings.Join(strings.Fields(text), "")
	if set, rest, is := strings.Cut(text, ":"); is {
		s.set, text = set, rest
	}
	s.chosen = map[int]bool{}
	for item := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		if errFirst != nil || errLast != nil || first < 1 || last < first || last > 2*maxPieces {
			return s, fmt.Errorf("--only: %q is no range of pieces: want numbers such as 3,7-9", item)
		}
		for n := first; n <= last; n++ {
			s.chosen[n] = true
		}
	}
	return s, nil
}

// check compares the selection with the set of the bundle.
func (s selection) check(m *manifest) error {
	if s.set != "" && s.set != m.ID() {
		return fmt.Errorf("--only is for set %s, and this bundle in pieces of this size is set %s: use the --size and --parity of the first pack", s.set, m.ID())
	}
	for n := range s.chosen {
		if n > m.count() {
			return fmt.Errorf("--only: there is no piece %d: the set has %d", n, m.count())
		}
	}
	return nil
}
