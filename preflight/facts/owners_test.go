package facts

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestParseDynamicAddress(t *testing.T) {
	links, err := parseLinks(`[{"ifname":"e","addr_info":[{"local":"10.0.0.11","prefixlen":24,"dynamic":true,"valid_life_time":43200},` +
		`{"local":"10.0.0.12","prefixlen":24,"valid_life_time":4294967295}]}]`)
	if err != nil || len(links) != 1 || !slices.Equal(links[0].Dynamic, []netip.Addr{netip.MustParseAddr("10.0.0.11")}) {
		t.Errorf("got %+v, %v", links, err)
	}
}

// TestSourceLinesAreBounded: a file from outside cannot fill the report.
func TestSourceLinesAreBounded(t *testing.T) {
	all := func(string) bool { return true }
	r := reader{fs: fstest.MapFS{
		"many": {Data: []byte(strings.Repeat("x\n", 1000))}, "long": {Data: []byte(strings.Repeat("é", 10000))}, "large": {Data: make([]byte, maxSourceFile+1)},
	}}
	if many, err := r.sourceLines("many", all); err != nil || len(many) != maxSourceLines {
		t.Errorf("%d lines, %v", len(many), err)
	}
	if long, err := r.sourceLines("long", all); err != nil || len(long[0].Text) > maxSourceLine+3 {
		t.Errorf("%d bytes, %v", len(long[0].Text), err)
	}
	if _, err := r.sourceLines("large", all); err == nil {
		t.Error("a large file was read")
	}
}
