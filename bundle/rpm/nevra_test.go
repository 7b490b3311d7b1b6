package rpm

import "testing"

func TestCompare_EVR(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"1.0-1", "1.0-1", 0},
		{"1.0-1", "1.0-2", -1},
		{"1.9-1", "1.10-1", -1},
		{"1:0.1-1", "9.9-1", 1},
		{"1.0~rc1-1", "1.0-1", -1},
		{"1.0^git1-1", "1.0-1", 1},
		{"1.0^git1-1", "1.0.1-1", -1},
		{"1.0", "1.0-7", 0}, // no release: any
		{"1.36.3-150500.1.1", "1.36.2-150500.1.1", 1},
	}
	for _, tt := range tests {
		a, errA := parseEVR(tt.a)
		b, errB := parseEVR(tt.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := sign(a.Compare(b)); got != tt.want {
			t.Errorf("%s against %s is %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := sign(b.Compare(a)); got != -tt.want {
			t.Errorf("%s against %s is %d, want %d", tt.b, tt.a, got, -tt.want)
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestParseNEVRA(t *testing.T) {
	for _, s := range []string{"bash-0:5.1.8-6.el9.x86_64", "container-selinux-3:2.234.2-1.el9.noarch", "gcc-c++-0:11~rc1-1^x.x86_64"} {
		if n, err := ParseNEVRA(s); err != nil || n.String() != s {
			t.Errorf("%s became %s, %v", s, n, err)
		}
	}
	if n, err := ParseNEVRA("bash-5.1-6.x86_64"); err != nil || n.String() != "bash-0:5.1-6.x86_64" {
		t.Errorf("without an epoch: %s, %v", n, err)
	}
	for _, s := range []string{"", "bash", "bash-5.1", "-1-1.x", "../x-1-1.noarch", "a-x:1-1.noarch", "a b-1-1.noarch", ".a-1-1.noarch", "a-1-1./etc"} {
		if n, err := ParseNEVRA(s); err == nil {
			t.Errorf("%q was read as %s", s, n)
		}
	}
}

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
			t.Errorf("%q and %q are written %q and %q", tt.provide, tt.require, p, r)
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
			t.Errorf("%s is written %s", tt.in, e)
		}
		supported := tt.op != unreadable && !unsupported[tt.in]
		if err := e.supported(); (err == nil) != supported {
			t.Errorf("%s: %v, want it supported: %v", tt.in, err, supported)
		}
	}
}
