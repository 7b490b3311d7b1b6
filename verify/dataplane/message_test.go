package dataplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPathsHideNoOutage: broken long connections and bad paths never hide a target that does not answer now.
func TestPathsHideNoOutage(t *testing.T) {
	m := newPaths(func(string) {})
	for i := range 32 {
		m.long[fmt.Sprintf("w%02d", i)] = &longConn{breaks: []time.Time{time.Now()}, text: "was reset"}
	}
	m.states["w50"] = &pathState{failures: []Failure{{packetsTo + "w50", "2 % are lost"}}}
	failures := append(m.failures(), Failure{"pod on w7", noReply}, Failure{"name kubernetes.default.svc", "no such name"})
	slices.SortFunc(failures, byRank)
	text := message(failures)
	lines := strings.Split(text, "\n")
	if !slices.Equal(lines[:3], []string{"name kubernetes.default.svc: no such name", "pod on w7: no answer", "packets to w50: 2 % are lost"}) {
		t.Errorf("got %q first", lines[:3])
	}
	if len(lines) != 2+maxPaths+1 || lines[len(lines)-1] != "23 more" {
		t.Errorf("got %d lines, the last one is %q", len(lines), lines[len(lines)-1])
	}
	parsed := Parse(text)
	if len(parsed) != 2+maxPaths || slices.ContainsFunc(parsed, func(f Failure) bool { return f.Saw == "" || strings.HasSuffix(f.Target, "more") }) {
		t.Errorf("parsed %+v", parsed)
	}
	var outages []Failure
	for i := range maxListed + 5 {
		outages = append(outages, Failure{fmt.Sprintf("pod on w%02d", i), noReply})
	}
	if parsed := Parse(message(outages)); !slices.Equal(parsed, outages[:maxListed]) {
		t.Errorf("parsed %+v", parsed)
	}
}
