package faulttable_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/e2e/faulttable"
	"airgap.dev/airgap/e2e/netfaults"
	"airgap.dev/airgap/e2e/podfaults"
)

var update = flag.Bool("update", false, "write the page")

const page = "../NETWORK.md"

func networks() (all []faulttable.Network) {
	for _, f := range netfaults.All() {
		all = append(all, faulttable.Network{Name: f.Name, Test: "netfaults: TestFaults", Clean: len(f.Says) == 0})
	}
	for _, n := range podfaults.Names() {
		all = append(all, faulttable.Network{Name: n, Test: "podfaults: TestPods", Clean: n == podfaults.Clean})
	}
	return all
}

// read reads a run; its first line is "commit HASH".
func read(t *testing.T, file string) faulttable.Run {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	commit, is := strings.CutPrefix(string(first), "commit ")
	rows, err := faulttable.Read(bytes.NewReader(rest))
	if err != nil || !is {
		t.Fatalf("%s: %v, first line %q", file, err, first)
	}
	return faulttable.Run{Commit: commit, Rows: rows}
}

// TestPage checks that the page has all networks of the tests, and that the last run played each of
// them with the right result.
func TestPage(t *testing.T) {
	before, now := read(t, "before.log"), read(t, "now.log")
	want := map[string]bool{}
	for _, n := range networks() {
		if want[n.Name] {
			t.Errorf("two networks have the name %q", n.Name)
		}
		want[n.Name] = true
	}
	for _, row := range now.Rows {
		if !want[row.Name] || !row.Right {
			t.Errorf("now.log: no test plays %q, or it has a wrong result", row.Name)
		}
		delete(want, row.Name)
	}
	for name := range want {
		t.Errorf("now.log has no result of %q: play it, and add its rows", name)
	}
	made := faulttable.Page(networks(), before, now)
	if *update {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(page); err != nil || string(is) != made {
		t.Errorf("%s is not the page of the two runs (%v): go test ./faulttable -update", page, err)
	}
}

// TestRows checks that the rows of a run are read as they were written.
func TestRows(t *testing.T) {
	rows := []faulttable.Row{
		{Name: "a name: with s  spaces", Right: true, Took: 12300 * time.Millisecond, Named: []string{"fail ports-reach: + one", "note mtu: two"}, Others: []string{"warn mtu: | three"}},
		{Name: "wrong", Took: 100500 * time.Millisecond},
	}
	var log bytes.Buffer
	log.WriteString("wrong  line\n")
	faulttable.WriteRow(&log, rows[0], nil)
	faulttable.WriteRow(&log, rows[1], errors.New("right  1.0 s  no row\nright  1.0 s  no row"))
	got, err := faulttable.Read(&log)
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestCells checks the words of each kind of result.
func TestCells(t *testing.T) {
	long := strings.Repeat("e", 200)
	run := faulttable.Run{Commit: "c1", Rows: []faulttable.Row{
		{Name: "named", Right: true, Named: []string{"fail a: from node1 (10.90.1.11) to node2 (10.90.2.11)", long, "three"}, Others: []string{"other"}},
		{Name: "silent", Took: time.Second}, {Name: "unchecked"}, {Name: "another name", Others: []string{"fail b: x | y"}},
		{Name: "as before", Right: true, Named: []string{"fail d: y"}}, {Name: "clean", Right: true}, {Name: "noisy", Others: []string{"warn c: z"}},
	}}
	made := faulttable.Page([]faulttable.Network{
		{Name: "named", Test: "t"}, {Name: "silent", Test: "t"}, {Name: "unchecked", Test: "t"}, {Name: "another name", Test: "t"}, {Name: "new", Test: "t"}, {Name: "as before", Test: "t"},
		{Name: "clean", Test: "t", Clean: true}, {Name: "noisy", Test: "t", Clean: true},
	}, run, faulttable.Run{Commit: "c2", Rows: []faulttable.Row{
		{Name: "another name", Right: true, Named: []string{"x"}}, {Name: "as before", Right: true, Named: []string{"fail d: y"}},
	}})
	for _, want := range []string{
		"commit c1,", "commit c2.", "| networks with a fault that is named | 2 of 6 | 2 of 6 |", "without a finding | 1 of 2 | 0 of 2 |",
		"\n| named | fail a: from node1 to node2<br>" + long[:170] + " …<br>and 1 more | not played | `t` |\n",
		"\n| silent | **nothing** | ", "\n| unchecked | no such check | ", `| another name | **not named:** fail b: x \| y | x |`,
		"\n| as before | the same finding | fail d: y | `t` |\n",
		"\n| new | not played | not played | ", "\n| clean | nothing | ", "\n| noisy | **a finding:** warn c: z | ",
	} {
		if !strings.Contains(made, want) {
			t.Errorf("the page lacks %q:\n%s", want, made)
		}
	}
}
