package host

import (
	"strings"
	"testing"
)

// TestOrigin: the other host reads the text of this one, and takes no text that could pass for another line or sentence.
func TestOrigin(t *testing.T) {
	for _, sent := range []Origin{{"kim", "node1", "A7"}, {`BANK\kim`, "cp-1.bank.example", RunID()}, {"uid 4711", "n", "x"}, OriginHere()} {
		name, value, _ := strings.Cut(sent.Variable(), "=")
		if got := parseOrigin(value); name != OriginVariable || got != sent {
			t.Errorf("sent %+v, got %+v", sent, got)
		}
	}
	if got := (Origin{"kim", "node1", "A7"}).String(); got != "kim@node1" {
		t.Error(got)
	}
	for name, value := range map[string]string{
		"nothing": "", "no user": "A:node1", "an empty user": "A:node1:", "an empty host": "A::kim", "an empty run": ":node1:kim",
		"a second line": "A:node1:kim\nroot", "an escape sequence": "A:node1:\x1b[2Jkim", "another sentence": "A:node1:kim, by root", "more parts": "A:node1:kim:lee",
		"a path": "A:../etc:kim", "spaces": "A:node1: kim", "no UTF-8": "A:node1:k\xff", "a long user": "A:node1:" + strings.Repeat("k", 129), "a long run": strings.Repeat("A", 129) + ":node1:kim",
	} {
		if got := parseOrigin(value); got != (Origin{}) || got.String() != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if id := RunID(); id != OriginHere().Run || len(id) < 20 {
		t.Errorf("the run is %q, then %q", id, OriginHere().Run)
	}
}
