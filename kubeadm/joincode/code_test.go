package joincode

import (
	"fmt"
	"strings"
	"testing"
)

func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, controlPlane := range []bool{false, true, false, true} {
		made := newCode(pinOf([]byte("key")), controlPlane)
		read, err := ParseCode(made.Reveal() + "\n")
		if err != nil || read != made || read.ForControlPlane() != controlPlane {
			t.Errorf("%q: read as %q, %v", made.Reveal(), read.Reveal(), err)
		}
		if seen[made.secret] || seen[made.seal] {
			t.Error("a code was made twice")
		}
		seen[made.secret] = true
		if text := fmt.Sprintf("%v %s", made, made); strings.Contains(text, made.secret) || controlPlane && strings.Contains(text, made.seal) {
			t.Errorf("printing it tells the secret: %s", text)
		}
	}
	for _, bad := range []string{
		"", "abcdef", "qwerty.0123456789abcdeX", "QWERTY.0123456789abcdef", "qwerty.zzzz456789abcdef", "qwerty.zzzz456789abcdef.abcdefghijklmnop.", "qwerty.zzzz456789abcdef.short",
		"qwerty.zzzz456789abcdef.abcdefghijklmnop.short", "qwerty.zzzz456789abcdef\nx",
	} {
		if _, err := ParseCode(bad); err == nil || strings.Contains(strings.ToLower(err.Error()), "qwerty") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseCode(f *testing.F) {
	f.Add("abcdef.0123456789abcdef.abcdefghijklmnop")
	f.Add("abcdef.0123456789abcdef.abcdefghijklmnop.abcdefghijklmnopqrstuvwxyz")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseCode(text); err == nil && c.Reveal() != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, c.Reveal())
		}
	})
}
