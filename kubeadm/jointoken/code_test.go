package jointoken

import (
	"fmt"
	"strings"
	"testing"
)

func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, controlPlane := range []bool{false, true, false, true} {
		created := newCode(pinOf([]byte("key")), controlPlane)
		read, err := ParseJoinToken(created.Reveal() + "\n")
		if err != nil || read != created || read.ForControlPlane() != controlPlane {
			t.Errorf("ParseCode(%q): got %q, %v", created.Reveal(), read.Reveal(), err)
		}
		if seen[created.secret] || seen[created.seal] {
			t.Error("newCode returned the same code twice")
		}
		seen[created.secret] = true
		if text := fmt.Sprintf("%v %s", created, created); strings.Contains(text, created.secret) || controlPlane && strings.Contains(text, created.seal) {
			t.Errorf("got %s with the secret, want the text without it", text)
		}
	}
	for _, bad := range []string{
		"", "abcdef", "qwerty.0123456789abcdeX", "QWERTY.0123456789abcdef", "qwerty.zzzz456789abcdef", "qwerty.zzzz456789abcdef.abcdefghijklmnop.", "qwerty.zzzz456789abcdef.short",
		"qwerty.zzzz456789abcdef.abcdefghijklmnop.short", "qwerty.zzzz456789abcdef\nx",
	} {
		if _, err := ParseJoinToken(bad); err == nil || strings.Contains(strings.ToLower(err.Error()), "qwerty") {
			t.Errorf("ParseCode(%q): got %v, want an error without the text", bad, err)
		}
	}
}

func FuzzParseCode(f *testing.F) {
	f.Add("abcdef.0123456789abcdef.abcdefghijklmnop")
	f.Add("abcdef.0123456789abcdef.abcdefghijklmnop.abcdefghijklmnopqrstuvwxyz")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseJoinToken(text); err == nil && c.Reveal() != strings.TrimSpace(text) {
			t.Errorf("ParseCode(%q): got %q", text, c.Reveal())
		}
	})
}
