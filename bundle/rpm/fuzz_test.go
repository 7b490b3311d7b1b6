package rpm

import (
	"strings"
	"testing"
)

// FuzzCapability: String and ParseCapability agree, and the nesting of rich
// requirements is limited.
func FuzzCapability(f *testing.F) {
	for _, s := range []string{
		"a", "a >= 1:2~rc1-3", "libc.so.6(GLIBC_2.34)(64bit)", "(a if b else c)", "((a and b) unless (c with d))", strings.Repeat("(", 100),
		"a = b:c", " (a >= 1", "a = 0:1:2", "\xfa = 0:\xae", "(a >= 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCapability(s)
		if err != nil {
			return
		}
		if again, err := ParseCapability(c.String()); err != nil || again != c {
			t.Errorf("%q is %+v, then %+v, %v", s, c, again, err)
		}
		parseExpression(c).plain()
	})
}

// FuzzMirrorList: the list returns only http and https URLs.
func FuzzMirrorList(f *testing.F) {
	f.Add([]byte("https://a.example/#\r0\nHTTPS://b.example/\xff"))
	f.Add([]byte("# mirrors\nhttps://a.example/os\nhttp://b.example\nftp://c.example\nfile:///etc\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, base := range parseMirrorList(text) {
			if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") || strings.ContainsAny(base, "\n\r") {
				t.Errorf("%q is a mirror", base)
			}
		}
	})
}
