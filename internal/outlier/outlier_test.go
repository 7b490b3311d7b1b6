package outlier

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFind: only a minority is named, and only among enough hosts.
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		want   string
	}{
		"all the same":          {"a a a a", ""},
		"two of five":           {"a b a c a", "a on 3: b h2; c h4"},
		"half":                  {"a a b b", ""},
		"two hosts":             {"a b", ""},
		"hosts without a trait": {"a - - b", ""},
		"unknown on one":        {"a - a b", "a on 2: b h4"},
	} {
		var all []Host
		for i, v := range strings.Fields(c.values) {
			r := Host{Name: fmt.Sprintf("h%d", i+1)}
			if v != "-" {
				r.Traits = []Trait{{Name: "kernel", Value: v}}
			}
			all = append(all, r)
		}
		var said []string
		for _, o := range Find(all) {
			var others []string
			for _, f := range o.Others {
				others = append(others, f.Value+" "+strings.Join(f.Hosts, ","))
			}
			said = append(said, fmt.Sprintf("%s on %d: %s", o.Common, o.Count, strings.Join(others, "; ")))
		}
		assert.Equal(t, c.want, strings.Join(said, "\n"), name)
	}
}
