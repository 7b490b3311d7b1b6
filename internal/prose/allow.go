package prose

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Allowed has, by name of a row, the rates above a limit that are allowed until the text is
// rewritten. Its file has one row a line:
//
//	cluster/install markers=24.1 what=19.1
type Allowed map[string]map[Kind]float64

// lowerBy is the part by which a rate must fall before its entry must follow.
const lowerBy = 0.9

// ParseAllowed reads an allow list. Lines that begin with # are comments.
func ParseAllowed(text string) (Allowed, error) {
	a := Allowed{}
	for i, l := range strings.Split(text, "\n") {
		fields := strings.Fields(l)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		name, rates := fields[0], map[Kind]float64{}
		for _, f := range fields[1:] {
			kind, value, _ := strings.Cut(f, "=")
			rate, err := strconv.ParseFloat(value, 64)
			if err != nil || !slices.Contains(Kinds(), Kind(kind)) {
				return nil, fmt.Errorf("line %d: %q is no rate: write markers=RATE, what=RATE or korean=NUMBER", i+1, f)
			}
			rates[Kind(kind)] = rate
		}
		if len(rates) == 0 || a[name] != nil {
			return nil, fmt.Errorf("line %d: %s has no rate, or a line before: write one line for it, NAME markers=RATE what=RATE", i+1, name)
		}
		a[name] = rates
	}
	return a, nil
}

// Lower returns the list with today's rates: entries that are too high are lowered, entries within
// the limit are gone. It raises no rate and adds none.
func (a Allowed) Lower(rows []Row) Allowed {
	lowered := Allowed{}
	for _, r := range rows {
		for k, rate := range a[r.Name] {
			if r.Exceeds(k) {
				if lowered[r.Name] == nil {
					lowered[r.Name] = map[Kind]float64{}
				}
				lowered[r.Name][k] = min(rate, r.Rate(k))
			}
		}
	}
	return lowered
}

// Format returns the lines of the list.
func (a Allowed) Format() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		text.WriteString(a.line(name) + "\n")
	}
	return text.String()
}

func (a Allowed) line(name string) string {
	fields := []string{name}
	for _, k := range Kinds() {
		if rate, is := a[name][k]; is {
			fields = append(fields, fmt.Sprintf("%s=%s", k, strconv.FormatFloat(rate, 'f', -1, 64)))
		}
	}
	return strings.Join(fields, " ")
}

// Check compares rows with their limits and with the list. Each problem says which line to write or
// to delete. An entry without a row is one only when complete says that rows are all there are.
func (a Allowed) Check(rows []Row, complete bool) error {
	var problems []error
	lowered, seen := a.Lower(rows), map[string]bool{}
	for _, r := range rows {
		seen[r.Name] = true
		for _, k := range Kinds() {
			if most := max(a[r.Name][k], k.Limit()); r.above(k, most) {
				problems = append(problems, tooMany(r, k, most))
			}
		}
		if a[r.Name] == nil {
			continue
		}
		switch {
		case lowered[r.Name] == nil:
			problems = append(problems, fmt.Errorf("%s is within the limits now: delete its line", r.Name))
		case fell(a[r.Name], lowered[r.Name]):
			problems = append(problems, fmt.Errorf("%s is better than its line: write %q", r.Name, lowered.line(r.Name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if complete && !seen[name] {
			problems = append(problems, fmt.Errorf("%s is no package or page: delete its line", name))
		}
	}
	return errors.Join(problems...)
}

func tooMany(r Row, k Kind, most float64) error {
	if k == Korean {
		return fmt.Errorf("%s has %d literal translations, at most %v: reword %d", r.Name, r.Count(k), most, r.Count(k)-int(most))
	}
	fits := int(math.Floor((most + 0.05) * float64(r.Words) / 1000))
	return fmt.Errorf("%s has %s at %v per 1,000 words, at most %v: reword %d of %d", r.Name, k, r.Rate(k), most, r.Count(k)-fits, r.Count(k))
}

// fell says whether an entry went, or one is too high by enough to be corrected.
func fell(from, to map[Kind]float64) bool {
	for k, rate := range from {
		if now, is := to[k]; !is || now < rate*lowerBy {
			return true
		}
	}
	return false
}
