package nevra

import (
	"math/rand/v2"
	"strings"
	"testing"

	version "github.com/knqyf263/go-rpm-version"
)

// TestCompareWords compares random versions in the same way as go-rpm-version, which compares with
// regular expressions.
func TestCompareWords(t *testing.T) {
	random := rand.New(rand.NewPCG(48, 3))
	parts := []string{"1", "01", "10", "2", "0", "9", "a", "ab", "B", "rc", "~", "^", ".", ".", "_", "-", ":", "+", "ä", "git20260101", "el9", ""}
	word := func() string {
		var s string
		for range 1 + random.IntN(6) {
			s += parts[random.IntN(len(parts))]
		}
		return s
	}
	dashes := strings.NewReplacer("-", "_", ":", "_") // at which the library would split
	plain := func(s string) version.Version { return version.NewVersion("0:" + dashes.Replace(s)) }
	for range 200_000 {
		a, b := word(), word()
		if got, want := compareWords(a, b), plain(a).Compare(plain(b)); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	}
}
