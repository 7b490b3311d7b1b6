package hostrange_test

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/hostrange"
)

func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"cp1":                               "cp1",
		"":                                  "",
		"node[001-003]":                     "node001 node002 node003",
		"node[9-11].bank":                   "node9.bank node10.bank node11.bank",
		"node[01-02,05]":                    "node01 node02 node05",
		"10.1.0.[11-13]":                    "10.1.0.11 10.1.0.12 10.1.0.13",
		"10.[1-2].0.11":                     "10.1.0.11 10.2.0.11",
		"node[7]":                           "node7",
		"node[0-1]":                         "node0 node1",
		"node[3-1]":                         "error: [3-1] is not a range",
		"node[01-100]":                      "error: of the same width",
		"node[1-02]":                        "error: of the same width",
		"node[a-c]":                         "error: [a-c] is not a range",
		"node[001:100]":                     "error: FIRST-LAST of the same width such as [001-100]",
		"node[]":                            "error: [] is not a range",
		"node[1-]":                          "error: [1-] is not a range",
		"node[-1-2]":                        "error: is not a range",
		"node[1-2,]":                        "error: is not a range",
		"node[1-2":                          "error: bracket without its pair",
		"node1-2]":                          "error: bracket without its pair",
		"node[[1-2]]":                       "error: two ranges",
		"r[1-2]n[1-2]":                      "error: two ranges",
		"node[1-5001]":                      "error: at most 5000",
		"node[1-999999999]":                 "error: at most 5000",
		"node[1-4000,1-4000]":               "error: at most 5000",
		"node[1-99999999999999999999999]":   "error: is not a range",
		strings.Repeat("n", 301) + "[1-9]":  "error: too long",
		"node[" + strings.Repeat("1,", 9e3): "error: bracket without its pair",
	} {
		compare(t, text, want, hostrange.Expand)
	}
}

func TestExpandAnsible(t *testing.T) {
	for text, want := range map[string]string{
		"cp1":                                  "cp1",
		"node[01:03]":                          "node01 node02 node03",
		"node[1:5:2]":                          "node1 node3 node5",
		"db-[a:c].bank":                        "db-a.bank db-b.bank db-c.bank",
		"r[1:2]n[1:2]":                         "r1n1 r1n2 r2n1 r2n2",
		"node[1:2:0]":                          "error: FIRST:LAST:STEP",
		"node[1:2:-1]":                         "error: FIRST:LAST:STEP",
		"node[001-100]":                        "error: want FIRST:LAST of the same width such as [001:100]",
		"node[c:a]":                            "error: [c:a] is not a range",
		"node[a:5]":                            "error: [a:5] is not a range",
		"node[1:2:3:4]":                        "error: is not a range",
		"node[1:9999]":                         "error: at most 5000",
		"r[1:99]n[1:99]":                       "error: more than 5000 hosts",
		"[1:99][1:99][1:99][1:99][1:99][1:99]": "error: more than 5000 hosts",
	} {
		compare(t, text, want, hostrange.ExpandAnsible)
	}
}

func compare(t *testing.T, text, want string, expand func(string) ([]string, error)) {
	t.Helper()
	all, err := expand(text)
	if wrong, is := strings.CutPrefix(want, "error: "); is {
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.40s: got %.100q, %v, want the error %q", text, all, err, wrong)
		}
	} else if got := strings.Join(all, " "); err != nil || got != want {
		t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"node[001-100]", "node[1-2,4]", "r[1:2]n[a:f:2]", "[[", "]["} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, expand := range []func(string) ([]string, error){hostrange.Expand, hostrange.ExpandAnsible} {
			all, err := expand(text)
			if len(all) > hostrange.Max || err == nil && len(all) == 0 {
				t.Errorf("%q: %d texts", text, len(all))
			}
			for _, one := range all {
				if hostrange.Has(one) {
					t.Errorf("%q: %q still has a range", text, one)
				}
			}
		}
	})
}
