package rpm

import (
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

func TestSatisfies(t *testing.T) {
	tests := []struct {
		provide, require string
		want             bool
	}{
		{"a = 1.2-1", "a", true},
		{"a = 1.2-1", "b", false},
		{"a", "a", true},
		{"a", "a >= 1", true},
		{"a = 1.2-1", "a >= 1.2", true},
		{"a = 1.2-1", "a = 1.2", true},
		{"a = 1.2-1", "a = 1.2-2", false},
		{"a = 1.2-1", "a > 1.2", false},
		{"a = 1.2-1", "a < 1.2-2", true},
		{"a = 1:1-1", "a >= 2", true},
		{"a >= 2", "a < 1", false},
		{"a >= 2", "a > 5", true},
		{"a <= 2", "a >= 2", true},
		{"a < 2", "a >= 2", false},
	}
	for _, tt := range tests {
		p, _ := ParseCapability(tt.provide)
		r, _ := ParseCapability(tt.require)
		if got := p.satisfies(r); got != tt.want {
			t.Errorf("%q satisfies %q: %v, want %v", tt.provide, tt.require, got, tt.want)
		}
		if p.String() != tt.provide || r.String() != tt.require {
			t.Errorf("%q and %q become %q and %q", tt.provide, tt.require, p, r)
		}
	}
}

func TestExpressions(t *testing.T) {
	tests := []struct{ in, want, op string }{
		{"(a if b)", "", "if"},
		{"(a >= 1 with a < 2)", "", "with"},
		{"(a or b or c)", "", "or"},
		{"((a and b) or c)", "", "or"},
		{"(libc.so.6()(64bit) or x)", "", "or"},
		{"(libc.so.6(GLIBC_2.34)(64bit) if (x or y))", "", "if"},
		{"(a if b else c)", "", "if else"},
		{"(a unless b)", "", "unless"},
		{"(a without b)", "", "without"},
		{"((a or b) with c)", "", "with"},
		{"(a if b if c)", "", "if"},
		{"((a and b) with c)", "", "with"},
		{"(a and b or c)", "(a and or b and or c)", "and or"},
		{"(a", "", "unreadable"},
		{"()", "", "unreadable"},
		{"(a or)", "", "unreadable"},
		{"(a or b) c", "", "unreadable"},
	}
	unsupported := map[string]bool{"(a if b if c)": true, "((a and b) with c)": true, "(a and b or c)": true}
	for _, tt := range tests {
		e := parseExpression(Capability{Name: tt.in})
		want := tt.want
		if want == "" {
			want = tt.in
		}
		if e.op != tt.op {
			t.Errorf("%s has the operator %q, want %q", tt.in, e.op, tt.op)
		}
		if e.op != "unreadable" && e.String() != want {
			t.Errorf("%s becomes %s", tt.in, e)
		}
		supported := tt.op != unreadable && !unsupported[tt.in]
		if err := e.supported(); (err == nil) != supported {
			t.Errorf("%s: %v, want supported: %v", tt.in, err, supported)
		}
	}
}

// TestCapabilityText: the text of a capability can be read again.
func TestCapabilityText(t *testing.T) {
	for text, want := range map[string]Capability{
		" a  >=  1 ":  {Name: "a", Flags: "GE", EVR: nevra.EVR{Version: "1"}},
		" (a >= 1":    {Name: "(a >= 1"},
		"(a >= 1)":    {Name: "(a >= 1)"},
		"a = 0:1:2-3": {Name: "a", Flags: "EQ", EVR: nevra.EVR{Version: "1:2", Release: "3"}},
		"\xfa = 1":    {Name: "\xfa", Flags: "EQ", EVR: nevra.EVR{Version: "1"}},
		"a => 1":      {Name: "a => 1"},
	} {
		c, err := ParseCapability(text)
		if err != nil || c != want {
			t.Errorf("%q is %+v, %v", text, c, err)
		}
		if again, err := ParseCapability(c.String()); err != nil || again != c {
			t.Errorf("%q is %q, then %+v, %v", text, c, again, err)
		}
	}
	for _, text := range []string{"(a => 1 or b)", "(a >= or b)", "(a(b or c)", "(a <", "((a or b)", "(\xff"} {
		if x := parseExpression(Capability{Name: text}); x.op != unreadable {
			t.Errorf("%q is %q with the operator %q", text, x, x.op)
		}
	}
}
