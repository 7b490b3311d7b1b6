package nevra

import (
	"strings"
	"testing"
)

// FuzzNEVRA: a package's name has no way out of its directory.
func FuzzNEVRA(f *testing.F) {
	for _, s := range []string{"kubelet-0:1.36.3-1.x86_64", "a-b-1~rc1-2^3.noarch", "../a-1-1.noarch", "a-1-1.no/arch", "-a-1-1.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			return
		}
		if strings.ContainsAny(n.FileName(), "/ \x00\n") || strings.HasPrefix(n.FileName(), "-") {
			t.Errorf("%q has the file name %q", s, n.FileName())
		}
		if again, err := Parse(n.String()); err != nil || again != n {
			t.Errorf("%q is %+v, then %+v, %v", s, n, again, err)
		}
	})
}

// FuzzCompare: versions have an order for any input.
func FuzzCompare(f *testing.F) {
	f.Add("1.0~rc1", "1.0")
	f.Add("1.0^git1", "1.0.1")
	f.Add("1a", "1.a")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := EVR{Version: a}, EVR{Version: b}
		if x.Compare(x) != 0 || x.Compare(y) != -y.Compare(x) {
			t.Errorf("%q and %q: %d and %d", a, b, x.Compare(y), y.Compare(x))
		}
	})
}
