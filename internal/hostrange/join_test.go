package hostrange

import (
	"slices"
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	for names, want := range map[string]string{
		"":                                    "",
		"node1":                               "node1",
		"node1 node2 node3":                   "node[1-3]",
		"node001 node002 node044 db1 node003": "node[001-003,044], db1",
		"node9 node10 node11":                 "node9, node[10-11]",
		"a b a1":                              "a, b, a1",
		"n2 n2 n1":                            "n[1-2]",
		"r1-n7 r2-n7 r2-n8":                   "r1-n7, r2-n[7-8]",
		"n99999999999999999999 n1":            "n99999999999999999999, n1",
		"10 11":                               "[10-11]",
		"n1.bank n2.bank n3.shop":             "n[1-2].bank, n3.shop",
		"db1-a.bank db2-a.bank db2-b.bank":    "db[1-2]-a.bank, db2-b.bank",
		"n1.r7.bank n2.r7.bank a.r8.bank":     "n[1-2].r7.bank, a.r8.bank",
		"10.0.0.9 10.0.0.10 10.0.0.11":        "10.0.0.9, 10.0.0.[10-11]",
		"n1234567890 n1234567891 n12 n13":     "n1234567890, n1234567891, n[12-13]",
		"a.b c.d .":                           "a.b, c.d, .",
	} {
		got := Join(strings.Fields(names))
		if got != want {
			t.Errorf("%s: got %q, want %q", names, got, want)
		}
		var back []string
		for item := range strings.FieldsSeq(strings.ReplaceAll(got, ", ", " ")) {
			some, err := Expand(item)
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, some...)
		}
		given := strings.Fields(names)
		slices.Sort(given)
		if slices.Sort(back); !slices.Equal(back, slices.Compact(given)) {
			t.Errorf("%s: %q stands for %q", names, got, back)
		}
	}
}
