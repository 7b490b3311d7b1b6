// Package outlier finds hosts that differ from most others.
package outlier

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// Trait is a property that the hosts of a cluster usually share, such as the kernel.
type Trait struct {
	Name  string `yaml:"name" json:"name"`
	Value string `yaml:"value" json:"value"`
}

// Host has the known traits of a host.
type Host struct {
	Name   string
	Traits []Trait
}

// Outlier is a trait with the value of most hosts, and the hosts with other values.
type Outlier struct {
	Name, Common string
	Count        int // hosts with the common value
	Others       []Value
}

// Value is another value of a trait, and its hosts.
type Value struct {
	Value string
	Hosts []string
}

// fewest is the number of hosts from which on a majority means something.
const fewest = 3

// Find returns the traits that more than half of the hosts share, and that others have with another value. A host
// without a trait does not count for it.
func Find(hosts []Host) []Outlier {
	var names []string
	by := map[string][]Value{}
	for _, h := range hosts {
		seen := map[string]bool{}
		for _, t := range h.Traits {
			if seen[t.Name] { // each host counts once
				continue
			}
			seen[t.Name] = true
			values := by[t.Name]
			if values == nil {
				names = append(names, t.Name)
			}
			i := slices.IndexFunc(values, func(v Value) bool { return v.Value == t.Value })
			if i < 0 {
				i, values = len(values), append(values, Value{Value: t.Value})
			}
			values[i].Hosts = append(values[i].Hosts, h.Name)
			by[t.Name] = values
		}
	}
	var all []Outlier
	for _, name := range names {
		values, known := by[name], 0
		for _, v := range values {
			known += len(v.Hosts)
		}
		slices.SortStableFunc(values, func(a, b Value) int { return cmp.Compare(len(b.Hosts), len(a.Hosts)) })
		if most := len(values[0].Hosts); len(values) > 1 && known >= fewest && 2*most > known {
			all = append(all, Outlier{Name: name, Common: values[0].Value, Count: most, Others: values[1:]})
		}
	}
	return all
}

// shown is the number of other values in a text.
const shown = 3

// Write writes each trait with its common value, and the hosts with other values.
func Write(w io.Writer, all []Outlier) error {
	for _, o := range all {
		if _, err := fmt.Fprintf(w, "note   %s: %s on %s\n", o.Name, o.Common, ui.Count(o.Count, "host")); err != nil {
			return err
		}
		for i, other := range o.Others {
			if i == shown {
				fmt.Fprintf(w, "       %s: --output json has them\n", ui.Count(len(o.Others)-i, "other value"))
				break
			}
			fmt.Fprintf(w, "       but %s on %s\n", other.Value, hostrange.Join(other.Hosts))
		}
	}
	return nil
}
