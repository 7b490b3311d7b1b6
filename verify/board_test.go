package verify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"airgap.dev/airgap/verify/result"
)

func TestBoard(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	b := newBoard()
	b.add("a", "A")
	b.add("b", "B")
	b.record("a", nil, at(0))
	if b.allOK() {
		t.Error("ok although b was never evaluated")
	}
	b.record("b", []Finding{{Object: "x", Saw: "1"}}, at(1))
	b.record("b", []Finding{{Object: "y", Saw: "2"}, {Object: "x", Saw: "3"}}, at(2))
	if f := b.rows["b"].findings; f[0].Object != "x" || f[0].Since != at(1) || f[0].Saw != "3" || f[1].Since != at(2) {
		t.Errorf("findings are %+v: want x with its first time and its last state, then y", f)
	}
	b.record("b", nil, at(3))
	b.record("a", nil, at(4))
	if b.okSince != at(3) {
		t.Errorf("ok since %v, want %v: a new evaluation starts no new window", b.okSince, at(3))
	}
	b.doubt()
	if b.allOK() || b.rows["a"].outcome() != result.Unseen {
		t.Error("ok although the cluster cannot be seen")
	}
}

func TestBoardPrintsChangesOnly(t *testing.T) {
	b := newBoard()
	b.add("a", "A")
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, findings := range [][]Finding{
		{{Object: "x", Saw: "bad"}, {Object: "y", Saw: "bad"}},
		{{Object: "x", Saw: "bad"}, {Object: "y", Saw: "worse"}},
		{{Object: "x", Saw: "bad"}},
		nil, nil,
		{{Object: "x", Saw: "no answer yet", Early: true}}, nil, // not reported after it was ok
		{{Object: "x", Saw: "no answer", Early: false}}, {{Object: "x", Saw: "no answer yet", Early: true}},
	} {
		b.record("a", findings, time.Now())
		b.publish(say)
	}
	if want := []string{"A: not yet: x: bad (and 1 more)", "A: ok", "A: not yet: x: no answer", "A: not yet: x: no answer yet"}; !slices.Equal(lines, want) {
		t.Errorf("printed %q, want %q", lines, want)
	}
}
